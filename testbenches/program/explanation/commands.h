// The parts of the time of commands: follows every command of every adapter from its doorbell to its answer in host memory,
// listening on the sockets of the command unit, which runs them one after the other, and gives the mean of each kind as a
// waterfall. Time without a request to another unit is the firmware's own. The parts add up.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "firmware/abi/command.h"
#include "testbenches/program/results/result.h"
#include "tlm/base/kernel.h"
#include "tlm/dma.h"

namespace hcasim {

// "REGISTER"; a number that is no command as it is.
std::string command_name(std::uint16_t opcode);

class command_follower : public sc_core::sc_module {
 public:
  command_follower();
  ~command_follower() override;

  // One for each kind of command that was done, those that took most time in all first.
  [[nodiscard]] std::vector<waterfall> waterfalls() const;

 private:
  template <class P>
  class tap;
  enum part : std::uint8_t { queueing, fetch, firmware, read, write, drop, drain, stop, reply, parts };
  struct wait {
    ps begin;
    ps end;
    part what;
  };
  struct following {
    hca_command command{};
    ps begin{0};
    ps taken{0};
    std::vector<wait> waits;
    const void* answer = nullptr;  // on its way to memory
  };
  struct adapter {
    std::string name;
    bool open = false;
    following now;
    std::deque<following> leaving;  // whose answers have not landed yet, while the next one is executed
    ps rung = never;
    ps latest{0};  // when the firmware last asked for something
  };
  struct totals {
    std::uint64_t count = 0;
    std::array<ps, parts> time{};
  };

  void end_of_elaboration() override;
  template <class P>
  void listen();
  void finish(following& f, ps end);

  std::deque<adapter> adapters_;
  std::vector<std::shared_ptr<void>> taps_;
  std::map<std::uint16_t, totals> kinds_;
};

}  // namespace hcasim
