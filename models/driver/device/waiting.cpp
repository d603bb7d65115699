#include "models/driver/verbs/waiting.h"

#include <algorithm>
#include <utility>

#include "models/driver/device/device.h"

namespace hcasim::verbs {

using namespace driver;

bool hcax_poll_channel(cpu& c, ibv_comp_channel* handle, ps timeout) {
  auto& channel = static_cast<completion_channel&>(*handle);
  c.system_call();
  c.sync();
  const ps end = now() + timeout;
  sc_core::sc_event came;
  auto before = std::exchange(channel.notify, [&came](int) { hcasim::wake(came); });
  while (channel.pending.empty() && !of(channel.context).lost && now() < end) sc_core::wait(to_sc(end - now()), came);
  channel.notify = std::move(before);
  return !channel.pending.empty();
}

namespace {

// Watches the page of the next CQE of each CQ.
class next_pages final : public page_watcher {
 public:
  next_pages(host& machine, std::span<ibv_cq* const> cqs) : machine_(machine), cqs_(cqs) {
    for (ibv_cq* const cq : cqs_) machine_.watch_pages(page_of(cq), host_page, *this);
  }
  ~next_pages() override {
    for (ibv_cq* const cq : cqs_) machine_.unwatch_pages(page_of(cq), host_page);
  }
  next_pages(const next_pages&) = delete;
  next_pages& operator=(const next_pages&) = delete;

  void landed(ps t) override {
    landed_at_ = std::min(landed_at_, t);
    hcasim::wake(came_);
  }
  [[nodiscard]] ps landed_at() const { return landed_at_; }
  void sleep_until(ps end) {
    while (landed_at_ == never && now() < end) sc_core::wait(to_sc(end - now()), came_);
  }

 private:
  static std::uint64_t page_of(ibv_cq* handle) {
    const completion_queue& cq = of(handle);
    return cq.slot(cq.ci) & ~(host_page - 1);
  }

  host& machine_;
  std::span<ibv_cq* const> cqs_;
  sc_core::sc_event came_;
  ps landed_at_ = never;
};

bool has_cqe(cpu& c, ibv_cq* handle) {
  const completion_queue& cq = of(handle);
  const auto owner = c.machine().memory_bytes().get<std::uint8_t>(cq.slot(cq.ci) + HCA_CQE_BYTES - 1);
  return (owner & 1) == cq.owner_of(cq.ci);
}

}  // namespace

bool wait_cqs(cpu& c, std::span<ibv_cq* const> cqs, ps timeout) {
  c.sync();
  if (std::any_of(cqs.begin(), cqs.end(), [&](ibv_cq* cq) { return has_cqe(c, cq) || of(cq->context).lost; })) return true;
  const ps begin = now();
  next_pages pages(c.machine(), cqs);
  pages.sleep_until(begin + timeout);
  if (pages.landed_at() == never) return false;
  // Each turn of the loop looks at one CQ.
  const host_config& config = c.machine().config();
  const ps turn = config.poll_interval;
  const std::int64_t turns = (std::max(pages.landed_at() - begin, 0_ps) + turn - 1_ps) / turn;
  c.spend(std::max(begin + turn * turns + config.poll_cost - now(), 0_ps));
  return true;
}

}  // namespace hcasim::verbs
