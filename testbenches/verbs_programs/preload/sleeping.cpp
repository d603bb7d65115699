#include "testbenches/verbs_programs/preload/sleeping.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>

#include "testbenches/verbs_programs/preload/blocking.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/timers.h"

namespace hcasim::preload {

int look(pollfd* fds, nfds_t n) {
  timespec zero{0, 0};
  return undisturbed([=, &zero] { return ::syscall(SYS_ppoll, fds, n, &zero, nullptr, 0); });
}

bool sleep_for(const pollfd* fds, nfds_t n, std::uint64_t timeout, std::uint64_t signals) {
  timeout = no_longer_than_timer(timeout);
  std::array<int, channel::most_descriptors> passed;
  std::uint32_t many = 0;
  for (nfds_t i = 0; i < n && many < passed.size(); ++i) {
    if (fds[i].fd < 0) continue;
    const auto events = static_cast<std::uint32_t>(fds[i].events);
    std::memcpy(data().data() + many * sizeof events, &events, sizeof events);
    passed[many++] = fds[i].fd;
  }
  if (many == 0) {
    call(channel::sleep{timeout, signals});
    return false;
  }
  channel::wait_descriptors::answer out{};
  const channel::wait_descriptors in{many, timeout, signals | signals_of_files()};
  return call(in, out, std::span(passed.data(), many)) != 0 || out.ready != 0;
}

void wait_for_signals(std::uint64_t timeout, std::uint64_t signals) {
  channel::wait_descriptors::answer out{};
  call(channel::wait_descriptors{0, no_longer_than_timer(timeout), signals}, out);
}

std::uint32_t wait_for_others(std::uint64_t timeout, std::uint32_t again, bool all) {
  call(channel::wait_others{timeout, again, all});
  return present()->interrupted ? 0 : 1;
}

void nothing_there(const pollfd* fds, nfds_t n) {
  connection* c = mine();
  static const std::uint64_t stretch = setting("HCASIM_POLL_STRETCH", 20'000'000);
  if (c->looked && n > 0) sleep_for(fds, n, stretch, 0);
  c->looked = true;
}

}  // namespace hcasim::preload
