#include "testbenches/verbs_programs/simulator/programs.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "testbenches/verbs_programs/simulator/executable.h"
#include "tlm/base/send_signal.h"

namespace hcasim::applications {
namespace {

meeting_place place_of(const programs_config& c) {
  return c.loopback.empty() ? meeting_place() : meeting_place(c.loopback, c.first_host);
}

// Replaces the word nodeN, alone or after '=', by the node's address in its programs.
std::string with_address(const std::string& word, std::size_t nodes, std::uint32_t first) {
  constexpr std::string_view prefix = "node";
  const std::size_t at = word.rfind('=') + 1;
  if (word.compare(at, prefix.size(), prefix) != 0 || word.size() > at + prefix.size() + 3) return word;
  const std::string digits = word.substr(at + prefix.size());
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return word;
  const unsigned long n = std::stoul(digits);
  return n < nodes ? fmt::format("{}127.0.0.{}", word.substr(0, at), first + n) : word;
}

// Returns the last line with text in a program's output.
std::string last_line(const std::string& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t-") != std::string::npos) last = line;
  }
  return last;
}

}  // namespace

programs::process::process(family& f, programs& p, std::uint32_t number, std::uint64_t seed)
    : of(f),
      where(p.system_.at(number)),
      bytes(changes),
      verbs(where, number, bytes, changes,
            {p.waiting_, p.connections_, p.statistics_, p.config_.time, p.system_.config().link.rate}, seed) {
  verbs.gids = p.config_.gids;
  verbs.of_process = &bytes;
  verbs.node_used = &p.used_.at(number);
  verbs.ethernet = p.network_.port_of(number).ethernet;
}

programs::thread::~thread() {
  if (page) ::munmap(page, sizeof(channel::page));
}

programs::programs(const sc_core::sc_module_name& n, system& s, programs_config config)
    : unit(n),
      system_(s),
      config_(std::move(config)),
      place_(place_of(config_)),
      network_(s),
      connections_(network_, config_.connections),
      used_(s.nodes()),
      progress_(config_.progress) {
  stats_.add("requests", "1", "requests of programs' threads", statistics_.requests);
  stats_.add("empty_polls", "1", "polls of a completion queue that found nothing", statistics_.empty_polls);
  stats_.add("stretched_polls", "1", "of these, the ones that slept until something changed", statistics_.stretched_polls);
  stats_.add("clock_syncs", "1", "looks at the clock that the library could not answer alone", statistics_.clock_syncs);
  stats_.add("spins", "1", "times that a thread turned in a loop without a call", statistics_.spins);
  stats_.add("spins_landed", "1", "of these, the ones that DMA or another thread ended", statistics_.spins_landed);
  stats_.add("unproven_spins", "1", "of these, the ones that were taken for a loop without a proof",
             statistics_.unproven_spins);
  stats_.add("parks", "1", "times that a thread slept in the operating system", statistics_.parks);
  stats_.add("unknown_waits", "1", "times that a thread slept in a call that the library does not know",
             statistics_.unknown_waits);
  stats_.add("machine_clocks", "1", "times that a thread read a clock of the machine", statistics_.machine_clocks);
  stats_.add("refused", "1", "requests that made no sense", statistics_.refused);
  stats_.add("programs_running", "1", "programs that have begun and not ended", running_);
  const auto outside = [this](std::uint64_t physical_memory::outside_use::*part) {
    return [this, part](ps) {
      double sum = 0;
      for (std::size_t i = 0; i < system_.nodes(); ++i) {
        sum += static_cast<double>(system_.at(i).host.memory_bytes().outside().*part);
      }
      return sum;
    };
  };
  stats_.total("outside_reads", "1", "DMA reads of memory of programs, by pages",
               outside(&physical_memory::outside_use::reads));
  stats_.total("outside_writes", "1", "DMA writes to it, by pages", outside(&physical_memory::outside_use::writes));
  stats_.total("outside_bytes", "B", "bytes that both moved", outside(&physical_memory::outside_use::bytes));
  stats_.total("lost_pages", "1", "of these, the ones that found the page gone", outside(&physical_memory::outside_use::lost));

  const std::string library = find_library();
  for (std::size_t i = 0; i < config_.programs.size(); ++i) {
    auto f = std::make_unique<family>();
    f->number = i;
    f->config = config_.programs[i];
    f->what.words = split_words(f->config.run);
    if (f->what.words.empty()) throw std::runtime_error("it has no words");
    for (std::string& w : f->what.words) w = with_address(w, s.nodes(), config_.first_host);
    found_program found = find_program(f->what.words[0]);
    if (!found.objection.empty()) throw std::runtime_error(found.objection);
    f->what.path = std::move(found.path);
    f->what.library = library;
    f->what.output = config_.folder / fmt::format("program{}.txt", i);
    f->what.environment = {{"HCASIM_SOCKET", place_.name()},
                           {"HCASIM_LOOPBACK", place_.loopback()},
                           {"HCASIM_PROGRAM", std::to_string(i)},
                           {"HCASIM_NODE", std::to_string(f->config.node)},
                           {"HCASIM_NODES", std::to_string(s.nodes())},
                           {"HCASIM_FIRST_HOST", std::to_string(config_.first_host)},
                           {"HCASIM_NODES_BY_RANK", std::to_string(f->config.by_rank ? s.nodes() : 0)},
                           {"HCASIM_CLOCK_READ", std::to_string(config_.time.clock_read.count())},
                           {"HCASIM_POLL_STRETCH", std::to_string(config_.time.poll_stretch.count())},
                           {"HCASIM_TSC_MHZ", fmt::format("{:.3f}", config_.time.tsc_mhz)},
                           {"HCASIM_DEVICE", config_.device}};
    if (!config_.network.empty()) f->what.environment.emplace_back("HCASIM_NETWORK", config_.network);
    families_.push_back(std::move(f));
  }
  order_starts();
}

