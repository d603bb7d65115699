#include "testbenches/coverification/lockstep/mutation.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>
#include <stdexcept>

namespace hcasim::lockstep {
namespace {

std::string without_spaces(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (!std::isspace(static_cast<unsigned char>(c))) out += c;
  }
  return out;
}

// Registers begin as ones, or at random. A register without a reset must show in one of the two cases.
rtl::design_factory made_by = nullptr;
std::unique_ptr<rtl::design> of_ones(unsigned random_reset) {
  return made_by(random_reset == 0 ? 1 : random_reset);
}
std::unique_ptr<rtl::design> at_random(unsigned /*random_reset*/) {
  return made_by(2);
}

struct stage {
  const char* name;
  options how;
  item_stream items;
  unsigned seconds = 0;  // of the processor, after which a busy design is ended
};

// Returns the stages from the shortest to the longest, because most faults are found at once.
std::vector<stage> stages_of(const std::string& unit, const mutation_options& o) {
  std::vector<stage> all;
  const auto add = [&](const char* name, mode how, std::uint64_t requests, bool storms, std::uint64_t later = 0) {
    stage s{name, {}, {}, 0};
    s.how.how = how;
    s.how.seed = o.seed + later;
    s.how.requests = std::max<std::uint64_t>(requests, 1);
    s.how.storms = storms;
    s.how.design = later > 0 ? at_random : of_ones;
    s.items = make_bench(unit)->generate(s.how);
    all.push_back(std::move(s));
  };
  add("random", mode::random, o.requests / 10, false);
  add("single", mode::single, o.requests / 3, false, 1);
  add("full", mode::full, o.requests / 10, false, 1);
  add("floods", mode::full, std::min<std::uint64_t>(o.requests / 2, 5000), true, 1);
  add("random", mode::random, o.requests, false);
  add("random", mode::random, o.requests, false, 1);  // straps follow the seed
  add("storms", mode::random, o.requests, true);
  return all;
}

// The shared result of the processes that judge.
struct cell {
  std::atomic<bool> done;
  fate is;
  std::uint64_t requests;
  unsigned stage;
  char reason[200];
};

void judge(const std::string& unit, unsigned number, bool excused, const std::vector<stage>& stages, cell& out) {
  out.is = excused ? fate::equivalent : fate::survived;
  for (unsigned i = 0; i < stages.size(); ++i) {
    options o = stages[i].how;
    o.fault = number;
    o.seconds = stages[i].seconds;
    const report r = run_isolated(unit, stages[i].items, o);
    const std::string found = r.ok() ? out_of_bounds(unit, r, o) : r.problem;
    if (found.empty()) continue;
    out.is = excused ? fate::no_equivalent : o.storms && o.how == mode::random ? fate::killed_by_storm : fate::killed;
    out.requests = r.requests;
    out.stage = i;
    std::snprintf(out.reason, sizeof out.reason, "%s", found.c_str());
    break;
  }
  out.done = true;
}

}  // namespace

std::vector<mutant> mutants_of(rtl::design_factory make) {
  std::istringstream lines(make(0)->list_of_mutants());
  std::vector<mutant> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    mutant m;
    std::string number;
    std::string place;
    if (std::getline(fields, number, '\t') && std::getline(fields, m.file, '\t') && std::getline(fields, place, '\t') &&
        std::getline(fields, m.kind, '\t') && std::getline(fields, m.right, '\t') && std::getline(fields, m.wrong, '\t') &&
        std::getline(fields, m.text)) {
      m.number = static_cast<unsigned>(std::stoul(number));
      m.line = static_cast<unsigned>(std::stoul(place));
      all.push_back(std::move(m));
    }
  }
  if (all.empty()) throw std::invalid_argument("the design has no mutants: hca_add_rtl(... MUTANTS all) builds them in");
  return all;
}

