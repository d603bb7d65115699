#include "testbenches/verbs_programs/simulator/tokens.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>

namespace hcasim::applications {
namespace {

// The reader may have closed its end, or be dead: SIGPIPE would end the simulator.
void write_quietly(int fd, const void* what, std::size_t bytes) {
  sigset_t broken;
  sigset_t before;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken, &before);
  if (::write(fd, what, bytes) < 0 && errno == EPIPE) {
    const timespec at_once{};
    ::sigtimedwait(&broken, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Writes as many elements as `change` says, or reads them back if it is negative. Never sleeps.
void change_by(int change, int write_end, int read_end, void* element, std::size_t bytes) {
  const auto would_not_sleep = [](int fd, short events) {
    pollfd p{fd, events, 0};
    return ::poll(&p, 1, 0) > 0 && (p.revents & events);
  };
  for (int i = 0; i < change && would_not_sleep(write_end, POLLOUT); ++i) write_quietly(write_end, element, bytes);
  for (int i = 0; i < -change && would_not_sleep(read_end, POLLIN); ++i) {
    if (::read(read_end, element, bytes) < 0) break;
  }
}

}  // namespace

std::function<void(int)> tokens_in(descriptor write_end, descriptor read_end, waiting& sleeping) {
  auto in = std::make_shared<descriptor>(std::move(write_end));
  auto out = std::make_shared<descriptor>(std::move(read_end));
  return [in, out, &sleeping](int change) {
    char token = 1;
    change_by(change, in->get(), out->get(), &token, sizeof token);
    if (change > 0) sleeping.checkpoint(now());
  };
}

std::function<void(int)> count_in(descriptor eventfd, waiting& sleeping) {
  auto end = std::make_shared<descriptor>(std::move(eventfd));
  return [end, &sleeping](int change) {
    std::uint64_t one = 1;
    change_by(change, end->get(), end->get(), &one, sizeof one);
    if (change > 0) sleeping.checkpoint(now());
  };
}

}  // namespace hcasim::applications