// Ends all processes of the run.
programs::~programs() {
  for (const auto& f : families_) {
    f->guard.reset();
    signal_group(f->main, SIGKILL);
    if (f->main > 0 && !f->over) ::waitpid(f->main, nullptr, 0);
  }
}

void programs::start() {
  waiting_.watch(place_.socket(), [this] {
    accept_threads();
    admit_newcomers();
  });
  for (std::size_t i = 0; i < system_.nodes(); ++i) {
    system_.at(i).host.run("boot", [this, i](cpu& c) {
      if (const int error = system_.at(i).device().open(c)) {
        fail(fmt::format("node{}: the adapter does not open: {}", i, std::strerror(error)));
      }
    });
  }
  for (const auto& f : families_) {
    node_of(*f).host.run(fmt::format("program{}", f->number), [this, &family = *f](cpu& c) { launch_program(c, family); });
  }
}

void programs::order_starts() {
  std::vector<placed_program> placed;
  for (const auto& f : families_) {
    placed.push_back({split_words(f->config.run), f->config.node, f->config.by_rank, f->config.start.has_value()});
  }
  const std::vector<bool> clients = find_clients(placed);
  const std::vector<bool> group = find_group(placed, config_.clients);
  for (const auto& f : families_) {
    f->client = clients[f->number];
    f->in_group = group[f->number];
  }
}

// A group waits for all other programs, and each other program for the one before.
void programs::await_turn(cpu& c, const family& f) {
  if (f.config.start && *f.config.start > c.time()) c.spend(*f.config.start - c.time());
  c.sync();
  if (f.config.start) return;
  const auto await = [](family& before) {
    while (!before.was_idle && !before.over) sc_core::wait(before.idle);
  };
  for (std::size_t i = families_.size(); i-- > 0;) {
    family& other = *families_[i];
    if (other.in_group || (!f.in_group && i >= f.number)) continue;
    await(other);
    if (!f.in_group) return;
  }
}

std::size_t programs::clients() const {
  return static_cast<std::size_t>(std::count_if(families_.begin(), families_.end(), [](const auto& f) { return f->client; }));
}

