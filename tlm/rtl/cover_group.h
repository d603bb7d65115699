// Functional coverage: counts in bins of the values carried by a stream, and of combinations of values (crosses).
//
//   cover_group requests("requests");
//   cover_point& kind = requests.point("kind").bin("read", 0).bin("write", 1);
//   cover_point& bytes = requests.point("bytes").bin("one", 1).bins("some", 2, 65, 4).bin("many", 66, 4096).goal(10);
//   requests.cross("kind_x_bytes", {&kind, &bytes}).leave_out({"read", "one"});
//   ...
//   kind.set(r.write), bytes.set(r.length), requests.sample();
//   requests.append_to("my_unit.dat");
//
// The file has the format of `verilator --coverage`: lines and toggles of the RTL merge with bins (tlm/rtl/coverage_file.h).
// Points and bins are declared before the first sample; a sample allocates nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace hcasim::rtl {

class cover_point {
 public:
  cover_point(std::string name, std::source_location at) : name_(std::move(name)), at_(at) {}  // cover_group::point
  cover_point(const cover_point&) = delete;
  cover_point& operator=(const cover_point&) = delete;

  // Adds a bin of one value, or of the values from `low` to `high`. Throws std::invalid_argument: it meets another bin, its
  // name is taken, or has a character other than letters, digits and "_-+[]".
  cover_point& bin(const std::string& name, std::uint64_t value) { return bin(name, value, value); }
  cover_point& bin(const std::string& name, std::uint64_t low, std::uint64_t high);
  // Adds `count` bins of equal size, name[0] and so on; the last one takes the rest as well.
  cover_point& bins(const std::string& name, std::uint64_t low, std::uint64_t high, unsigned count);
  // Sets how many samples a bin needs to be covered, 1 at first.
  cover_point& goal(std::uint64_t samples) {
    goal_ = samples;
    return *this;
  }

  // Gives the value for the next sample; a point without one is not counted, nor is a cross with it.
  void set(std::uint64_t value) {
    value_ = value;
    given_ = true;
  }
  // Returns the samples in a bin, by its name.
  [[nodiscard]] std::uint64_t count(const std::string& name) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class cover_group;
  friend class cover_cross;
  static constexpr std::size_t none = ~std::size_t{0};  // no bin
  struct one {
    std::uint64_t low;
    std::uint64_t high;
    std::size_t number;  // in the order of declaration
  };
  struct named {
    std::string name;
    std::uint64_t count = 0;
  };
  void sample(std::uint64_t times);
  [[nodiscard]] std::size_t find(std::uint64_t value) const;
  [[nodiscard]] std::size_t number_of(const std::string& bin_name) const;

  std::string name_;
  std::source_location at_;
  std::vector<one> by_value_;  // from the lowest up
  std::vector<named> bins_;
  std::uint64_t goal_ = 1;
  std::uint64_t value_ = 0;
  bool given_ = false;
  std::size_t hit_ = none;  // bin hit by the current sample
};

class cover_cross {
 public:
  cover_cross(std::string name, std::vector<const cover_point*> points, std::source_location at);  // cover_group::cross
  cover_cross(const cover_cross&) = delete;
  cover_cross& operator=(const cover_cross&) = delete;

  // Leaves out an impossible combination, a bin of each point; "*" stands for all bins.
  cover_cross& leave_out(const std::vector<std::string>& of_bins);
  cover_cross& goal(std::uint64_t samples) {
    goal_ = samples;
    return *this;
  }
  [[nodiscard]] std::uint64_t count(const std::vector<std::string>& of_bins) const;
  // Returns the samples that were in combinations left out, which should be none.
  [[nodiscard]] std::uint64_t in_left_out() const { return in_left_out_; }

 private:
  friend class cover_group;
  void sample(std::uint64_t times);
  [[nodiscard]] std::string name_of(std::size_t cell) const;

  std::string name_;
  std::vector<const cover_point*> points_;
  std::source_location at_;
  std::vector<std::uint64_t> counts_;  // the bins of the last point next to each other
  std::vector<bool> left_out_;
  std::uint64_t in_left_out_ = 0;
  std::uint64_t goal_ = 1;
};

class cover_group {
 public:
  explicit cover_group(std::string name);
  cover_group(const cover_group&) = delete;
  cover_group& operator=(const cover_group&) = delete;

  // `verilator_coverage --annotate` shows the place of the declaration.
  cover_point& point(const std::string& name, std::source_location at = std::source_location::current());
  // Throws std::invalid_argument: a name is taken, or a point has no bins.
  cover_cross& cross(const std::string& name, const std::vector<const cover_point*>& points,
                     std::source_location at = std::source_location::current());
  // Counts the values set in the points, `times` times, and forgets the values.
  void sample(std::uint64_t times = 1);

  // Appends the counts to a coverage file, which begins with them when it is not there. Throws std::runtime_error.
  void append_to(const std::string& file) const;

 private:
  std::string name_;
  std::deque<cover_point> points_;
  std::deque<cover_cross> crosses_;
};

}  // namespace hcasim::rtl