std::vector<std::string> read_equivalents(const std::string& file, std::vector<mutant>& all) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + ": cannot be read");
  std::vector<std::string> unused;
  std::string source;
  std::string place;
  std::string right;
  std::string wrong;
  unsigned number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::string rest = line.size() > 2 ? line.substr(2) : std::string();
    if (line.rfind("@ ", 0) == 0) {
      source = rest;
    } else if (line.rfind(": ", 0) == 0) {
      place = without_spaces(rest);
    } else if (line.rfind("- ", 0) == 0) {
      right = without_spaces(rest);
    } else if (line.rfind("+ ", 0) == 0) {
      wrong = without_spaces(rest);
    } else if (line.rfind("! ", 0) == 0) {
      // The proof is for prove_equivalents.py.
    } else if (line.rfind("= ", 0) == 0) {
      bool used = false;
      for (mutant& m : all) {
        const bool fits = m.file == source && without_spaces(m.right) == right &&
                          (wrong == "*" || without_spaces(m.wrong) == wrong) &&
                          (place.empty() || without_spaces(m.text) == place);
        if (!fits) continue;
        m.reason = rest;
        used = true;
      }
      if (!used) {
        std::string& text = unused.emplace_back(file);
        text.append(":").append(std::to_string(number)).append(": ").append(source).append(" has no such fault");
      }
      place.clear();
    } else {
      throw std::runtime_error(
          file + ":" + std::to_string(number) +
          ": a line begins with '@ ' (file), ': ' (its line), '- ' (right), '+ ' (wrong), '! ' (proof), '= ' (why) or '#'");
    }
  }
  return unused;
}

std::vector<judged> judge_mutants(const std::string& unit, const std::vector<mutant>& chosen, const mutation_options& o) {
  made_by = o.design;
  std::vector<stage> stages = stages_of(unit, o);
  for (stage& s : stages) {
    const report r = run_isolated(unit, s.items, s.how);
    const std::string found = r.ok() ? out_of_bounds(unit, r, s.how) : r.problem;
    if (!found.empty()) throw std::runtime_error("without a fault, stream " + std::string(s.name) + " fails: " + found);
    s.seconds = 3 + static_cast<unsigned>(4 * r.seconds);
  }
  const std::size_t size = sizeof(std::atomic<std::size_t>) + (chosen.size() + 1) * sizeof(cell);
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mutation: no memory for the verdicts");
  auto* const next = new (memory) std::atomic<std::size_t>(0);
  auto* const cells = reinterpret_cast<cell*>(static_cast<char*>(memory) + sizeof(cell));
  std::fflush(nullptr);
  std::vector<pid_t> workers;
  for (unsigned j = 0; j < std::max(1U, o.jobs); ++j) {
    const pid_t child = fork();
    if (child != 0) {
      workers.push_back(child);
      continue;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The output of a broken design is dropped.
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)) _exit(1);
    for (std::size_t i = 0; (i = next->fetch_add(1)) < chosen.size();) {
      judge(unit, chosen[i].number, !chosen[i].reason.empty(), stages, cells[i]);
    }
    _exit(0);
  }
  for (const pid_t w : workers) waitpid(w, nullptr, 0);
  std::vector<judged> verdicts;
  bool all_done = true;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    all_done &= cells[i].done;
    verdicts.push_back({cells[i].is, cells[i].reason, cells[i].requests, stages[cells[i].stage].name});
  }
  munmap(memory, size);
  if (!all_done) throw std::runtime_error("mutation: a process that judges has ended early");
  return verdicts;
}

double score(const std::vector<judged>& verdicts) {
  const auto count = [&](auto... fates) {
    return static_cast<double>(
        std::count_if(verdicts.begin(), verdicts.end(), [&](const judged& v) { return ((v.fate == fates) || ...); }));
  };
  const double killed = count(fate::killed, fate::no_equivalent);
  const double all = killed + count(fate::survived, fate::killed_by_storm);
  return all > 0 ? killed / all : 1;
}

}  // namespace hcasim::lockstep
