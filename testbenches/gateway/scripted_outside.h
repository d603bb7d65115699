// An outside for tests: frames that come at given wall-clock times, which only go on while the run waits or computes.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "testbenches/gateway/outside.h"

namespace hcasim::gateway::testing {

using bytes = std::vector<std::byte>;

class scripted_outside final : public outside {
 public:
  struct frame {
    ps at;
    bytes data;
    remote with = 0;
  };
  std::deque<frame> to_come;  // in the order of time
  std::vector<frame> sent;
  ps cost{1000};  // wall-clock cost of each look at the clock
  bool refuses = false;

  ps wall() override { return clock_ += cost; }
  void wait(ps most) override {
    const ps end = clock_ + most;
    clock_ = to_come.empty() ? end : std::clamp(to_come.front().at, clock_, end);
  }
  std::optional<arrival> receive() override {
    if (to_come.empty() || to_come.front().at > clock_) return std::nullopt;
    held_ = std::move(to_come.front());
    to_come.pop_front();
    return arrival{held_.data, held_.with};
  }
  [[nodiscard]] std::size_t remotes() const override { return 1; }
  [[nodiscard]] std::uint64_t overflowed() const override { return 0; }
  bool send(std::span<const std::byte> f, remote to) override {
    if (refuses) return false;
    sent.push_back({clock_, {f.begin(), f.end()}, to});
    return true;
  }

 private:
  ps clock_{0};
  frame held_;
};

}  // namespace hcasim::gateway::testing
