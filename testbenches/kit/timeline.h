// The units that held a request, and for how long. Monitors the boundaries of both adapters while one operation runs alone.
// Each interval between two crossings belongs to the unit entered (or returned to) at its beginning. The intervals add up to
// the operation's time by construction.
//
// Left out are crossings beside the operation's path: posted writes of payload, returned credits, completions of WQEs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/system/system.h"
#include "tlm/dma.h"

namespace hcasim::kit {

struct share {
  std::string unit;
  ps time{0};
};

class timeline {
 public:
  explicit timeline(hcasim::system& s);
  ~timeline();

  // Records everything between `begin` and `end`, both at the software's time.
  void begin(ps t, const std::string& active);
  void mark(ps t, const std::string& active, const std::string& what);
  void end(ps t);

  [[nodiscard]] ps total() const { return end_ - begin_; }
  // Returns the time of each unit, in the order of first entry.
  [[nodiscard]] std::vector<share> shares() const;
  // Returns one line for each of the first `most` crossings: time since the beginning in ps, unit, boundary.
  [[nodiscard]] std::string text(std::size_t most) const;

  [[nodiscard]] bool recording() const { return recording_; }

 private:
  struct listeners;
  // A long message crosses millions of times: places are numbers.
  struct crossing {
    ps at;
    std::uint16_t unit;  // active from here on
    std::uint16_t what;  // the boundary
  };
  std::uint16_t number_of(const std::string& name);
  // Returns the crossings from `begin` to `end` in the order of time.
  [[nodiscard]] std::vector<crossing> in_order() const;

  std::unique_ptr<listeners> listeners_;
  std::unordered_map<std::string, std::uint16_t> numbers_;
  std::vector<const std::string*> names_;  // by number
  std::vector<crossing> crossings_;
  ps begin_{0};
  ps end_{0};
  bool recording_ = false;
};

}  // namespace hcasim::kit