std::optional<double> programs::overlap() const {
  std::vector<active_time> active;
  for (const auto& f : families_) {
    if (!f->client) continue;
    active_time& a = active.emplace_back();
    for (const auto& p : f->processes) a.add(p->verbs.active);
  }
  return overlap_of(active);
}

void programs::launch_program(cpu& c, family& f) {
  if (node_of(f).device().open(c) != 0) return end_family(f);
  await_turn(c, f);
  if (interrupted_ || used_up_) return end_family(f);
  try {
    launched l = applications::start(f.what);
    f.main = l.process;
    f.guard = std::make_unique<guardian>(l.process);
    f.ended = std::move(l.ended);
  } catch (const std::system_error& e) {
    fail(fmt::format("program{}: {}", f.number, e.what()));
    end_used_up(e);
    return end_family(f);
  }
  running_.add(1, now());
  waiting_.watch(f.ended.get(), [this, &f] { end_family(f); });
  // The program's loader runs, and simulated time stands still.
  constexpr int turn = 100;        // ms
  constexpr int patience = 30000;  // ms
  for (int waited = 0; !f.connected && !f.over; waited += turn) {
    pollfd fds[] = {{place_.socket(), POLLIN, 0}, {f.ended.get(), POLLIN, 0}};
    ::poll(fds, 2, turn);
    accept_threads();
    if (fds[1].revents) end_family(f);
    admit_newcomers();
    if (waited < patience) continue;
    fail(fmt::format("program{}: {} does not load the library (LD_PRELOAD); what the system loads into it is up to the system",
                     f.number, f.what.path));
    signal_group(f.main, SIGKILL);
    end_family(f);
  }
}

// Ends all programs if the error is a limit of the machine: a program without a descriptor would behave differently.
void programs::end_used_up(const std::system_error& why) {
  for (const std::errc limit : {std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
                                std::errc::resource_unavailable_try_again, std::errc::not_enough_memory}) {
    if (why.code() != limit) continue;
    used_up_ = why;
    for (const auto& f : families_) {
      if (!f->over) signal_group(f->main, SIGKILL);
    }
  }
}

void programs::end_family(family& f) {
  if (f.over) return;
  int signal = 0;  // the signal that ended the program: a status above 128 may be the program's own
  if (f.main > 0) {
    int status = 0;
    ::waitpid(f.main, &status, 0);
    if (WIFSIGNALED(status)) signal = WTERMSIG(status);
    f.status = signal ? 128 + signal : WEXITSTATUS(status);
    waiting_.unwatch(f.ended.get());
    running_.add(-1, now());
  }
  f.over = true;
  wake(f.idle);
  for (const auto& p : f.processes) {
    if (p->id == f.main) end_process(*p);
  }
  echo(f, true);
  if (f.main > 0 && !interrupted_ && f.status != static_cast<int>(f.config.expect)) {
    fail(fmt::format("program{} ({}) ended with status {}{}, not with {}; its output is in program{}.txt", f.number,
                     f.what.words[0], f.status, signal ? fmt::format(" (signal {}, {})", signal, ::strsignal(signal)) : "",
                     f.config.expect, f.number));
  }
}

// Marks the process as over. Its threads see the mark at their next look.
void programs::end_process(process& p) {
  if (p.over) return;
  p.over = true;
  fail_unreached(p);
  p.bytes.detach();
  if (p.ended) waiting_.unwatch(p.ended.get());
  p.changes.end();
  for (thread& t : p.threads) waiting::dismiss(t.bed);
  tell_of_slice(p.of);
  for (const auto& other : p.of.processes) {
    if (other->over || other->id != p.parent) continue;
    other->verbs.used.children += p.verbs.used.process + p.verbs.used.children;
  }
}

bool programs::all_ended() const {
  for (const auto& f : families_) {
    if (!f->over) return false;
    for (const auto& p : f->processes) {
      if (!p->over || p->alive > 0) return false;
    }
  }
  return true;
}

