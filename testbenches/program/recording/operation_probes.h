// A signal for each unit, with the number of the operation of its latest request (tlm/operation.h). Monitors the sockets
// between the units; the machine has no such signal.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tlm/base/probe.h"

namespace hcasim {

class operation_probes {
 public:
  static constexpr const char* name = "operation";

  // Call when all units exist.
  operation_probes();
  ~operation_probes();
  operation_probes(const operation_probes&) = delete;
  operation_probes& operator=(const operation_probes&) = delete;

  // Returns the signal of a unit, by its hierarchical name; null = its requests have no numbers.
  [[nodiscard]] const probe_entry* of(const std::string& unit) const;
  // Monitors the sockets of the units whose signals are watched.
  void listen();
  // Returns the numbers of the latest operations with a name each, "6.21 WRITE of QP 33": 6.21 is its name in `hcasim show`.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>> names() const;

 private:
  static constexpr std::size_t most_names = 1 << 16;
  struct started {
    std::uint64_t operation;
    std::uint32_t qpn;
    unsigned kind;
  };
  struct signal;
  struct any_tap;
  template <class P>
  struct tap;
  struct name_tap;

  template <class P>
  void find();

  std::map<std::string, std::unique_ptr<signal>> signals_;
  std::vector<std::unique_ptr<any_tap>> taps_;
  std::deque<started> started_;
};

}  // namespace hcasim
