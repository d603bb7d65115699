#include "testbenches/traffic/thread_queues.h"

#include <algorithm>
#include <stdexcept>

#include "models/driver/verbs/waiting.h"

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

// The adapter reads software's consumer index whenever it believes the CQ full. With so much room it seldom does.
constexpr std::uint64_t room = 1023;
constexpr std::uint64_t largest = 1 << 22;

}  // namespace

thread_queues::thread_queues(process_context& p, std::size_t count, std::uint64_t entries, const settings& s) : armed_(count) {
  if (s.wait == waiting::events) channel_ = made(ibv_create_comp_channel(p.c, p.context));
  const auto size = static_cast<int>(std::min(entries + room, largest));
  for (std::size_t i = 0; i < count; ++i) {
    ibv_cq* const cq = cqs_.emplace_back(made(ibv_create_cq(p.c, p.context, size, nullptr, channel_, 0)));
    if (s.moderation_count == 0 && s.moderation_time == 0) continue;
    ibv_modify_cq_attr attr{IBV_CQ_ATTR_MODERATE,
                            {static_cast<std::uint16_t>(s.moderation_count), static_cast<std::uint16_t>(s.moderation_time)}};
    if (ibv_modify_cq(p.c, cq, &attr) != 0) throw std::runtime_error("the adapter does not take the moderation of events");
  }
}

int thread_queues::poll(cpu& c, std::span<ibv_wc> into) {
  for (std::size_t i = 0; i < cqs_.size(); ++i) {
    const int got = ibv_poll_cq(c, cqs_[turn_], static_cast<int>(into.size()), into.data());
    turn_ = (turn_ + 1) % cqs_.size();
    if (got != 0) return got;
  }
  return 0;
}

bool thread_queues::wait(cpu& c, ps timeout) {
  if (channel_) return wait_event(c, timeout);
  return cqs_.size() == 1 ? wait_cq(c, cqs_.front(), timeout) : wait_cqs(c, cqs_, timeout);
}

// Arms each CQ once for each event. A second arming would leave an event behind that ends the next sleep too early.
bool thread_queues::wait_event(cpu& c, ps timeout) {
  bool all_armed = true;
  for (std::size_t i = 0; i < cqs_.size(); ++i) {
    if (armed_[i]) continue;
    if (ibv_req_notify_cq(c, cqs_[i], 0) != 0) return false;
    armed_[i] = true;
    all_armed = false;
  }
  if (!all_armed) return true;
  if (timeout != never && !hcax_poll_channel(c, channel_, timeout)) return false;
  ibv_cq* from = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(c, channel_, &from, &context) != 0) return false;
  ibv_ack_cq_events(from, 1);
  armed_[static_cast<std::size_t>(std::find(cqs_.begin(), cqs_.end(), from) - cqs_.begin())] = false;
  return true;
}

}  // namespace hcasim::traffic
