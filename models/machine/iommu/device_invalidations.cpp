#include "models/machine/iommu/device_invalidations.h"

#include <algorithm>
#include <utility>

namespace hcasim {

unsigned device_invalidations::free_tag() const {
  const auto is_free = [](const tag& d) { return d.status == tag::state::free; };
  return static_cast<unsigned>(std::find_if(tags_.begin(), tags_.end(), is_free) - tags_.begin());
}

bool device_invalidations::any() const {
  return std::any_of(tags_.begin(), tags_.end(), [](const tag& d) { return d.status == tag::state::asked; });
}

void device_invalidations::begin(std::uint32_t requester, std::uint64_t range) {
  ++begun;
  const unsigned number = free_tag();
  if (number == ats_tags) {  // all lost: no device there answers
    timed_out_ = true;
    return;
  }
  tags_[number] = {tag::state::asked, requester, now()};
  count(1);
  wake_at(timer, now() + config_.invalidation_timeout);  // the timer stays with the oldest invalidation
  messages_.send(requester, pcie_message::invalidate, static_cast<std::uint16_t>(number), 0, range);
}

void device_invalidations::end(std::uint16_t number, std::uint32_t from) {
  if (number >= ats_tags || tags_[number].status == tag::state::free || tags_[number].requester != from) return;
  tag& d = tags_[number];
  if (d.status == tag::state::asked) {
    time.add(now() - d.sent);
    count(-1);
  }
  d.status = tag::state::free;
  if (!any()) timer.cancel();
  wake();
}

void device_invalidations::free_lost(std::uint32_t of) {
  for (tag& d : tags_) {
    if (d.status == tag::state::lost && d.requester == of) d.status = tag::state::free;
  }
}

// The tag of a timed-out invalidation is reused only after the device has named it, or its context was read anew.
void device_invalidations::expire() {
  ps next = never;
  for (tag& d : tags_) {
    if (d.status != tag::state::asked) continue;
    if (d.sent + config_.invalidation_timeout > now()) {
      next = std::min(next, d.sent + config_.invalidation_timeout);
      continue;
    }
    d.status = tag::state::lost;
    count(-1);
    timed_out_ = true;
    ++timeouts;
    log_.record(IOMMU_FAULT_TIMEOUT, d.requester, 0, false, config_.hit_latency);
  }
  if (next != never) wake_at(timer, next);
  wake();
}

void device_invalidations::count(std::int64_t change) {
  asked.add(change, now());
  shown.set(asked.value(), now());
}

void device_invalidations::wake() {
  if (waiter_) queue_.soon(resume(std::exchange(waiter_, {})));
}

}  // namespace hcasim
