// Activity that ends the wait of a program's thread: DMA into the program's pages or completion queues, or another thread's
// run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/machine/host/host.h"
#include "testbenches/verbs_programs/simulator/waiting.h"

namespace hcasim::applications {

class activity final : public page_watcher {
 public:
  [[nodiscard]] std::uint64_t landings() const { return landings_; }
  void landed(ps t) override {
    ++landings_;
    landed_at_ = t;
    wake(changed_);
  }
  // Notes DMA into [va, va + bytes) of the process.
  void landed(ps t, std::uint64_t va, std::uint64_t bytes) {
    for (watch* w : watches_) w->see(t, va, bytes);
    landed(t);
  }
  [[nodiscard]] std::uint64_t slices() const { return slices_; }
  // Notes that a thread has run.
  void ran() {
    ++slices_;
    wake(changed_);
  }
  // Lets threads of other programs end its waits, too: the process has objects of the system that they share.
  void hear_all() { hears_all_ = true; }
  [[nodiscard]] bool hears_all() const { return hears_all_; }
  // Ends all waits, because the process has ended.
  void end() {
    ended_ = true;
    wake(changed_);
  }

  // Sleeps until another thread has run since the count given. False = the time is over, or a signal waits.
  bool wait_slice(cpu& c, std::uint64_t slices, ps limit, const waiting::place& here) {
    c.sync();
    const ps begin = now();
    while (slices_ == slices) {
      if (!look_again(begin, limit, here)) return false;
    }
    return true;
  }

  // Sleeps, at most for `limit`, until DMA has landed since the count `landings`: in one of `pages` if there are any. With
  // `or_slices`, another thread's run ends the sleep, too. The thread goes on at the next turn of a loop of `poll_interval`
  // that began with the call. False = the time is over, or a signal waits.
  bool wait(cpu& c, std::uint64_t landings, std::uint64_t slices, bool or_slices, ps limit, const waiting::place& here,
            std::span<const std::uint64_t> pages = {}) {
    const bool news = landings_ != landings;
    watch seen{*this, pages};
    c.sync();
    const ps begin = now();
    const auto at = [&]() -> std::optional<ps> {
      if (news || (pages.empty() && landings_ != landings)) return landed_at_;
      return seen.at;
    };
    while (!at() && (!or_slices || slices_ == slices)) {
      if (!look_again(begin, limit, here)) return false;
    }
    const host_config& h = c.machine().config();
    const ps since = at().value_or(now()) - begin;
    const std::int64_t turns = since <= ps(0) ? 0 : (since + h.poll_interval - ps(1)) / h.poll_interval;
    c.spend(std::max(begin + turns * h.poll_interval - now(), ps(0)) + h.poll_cost);
    return true;
  }

 private:
  // Pages that a waiting loop reads, and the time of the first DMA into them since the wait began.
  struct watch {
    watch(activity& a, std::span<const std::uint64_t> p) : in(a), pages(p) {
      if (!pages.empty()) in.watches_.push_back(this);
    }
    ~watch() { std::erase(in.watches_, this); }
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    void see(ps t, std::uint64_t va, std::uint64_t bytes) {
      constexpr std::uint64_t page = 4096;
      const auto hit = [&](std::uint64_t p) { return va < p + page && p < va + bytes; };
      if (!at && std::any_of(pages.begin(), pages.end(), hit)) at = t;
    }

    activity& in;
    std::span<const std::uint64_t> pages;
    std::optional<ps> at{};
  };

  bool look_again(ps begin, ps limit, const waiting::place& here) {
    if (ended_ || here.goes_on()) return false;
    if (limit == never) {
      sc_core::wait(changed_ | here.wake());
      return true;
    }
    const ps left = begin + limit - now();
    if (left <= ps(0)) return false;
    sc_core::wait(to_sc(left), changed_ | here.wake());
    return true;
  }

  std::uint64_t landings_ = 0;
  std::uint64_t slices_ = 0;
  ps landed_at_{0};
  bool ended_ = false;
  bool hears_all_ = false;
  std::vector<watch*> watches_;
  sc_core::sc_event changed_;
};

}  // namespace hcasim::applications
