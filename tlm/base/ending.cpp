#include "tlm/base/ending.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tlm/base/kernel.h"

namespace hcasim::ending {
namespace {

const char* cut_short = nullptr;
locator place = nullptr;
int speaks_to = STDERR_FILENO;
bool ended = false;
bool all_done = false;

struct deadly {
  int number;
  const char* name;
};
constexpr deadly signals[] = {
    {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGSEGV, "SIGSEGV"}};

void say(const char* how, const char* hint) {
  char text[600];
  char where[400];
  const std::size_t n = place ? place(where, sizeof where - 1) : 0;
  where[n] = 0;
  fixed_text t(text, sizeof text - 1);
  t.add(cut_short ? cut_short : "hcasim").add(": ");
  if (n > 0) t.add(where).add(": ");
  t.add("the process was ended by ").add(how);
  if (n == 0) t.add(" at ").add_ns(static_cast<unsigned long long>(now().count())).add(" of simulated time");
  t.add(", before the run was over").add(hint);
  text[t.size()] = '\n';
  [[maybe_unused]] const ssize_t written = ::write(speaks_to, text, t.size() + 1);
}

void on_exit_of_process(int status, void* /*context*/) {
  if (ended || all_done || (!cut_short && sc_core::sc_get_status() != sc_core::SC_RUNNING)) return;
  ended = true;
  std::fflush(nullptr);
  say("exit()", "");
  ::_exit(status == 0 ? 1 : status);
}

void on_quick_exit() {
  on_exit_of_process(0, nullptr);
}

void on_signal(int number) {
  ::signal(number, SIG_DFL);
  for (const deadly& s : signals) {
    if (s.number == number && !ended)
      say(s.name,
          number == SIGBUS ? " (a file that was mapped is shorter now: was a shared object written while it was in use?)" : "");
  }
  ended = true;
  ::raise(number);
}

}  // namespace

void watch() {
  static bool watches = false;
  if (watches) return;
  watches = true;
  ::on_exit(on_exit_of_process, nullptr);
  std::at_quick_exit(on_quick_exit);
  for (const deadly& s : signals) {
    struct sigaction now_set {};
    if (::sigaction(s.number, nullptr, &now_set) != 0 || now_set.sa_handler != SIG_DFL) continue;
    struct sigaction mine {};
    mine.sa_handler = on_signal;
    mine.sa_flags = SA_NODEFER;
    ::sigaction(s.number, &mine, nullptr);
  }
}

void done() {
  all_done = true;
}

unfinished::unfinished(const char* what) : before_(cut_short) {
  watch();
  cut_short = what;
}

unfinished::~unfinished() {
  cut_short = before_;
}

void locate_by(locator where) {
  place = where;
}

void tell(int descriptor) {
  speaks_to = descriptor;
}

}  // namespace hcasim::ending
