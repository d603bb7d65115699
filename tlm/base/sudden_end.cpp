#include "tlm/base/sudden_end.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tlm/base/delegate.h"
#include "tlm/base/random.h"

namespace hcasim {

namespace {

constexpr std::int64_t ends_per_doubling = 2;
constexpr unsigned seconds_to_end = 120;
constexpr ps first_end{100'000};

void end_now() {
  event_queue::instance().run_ahead(false);
  sc_core::sc_stop();
}

class ends {
 public:
  explicit ends(std::uint64_t seed) : random_(seed, "sudden_end") { plan(first_end); }

 private:
  void plan(ps when) {
    queue_.at(when, call<&ends::on_time>(this));
    queue_.disregard(1);
  }

  void on_time() {
    queue_.disregard(-1);
    branch();
  }

  void branch() {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error(std::string("HCASIM_END: fork: ") + std::strerror(errno));
    if (child == 0) {
      ::alarm(seconds_to_end);
      const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(nothing, STDOUT_FILENO);
      return end_now();
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "a simulation that ended at %lld ps (HCASIM_END=at:%lld) was ended by signal %d\n",
                   static_cast<long long>(now().count()), static_cast<long long>(now().count()), WTERMSIG(status));
      std::abort();
    }
    const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(2, 2 * now().count() / ends_per_doubling));
    plan(now() + ps(1 + static_cast<std::int64_t>(random_.below(most))));
  }

  event_queue& queue_ = event_queue::instance();
  random_stream random_;
};

}  // namespace

void plan_sudden_ends() {
  static bool planned = false;
  const char* const said = std::getenv("HCASIM_END");
  if (!said || std::exchange(planned, true)) return;
  const std::string_view text(said);
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  char* end = nullptr;
  const char* const digits = colon == std::string_view::npos ? "" : said + colon + 1;
  const std::uint64_t number = std::strtoull(digits, &end, 10);
  if (end == digits || *end != '\0' || (kind != "at" && kind != "often")) {
    throw std::runtime_error("HCASIM_END=" + std::string(text) + ": write at:PICOSECONDS or often:SEED");
  }
  if (kind == "often") {
    static const ends all(number);
    return;
  }
  event_queue& queue = event_queue::instance();
  queue.at(ps(static_cast<std::int64_t>(number)), {[](void*) {
                                                     event_queue::instance().disregard(-1);
                                                     end_now();
                                                   },
                                                   nullptr});
  queue.disregard(1);
}

}  // namespace hcasim
