#include "testbenches/verbs_programs/simulator/tokens.h"

#include <fcntl.h>
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

}  // namespace

std::function<void()> token_into(descriptor pipe, waiting& sleeping) {
  ::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
  auto end = std::make_shared<descriptor>(std::move(pipe));
  return [end, &sleeping] {
    const char token = 1;
    write_quietly(end->get(), &token, sizeof token);
    sleeping.checkpoint(now());
  };
}

std::function<void(int)> count_in(descriptor eventfd, waiting& sleeping) {
  auto end = std::make_shared<descriptor>(std::move(eventfd));
  return [end, &sleeping](int change) {
    const auto would_not_sleep = [&](short events) {
      pollfd p{end->get(), events, 0};
      return ::poll(&p, 1, 0) > 0 && (p.revents & events);
    };
    std::uint64_t one = 1;
    for (int i = 0; i < change && would_not_sleep(POLLOUT); ++i) write_quietly(end->get(), &one, sizeof one);
    for (int i = 0; i < -change && would_not_sleep(POLLIN); ++i) {
      if (::read(end->get(), &one, sizeof one) < 0) break;
    }
    if (change > 0) sleeping.checkpoint(now());
  };
}

}  // namespace hcasim::applications
