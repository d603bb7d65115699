// Requests of a thread that waits, or has looked at the clock long enough.
#include <algorithm>

#include "testbenches/verbs_programs/simulator/handler.h"
#include "testbenches/verbs_programs/simulator/process_memory.h"

namespace hcasim::applications {
namespace {

constexpr ps longest_sleep{std::int64_t{1} << 60};

ps as_timeout(std::uint64_t t) {
  return t >= static_cast<std::uint64_t>(longest_sleep.count()) ? never : ps(static_cast<std::int64_t>(t));
}

int clock(caller& k, const channel::clock&, channel::nothing&) {
  ++k.who.stats.clock_syncs;
  return 0;
}

int sleep(caller& k, const channel::sleep& in, channel::nothing&) {
  ++k.who.stats.parks;
  k.bed.fds.clear();
  k.bed.signals = in.signals | k.waking;
  k.bed.why = "sleeps for a time";
  k.who.sleeping.sleep(k.c, k.bed, std::min(as_timeout(in.time), longest_sleep));
  k.bed.signals = 0;
  k.bed.why = nullptr;
  return 0;
}

int wait_descriptors(caller& k, const channel::wait_descriptors& in, channel::wait_descriptors::answer& out) {
  if (in.count > channel::most_descriptors) return EINVAL;
  std::vector<descriptor> held;
  if (in.count > 0) held = k.descriptors(in.count);
  if (held.size() != in.count) return EBADF;
  ++k.who.stats.parks;
  k.bed.fds.clear();
  k.bed.signals = in.signals | k.waking;
  k.bed.why = in.count == 0 ? "waits for a signal" : "waits for descriptors";
  std::size_t at = 0;
  for (const descriptor& d : held) {
    std::uint32_t events = 0;
    take_from(k.data, at, events);
    k.bed.fds.push_back({d.get(), static_cast<short>(events), 0});
  }
  out.ready = k.who.sleeping.sleep(k.c, k.bed, as_timeout(in.timeout));
  k.bed.fds.clear();
  k.bed.signals = 0;
  k.bed.why = nullptr;
  return 0;
}

int wait_others(caller& k, const channel::wait_others& in, channel::wait_others::answer& out) {
  ++k.who.stats.parks;
  k.bed.why = "waits for other threads";
  if (in.all) k.who.changes.hear_all();
  const signal_place here(k);
  out.ran = k.who.changes.wait_slice(k.c, k.slices, as_timeout(in.timeout), here);
  k.bed.why = nullptr;
  return 0;
}

// Returns the pages that the loop reads; none = DMA to any page may end its wait. Two addresses may show the bytes of a shared
// page.
std::span<const std::uint64_t> read_pages(const caller& k, const channel::spin& in) {
  const std::span<const std::uint64_t> pages(in.pages, std::min<std::size_t>(in.count, channel::spin::most_pages));
  const auto alone = [&](std::uint64_t p) { return k.who.of_process && k.who.of_process->is_private(p); };
  return in.proven && std::all_of(pages.begin(), pages.end(), alone) ? pages : std::span<const std::uint64_t>();
}

int spin(caller& k, const channel::spin& in, channel::nothing&) {
  client& p = k.who;
  ++p.stats.spins;
  // A loop without a proof may wait or compute, and each of its turns takes the machine long. While no DMA lands, each sleep is
  // twice as long as the one before, whatever other threads do.
  constexpr unsigned most_doublings = 13;
  const ps unproven = 1_us * (1 << std::min(k.unproven, most_doublings));
  if (!in.proven) ++p.stats.unproven_spins;
  k.bed.why = "waits for memory";
  const signal_place here(k);
  const bool landed = p.changes.wait(k.c, k.landings, k.slices, in.proven != 0, in.proven ? p.config.spin_stretch : unproven,
                                     here, read_pages(k, in));
  if (landed) ++p.stats.spins_landed;
  k.in_vain = !landed;
  k.unproven = in.proven || landed ? 0 : k.unproven + 1;
  k.bed.why = nullptr;
  return 0;
}

int query_usage(caller& k, const channel::query_usage&, channel::query_usage::answer& out) {
  const auto as_number = [](ps t) { return static_cast<std::uint64_t>(t.count()); };
  const usage& u = k.who.used;
  out = {as_number(k.used), as_number(u.process), as_number(u.children), k.who.node_used ? as_number(*k.who.node_used) : 0};
  return 0;
}

int thread_ends(caller& k, const channel::thread_ends&, channel::nothing&) {
  k.ended = true;
  return 0;
}

}  // namespace

void add_time_requests(handler_table& t) {
  add<channel::clock, clock>(t);
  add<channel::sleep, sleep>(t);
  add<channel::wait_descriptors, wait_descriptors>(t);
  add<channel::wait_others, wait_others>(t);
  add<channel::spin, spin>(t);
  add<channel::thread_ends, thread_ends>(t);
  add<channel::query_usage, query_usage>(t);
}

}  // namespace hcasim::applications
