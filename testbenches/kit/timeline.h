// The units that held a request, and for how long. Monitors the boundaries of both adapters while one operation runs alone.
// Each interval between two crossings belongs to the unit entered (or returned to) at its beginning. The intervals add up to
// the operation's time by construction.
//
// Left out are crossings beside the operation's path: posted writes of payload, returned credits, completions of WQEs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "tlm/dma.h"

namespace hcasim::kit {

struct crossing {
  ps at{0};
  std::string unit;  // active from here on
  std::string what;  // the boundary
};

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
  // Crossings in the order of time, from `begin` to `end`.
  [[nodiscard]] std::vector<crossing> crossings() const;
  // Returns the time of each unit, in the order of first entry.
  [[nodiscard]] std::vector<share> shares() const;
  // Returns one line for each crossing: time since the beginning in ps, unit, boundary.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool recording() const { return recording_; }

 private:
  struct listeners;
  std::unique_ptr<listeners> listeners_;
  std::vector<crossing> crossings_;
  ps begin_{0};
  ps end_{0};
  bool recording_ = false;
};

}  // namespace hcasim::kit
