// The CQs of one thread of software: one for all of its QPs, or one for each. The thread polls them in turn, and sleeps by
// polling on or for an event.
#pragma once

#include <span>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/options.h"

namespace hcasim::traffic {

class thread_queues {
 public:
  struct settings {
    waiting wait = waiting::polling;
    std::uint32_t moderation_count = 0;
    std::uint32_t moderation_time = 0;
  };

  thread_queues() = default;
  // Makes `count` CQs with room for `entries` each.
  thread_queues(kit::process_context& p, std::size_t count, std::uint64_t entries, const settings& s);

  // Returns the CQ of a QP of the thread, numbered from 0 on.
  [[nodiscard]] kit::ibv_cq* of(std::size_t qp) const { return cqs_[qp % cqs_.size()]; }
  // Returns the completions of the next CQ that has some; 0 = there is none, < 0 = a CQ cannot be polled.
  int poll(cpu& c, std::span<kit::ibv_wc> room);
  // Sleeps until a completion may be there. Returns at once to have the CQs polled once more after they were armed. False =
  // `timeout` passed, or events ended.
  bool wait(cpu& c, ps timeout);

 private:
  [[nodiscard]] bool wait_event(cpu& c, ps timeout);

  std::vector<kit::ibv_cq*> cqs_;
  std::vector<bool> armed_;  // an event of the CQ is due
  kit::ibv_comp_channel* channel_ = nullptr;
  std::size_t turn_ = 0;
};

}  // namespace hcasim::traffic
