#include "testbenches/applications/simulator/tokens.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>

namespace hcasim::applications {
namespace {

// The reader may have closed its end, or be dead: SIGPIPE would end the simulator.
void write_quietly(int pipe) {
  sigset_t broken;
  sigset_t before;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken, &before);
  const char token = 1;
  if (::write(pipe, &token, 1) < 0 && errno == EPIPE) {
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
    write_quietly(end->get());
    sleeping.checkpoint(now());
  };
}

}  // namespace hcasim::applications