void programs::stop(std::string why) {
  fail(std::move(why));
  for (const auto& f : families_) {
    if (!f->over) signal_group(f->main, SIGKILL);
  }
}

// A driver notices a failed device at its next look. Returns false if this has come to nothing.
bool programs::await_looks() {
  if (std::exchange(looked_at_, statistics_.requests.value()) == statistics_.requests.value()) return false;
  bool any = false;
  for (std::size_t i = 0; i < system_.nodes(); ++i) any = system_.at(i).device().await_look() || any;
  return any;
}

bool programs::wait_outside() {
  constexpr int patience = 10000;  // ms
  constexpr int after_looks = 1000;
  const bool looked = looked_at_ == statistics_.requests.value();
  if (waiting_.wait_outside(looked ? after_looks : patience, now() + config_.time.out_of_band)) return true;
  if (is_interrupted()) {
    interrupt();
  } else if (await_looks()) {
    return true;
  }
  const std::string who = who_sleeps();
  std::string said;
  for (const auto& f : families_) {
    if (f->main <= 0 || f->over) continue;
    const std::string line = last_line(f->what.output);
    said += fmt::format("; program{} said {} (program{}.txt)", f->number, line.empty() ? "nothing" : "'" + line + "' last",
                        f->number);
  }
  fail(fmt::format("nothing is left to do, and nothing has come from outside for {} s; {}{}", patience / 1000,
                   who.empty() ? "no thread sleeps" : who, said));
  return false;
}

std::string programs::who_sleeps() const {
  std::string out;
  for (const auto& f : families_) {
    for (const auto& p : f->processes) {
      for (const thread& t : p->threads) {
        if (p->over || !t.bed.why) continue;
        out += fmt::format("{}program{} ({}), thread {}, {}", out.empty() ? "" : "; ", f->number, f->what.words[0], t.id,
                           t.bed.why);
        if (!t.bed.fds.empty()) out += fmt::format(" ({})", t.bed.fds.size());
      }
    }
  }
  return out;
}

void programs::tell_progress(const thread* computes) {
  std::string who;
  if (computes) {
    const family& f = computes->of->of;
    who = fmt::format("program{} ({}) makes no call: it computes, or waits for memory", f.number, f.what.words[0]);
  }
  progress_.tell(now(), statistics_.requests.value(), statistics_.unproven_spins.value(), who);
}

void programs::stop_by(int fd) {
  interrupt_ = fd;
  waiting_.watch(fd, [this] { interrupt(); });
}

bool programs::is_interrupted() const {
  pollfd p{interrupt_, POLLIN, 0};
  return !interrupted_ && interrupt_ >= 0 && ::poll(&p, 1, 0) > 0;
}

void programs::interrupt() {
  interrupted_ = true;
  waiting_.unwatch(interrupt_);
  const std::string who = who_sleeps();
  fail(fmt::format("stopped by a signal at {:.3f} us of simulated time; {}", static_cast<double>(now().count()) / 1e6,
                   who.empty() ? "no thread slept" : who));
  for (const auto& f : families_) {
    if (!f->over) signal_group(f->main, SIGKILL);
  }
}

void programs::echo(family& f, bool all) {
  if (!config_.echo) return;
  std::FILE* file = std::fopen(f.what.output.c_str(), "re");
  if (!file) return;
  std::fseek(file, static_cast<long>(f.echoed), SEEK_SET);
  std::string text;
  char piece[4096];
  for (std::size_t n = 0; (n = std::fread(piece, 1, sizeof piece, file)) > 0;) text.append(piece, n);
  std::fclose(file);
  std::size_t at = 0;
  for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    fmt::print("program{}| {}\n", f.number, text.substr(at, end - at));
  }
  if (all && at < text.size()) {
    fmt::print("program{}| {}\n", f.number, text.substr(at));
    at = text.size();
  }
  f.echoed += at;
  std::fflush(stdout);
}

}  // namespace hcasim::applications
