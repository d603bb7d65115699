#include "tlm/rtl/cover_group.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hcasim::rtl {
namespace {

// Names are parts of the names in the file, "group", "point.bin", "cross.bin.bin".
const std::string& checked(const std::string& what, const std::string& name) {
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_-+[]").find(c) != std::string_view::npos;
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), good))
    throw std::invalid_argument(what + " '" + name + "': write a name of letters, digits and _-+[]");
  return name;
}

class line_writer {
 public:
  line_writer(std::ostream& out, const std::string& group) : out_(out), group_(group) {}
  void put(const std::source_location& at, const std::string& name, std::uint64_t goal, std::uint64_t count) const {
    const auto field = [this](const char* key, const std::string& value) { out_ << '\001' << key << '\002' << value; };
    out_ << "C '";
    field("f", at.file_name());
    field("l", std::to_string(at.line()));
    field("t", "bin");
    field("page", "v_bin/" + group_);
    field("o", name);
    field("s", std::to_string(goal));
    out_ << "' " << count << '\n';
  }

 private:
  std::ostream& out_;
  const std::string& group_;
};

}  // namespace

cover_point& cover_point::bin(const std::string& name, std::uint64_t low, std::uint64_t high) {
  const std::string place = name_ + "." + checked("bin of " + name_, name);
  if (low > high) throw std::invalid_argument(place + ": its first value is above its last one");
  if (number_of(name) != none) throw std::invalid_argument(place + ": there are two of this name");
  const auto after = std::find_if(by_value_.begin(), by_value_.end(), [&](const one& b) { return b.low > low; });
  const one* meets = after != by_value_.end() && after->low <= high ? &*after : nullptr;
  if (after != by_value_.begin() && std::prev(after)->high >= low) meets = &*std::prev(after);
  if (meets) throw std::invalid_argument(place + ": it has values of " + bins_[meets->number].name);
  by_value_.insert(after, {low, high, bins_.size()});
  bins_.push_back({name});
  return *this;
}

cover_point& cover_point::bins(const std::string& name, std::uint64_t low, std::uint64_t high, unsigned count) {
  const std::uint64_t last = high - low;  // there are last + 1 values
  if (low > high || count == 0 || last < count - 1)
    throw std::invalid_argument(name_ + "." + name + ": fewer values than bins");
  const std::uint64_t each = (last - (count - 1)) / count + 1;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t first = low + each * i;
    bin(name + "[" + std::to_string(i) + "]", first, i + 1 == count ? high : first + each - 1);
  }
  return *this;
}

std::uint64_t cover_point::count(const std::string& name) const {
  const std::size_t n = number_of(name);
  if (n == none) throw std::invalid_argument(name_ + ": there is no bin '" + name + "'");
  return bins_[n].count;
}

std::size_t cover_point::number_of(const std::string& bin_name) const {
  const auto found = std::find_if(bins_.begin(), bins_.end(), [&](const named& b) { return b.name == bin_name; });
  return found == bins_.end() ? none : static_cast<std::size_t>(found - bins_.begin());
}

std::size_t cover_point::find(std::uint64_t value) const {
  const auto after =
      std::upper_bound(by_value_.begin(), by_value_.end(), value, [](std::uint64_t v, const one& b) { return v < b.low; });
  if (after == by_value_.begin() || std::prev(after)->high < value) return none;
  return std::prev(after)->number;
}

void cover_point::sample(std::uint64_t times) {
  hit_ = given_ ? find(value_) : none;
  given_ = false;
  if (hit_ != none) bins_[hit_].count += times;
}

cover_cross::cover_cross(std::string name, std::vector<const cover_point*> points, std::source_location at)
    : name_(std::move(name)), points_(std::move(points)), at_(at) {
  std::size_t cells = 1;
  for (const cover_point* p : points_) {
    if (p->bins_.empty()) throw std::invalid_argument("cross " + name_ + ": point " + p->name_ + " has no bins yet");
    cells *= p->bins_.size();
  }
  counts_.resize(cells);
  left_out_.resize(cells);
}

cover_cross& cover_cross::leave_out(const std::vector<std::string>& of_bins) {
  if (of_bins.size() != points_.size()) throw std::invalid_argument("cross " + name_ + ": leave_out needs a bin of each point");
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    wanted.push_back(points_[i]->number_of(of_bins[i]));
    if (wanted.back() == cover_point::none && of_bins[i] != "*")
      throw std::invalid_argument("cross " + name_ + ": point " + points_[i]->name_ + " has no bin '" + of_bins[i] + "'");
  }
  for (std::size_t cell = 0; cell < counts_.size(); ++cell) {
    std::size_t rest = cell;
    bool all = true;
    for (std::size_t i = points_.size(); i-- > 0; rest /= points_[i]->bins_.size())
      all &= wanted[i] == cover_point::none || rest % points_[i]->bins_.size() == wanted[i];
    if (all) left_out_[cell] = true;
  }
  return *this;
}

std::uint64_t cover_cross::count(const std::vector<std::string>& of_bins) const {
  std::size_t cell = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::size_t n = i < of_bins.size() ? points_[i]->number_of(of_bins[i]) : cover_point::none;
    if (n == cover_point::none) throw std::invalid_argument("cross " + name_ + ": name a bin of each point");
    cell = cell * points_[i]->bins_.size() + n;
  }
  return counts_[cell];
}

void cover_cross::sample(std::uint64_t times) {
  std::size_t cell = 0;
  for (const cover_point* p : points_) {
    if (p->hit_ == cover_point::none) return;
    cell = cell * p->bins_.size() + p->hit_;
  }
  counts_[cell] += times;
  if (left_out_[cell]) in_left_out_ += times;
}

std::string cover_cross::name_of(std::size_t cell) const {
  std::string name;
  for (std::size_t i = points_.size(); i-- > 0; cell /= points_[i]->bins_.size())
    name.insert(0, "." + points_[i]->bins_[cell % points_[i]->bins_.size()].name);
  return name_ + name;
}

cover_group::cover_group(std::string name) : name_(std::move(name)) {
  checked("group", name_);
}

cover_point& cover_group::point(const std::string& name, std::source_location at) {
  checked("point of " + name_, name);
  for (const cover_point& p : points_) {
    if (p.name_ == name) throw std::invalid_argument(name_ + ": there are two points '" + name + "'");
  }
  return points_.emplace_back(name, at);
}

cover_cross& cover_group::cross(const std::string& name, const std::vector<const cover_point*>& points,
                                std::source_location at) {
  checked("cross of " + name_, name);
  return crosses_.emplace_back(name, points, at);
}

void cover_group::sample(std::uint64_t times) {
  for (cover_point& p : points_) p.sample(times);
  for (cover_cross& c : crosses_) c.sample(times);
}

void cover_group::append_to(const std::string& file) const {
  const bool begins = !std::filesystem::exists(file);
  std::ofstream out(file, std::ios::app | std::ios::binary);
  if (begins) out << "# SystemC::Coverage-3\n";
  const line_writer lines(out, name_);
  for (const cover_point& p : points_) {
    for (const cover_point::named& b : p.bins_) lines.put(p.at_, p.name_ + "." + b.name, p.goal_, b.count);
  }
  for (const cover_cross& c : crosses_) {
    for (std::size_t cell = 0; cell < c.counts_.size(); ++cell) {
      if (!c.left_out_[cell]) lines.put(c.at_, c.name_of(cell), c.goal_, c.counts_[cell]);
    }
  }
  if (!out.flush()) throw std::runtime_error(file + ": the coverage cannot be written");
}

}  // namespace hcasim::rtl
