#include "testbenches/coverification/lockstep/lockstep.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "testbenches/coverification/lockstep/both_waves.h"
#include "testbenches/coverification/lockstep/item_fields.h"
#include "testbenches/coverification/lockstep/search.h"
#include "testbenches/coverification/lockstep/stream_cover.h"
#include "tlm/base/ending.h"
#include "tlm/base/missing_part.h"
#include "tlm/base/send_signal.h"
#include "tlm/rtl/fst_stream.h"

namespace hcasim::lockstep {

void comparison::offered(side s, std::uint64_t number) {
  if (waves_) waves_->offered(s, number, now());
}

void comparison::answered(side s, std::uint64_t number, const answer& a, ps offered, ps at, bool race, unsigned meets) {
  if (number >= entries_.size()) return problem("an answer to an item that is not in the stream", number);
  if (waves_) waves_->answered(s, number, a, at);
  entry& e = entries_[number];
  if (e.seen & (1U << s)) return problem("two answers", number);
  e.seen = static_cast<std::uint8_t>(e.seen | (1U << s));
  e.race |= race;
  e.meets = std::max(e.meets, static_cast<std::uint16_t>(meets));
  last_[s] = std::max(last_[s], at);
  if (on_answer && (s == rtl_side || !both_)) on_answer(number, a);
  const ps latency = at - offered;
  if (!both_) {
    ++report_.requests;
    return;
  }
  if (e.seen != 3) {
    e.first = a;
    e.latency = latency;
    return;
  }
  ++report_.requests;
  if (e.race) {
    ++report_.races;
    ++report_.exact;
    return;
  }
  const ps of_model = s == model_side ? latency : e.latency;
  const ps of_rtl = s == model_side ? e.latency : latency;
  double error = clock_.cycles_in(of_rtl - of_model);
  if (e.meets > 0 && std::abs(error) < e.meets + 0.5) error = 0;
  const auto whole = static_cast<std::int64_t>(error < 0 ? error - 0.5 : error + 0.5);
  model_latency_ += clock_.cycles_in(of_model);
  absolute_.add(static_cast<std::uint64_t>(whole < 0 ? -whole : whole));
  ++report_.errors[std::clamp<std::int64_t>(whole, -64, 64)];
  report_.exact += whole == 0;
  if (std::abs(error) > worst_) {
    worst_ = std::abs(error);
    report_.worst = number;
  }
  if (a == e.first) return;
  ++report_.differences;
  const answer& of_model_answer = s == model_side ? a : e.first;
  const answer& of_rtl_answer = s == model_side ? e.first : a;
  if (report_.problem.empty()) {
    problem("answers differ in " + difference(number, of_model_answer, of_rtl_answer), number);
  }
}

std::string comparison::difference(std::uint64_t number, const answer& of_model, const answer& of_rtl) const {
  const std::vector<field> model = describe(number, of_model), rtl = describe(number, of_rtl);
  std::string text;
  for (std::size_t i = 0; i < std::min(model.size(), rtl.size()); ++i) {
    if (model[i].value == rtl[i].value) continue;
    text += (text.empty() ? "" : "; ") + model[i].name + ": model " + model[i].value + ", rtl " + rtl[i].value;
    if (i == 0) break;
  }
  return text.empty() ? "a word that has no name" : text;
}

std::uint64_t comparison::hash_of(const std::byte* bytes, std::size_t n) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < n; ++i) hash = (hash ^ static_cast<std::uint64_t>(bytes[i])) * 0x100000001b3U;
  return hash;
}

void comparison::note(side s, traffic& t, const access& a) {
  ++t.count[s];
  if (both_ && how_ != mode::random) t.all[s].push_back(a);
}

bool comparison::near(std::uint64_t model, std::uint64_t rtl, double share) {
  const auto apart = static_cast<double>(model > rtl ? model - rtl : rtl - model);
  return apart <= std::max(share * static_cast<double>(model), static_cast<double>(traffic_least));
}

std::string comparison::traffic_problem(traffic& t) const {
  const std::string counts =
      std::to_string(t.count[model_side]) + " by the model, " + std::to_string(t.count[rtl_side]) + " by the rtl";
  if (how_ == mode::random)
    return near(t.count[model_side], t.count[rtl_side], traffic_share) ? std::string() : std::string(t.what) + ": " + counts;
  // The order of accesses to different addresses is not defined: one entry leaves while another comes.
  for (std::vector<access>& a : t.all) {
    std::stable_sort(a.begin(), a.end(), [](const access& x, const access& y) { return x.address < y.address; });
  }
  const auto& [of_model, of_rtl] = t.all;
  const auto [m, o] = std::mismatch(of_model.begin(), of_model.end(), of_rtl.begin(), of_rtl.end());
  if (m == of_model.end() && o == of_rtl.end()) return {};
  const auto words = [&](auto at, auto end) {
    char text[64] = "none";
    if (at != end) std::snprintf(text, sizeof text, "%s 0x%" PRIx64, at->bytes ? t.write : "a read of", at->address);
    return std::string(text);
  };
  const bool same_place = m != of_model.end() && o != of_rtl.end() && m->address == o->address && m->bytes && o->bytes;
  return std::string(t.what) + ": model " + words(m, of_model.end()) + ", rtl " + words(o, of_rtl.end()) +
         (same_place ? t.otherwise : "") + " (" + counts + ")";
}

void comparison::counted(const unit& model, const unit& rtl) {
  for (const statistic& theirs : rtl.stats().all()) {
    const auto* const of_rtl = std::get_if<const counter*>(&theirs.value);
    for (const statistic& s : model.stats().all()) {
      const auto* const of_model = std::get_if<const counter*>(&s.value);
      if (of_rtl && of_model && s.name == theirs.name) counts_.push_back({s.name, {(*of_model)->value(), (*of_rtl)->value()}});
    }
  }
}

std::string comparison::count_problem() const {
  for (const count& c : counts_) {
    const auto [model, rtl] = c.of;
    if (how_ == mode::random ? near(model, rtl, count_share) : model == rtl) continue;
    return "statistic " + c.name + ": " + std::to_string(model) + " of the model, " + std::to_string(rtl) + " of the rtl";
  }
  return {};
}

void comparison::broke(const std::string& what) {
  const auto unanswered =
      std::find_if(entries_.begin(), entries_.end(), [](const entry& e) { return !(e.seen & (1U << rtl_side)); });
  fail("item " + std::to_string(unanswered - entries_.begin()) + ": " + what,
       static_cast<std::uint64_t>(unanswered - entries_.begin()));
}

void comparison::problem(const std::string& what, std::uint64_t number) {
  fail("item " + std::to_string(number) + ", cycle " + std::to_string(static_cast<std::uint64_t>(clock_.cycles_in(now()))) +
           ", " + std::to_string(now().count() / 1000) + " ns: " + what,
       number);
}

void comparison::fail(const std::string& text, std::uint64_t number) {
  if (!report_.problem.empty()) return;
  report_.problem = text;
  report_.first_difference = number;
  report_.problem_at = now();
  sc_core::sc_stop();
}

report comparison::finish() {
  report r = report_;
  if (r.problem.empty()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::uint8_t seen = entries_[i].seen;
      if (seen == 0xff || (both_ ? seen == 3 : seen != 0)) continue;
      ++r.differences;
      if (!r.problem.empty()) continue;
      r.problem = "item " + std::to_string(i) + ": never answered by " +
                  (seen == 0   ? "either side"
                   : seen == 1 ? "the rtl"
                               : "the model");
      r.first_difference = i;
      r.problem_at = now();
    }
    if (r.problem.empty() && both_) {
      r.problem = traffic_problem(memory_);
      if (r.problem.empty() && !storms_) r.problem = traffic_problem(sent_);
      if (r.problem.empty() && !storms_) r.problem = count_problem();
      r.differences += !r.problem.empty();
    }
  } else {
    r.differences = std::max<std::uint64_t>(r.differences, 1);
  }
  const auto n = static_cast<double>(r.requests - r.races);
  r.model_accesses = memory_.count[model_side];
  r.rtl_accesses = memory_.count[rtl_side];
  r.model_cycles = clock_.cycles_in(last_[model_side]);
  r.rtl_cycles = clock_.cycles_in(last_[rtl_side]);
  r.mean_latency = n > 0 ? model_latency_ / n : 0;
  r.mean_error = absolute_.mean();
  r.relative_error = model_latency_ > 0 ? absolute_.sum() / model_latency_ : 0;
  r.p99_error = static_cast<double>(absolute_.percentile(99));
  r.max_error = static_cast<double>(absolute_.max());
  return r;
}

std::vector<stream_kind> streams_for(const std::string& unit, bool storms) {
  std::vector<stream_kind> kinds;
  for (const stream_kind& k : default_streams) {
    if (!k.events || (!storms && kinds_of_events(unit) != 0)) kinds.push_back(k);
  }
  return kinds;
}

options with_stream(options o, const stream_kind& k, std::uint64_t requests, bool storms) {
  o.how = k.how;
  o.storms = k.storms || (storms && k.how == mode::random);
  o.events = k.events;
  o.requests = std::max<std::uint64_t>(requests / k.part, 1);
  return o;
}

report run(const std::string& unit, const item_stream& stream, const options& given) {
  const clock_domain clock(frequency{400e6});
  std::unique_ptr<bench> b = make_bench(unit);
  options o = given;
  if (!o.limits) o.limits = b->limits();
  comparison c(stream, clock, o.model && o.rtl, o.how, o.storms && o.how == mode::random);
  b->declare(c.covered());
  b->elaborate(stream, o, c);
  std::unique_ptr<stream_cover> cover;
  if (!o.coverage_file.empty()) {
    std::filesystem::remove(o.coverage_file);
    cover = make_stream_cover(unit);
    c.on_answer = [&](std::uint64_t number, const comparison::answer& a) { cover->sample(stream[number], a); };
  }
  std::optional<both_waves> waves;
  if (!o.vcd.empty()) {
    c.show(&waves.emplace());
    waves->watch(b->units());
  }
  const auto begin = std::chrono::steady_clock::now();
  std::string thrown;
  try {
    run_simulation();
  } catch (const std::exception& e) {
    thrown = e.what();
  }
  if (!thrown.empty()) c.broke(std::to_string(now().count() / 1000) + " ns: " + thrown);
  if (const auto [model, rtl] = b->units(); model && rtl) c.counted(*model, *rtl);
  report r = c.finish();
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (const auto* const shell = dynamic_cast<const rtl::shell*>(b->units()[rtl_side]))
    r.way = std::string(shell->design().name()) + " runs " + shell->way();
  b->finish(o, r);
  if (cover) cover->append_to(o.coverage_file, r.covered);
  b.reset();  // closes the waveform
  if (waves) waves->merge_into(vcd_of(o));
  if (waves && vcd_of(o) != o.vcd) {
    rtl::vcd_to_fst(vcd_of(o), o.vcd);
    std::filesystem::remove(vcd_of(o));
  }
  return r;
}

namespace {

constexpr int without_part = 3;  // status of a child: a design is not there

// A report crosses the pipe as text.
void save(const report& r, FILE* f) {
  std::fprintf(f,
               "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %.9g %.9g %.9g %.9g %.9g %.9g %.9g %" PRIu64 " %" PRIu64
               " %.9g %.9g %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               r.requests, r.differences, r.first_difference, r.problem_at.count(), r.model_cycles, r.rtl_cycles,
               r.mean_latency, r.mean_error, r.relative_error, r.p99_error, r.max_error, r.exact, r.worst, r.seconds, r.stalls,
               r.model_accesses, r.rtl_accesses, r.races);
  for (const auto& [e, n] : r.errors) std::fprintf(f, "e %" PRId64 " %" PRIu64 "\n", e, n);
  for (const auto& [name, n] : r.covered) std::fprintf(f, "c %s %" PRIu64 "\n", name.c_str(), n);
  if (!r.way.empty()) std::fprintf(f, "w %s\n", r.way.c_str());
  std::string text = r.problem;
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::fprintf(f, "p %s\n", text.c_str());
}

bool load(std::istream& in, report& r) {
  std::int64_t at = 0;
  if (!(in >> r.requests >> r.differences >> r.first_difference >> at >> r.model_cycles >> r.rtl_cycles >> r.mean_latency >>
        r.mean_error >> r.relative_error >> r.p99_error >> r.max_error >> r.exact >> r.worst >> r.seconds >> r.stalls >>
        r.model_accesses >> r.rtl_accesses >> r.races)) {
    return false;
  }
  r.problem_at = ps(at);
  std::string kind;
  while (in >> kind) {
    if (kind == "e") {
      std::int64_t e = 0;
      in >> e;
      in >> r.errors[e];
    } else if (kind == "c") {
      std::string name;
      in >> name;
      in >> r.covered[name];
    } else if (kind == "w") {
      in.get();
      std::getline(in, r.way);
    } else {
      in.get();
      std::getline(in, r.problem);
      return true;
    }
  }
  return false;
}

}  // namespace

report run_isolated(const std::string& unit, const item_stream& stream, const options& o) {
  return run_isolated(unit, stream, o, patience());
}

report run_isolated(const std::string& unit, const item_stream& stream, const options& o, const patience& p) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "lockstep: no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "lockstep: no process");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a run that no process waits for ends
    close(ends[0]);
    if (o.seconds != 0) {
      const rlimit limit{o.seconds, o.seconds + 1};
      setrlimit(RLIMIT_CPU, &limit);
    }
    int status = 0;
    FILE* const out = fdopen(ends[1], "w");
    try {
      ending::tell(ends[1]);  // reports RTL that ends the process
      const ending::unfinished whole(unit.c_str());
      save(run(unit, stream, o), out);
    } catch (const std::exception& e) {
      report r;
      r.differences = 1;
      r.problem = e.what();
      save(r, out);
      status = dynamic_cast<const missing_part*>(&e) ? without_part : 1;
    }
    std::fclose(out);
    std::fflush(nullptr);
    _exit(status);
  }
  close(ends[1]);
  std::string text;
  const bool whole = p.read_all(ends[0], text);
  close(ends[0]);
  if (!whole) signal_process(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  report r;
  std::istringstream in(text);
  if (!load(in, r)) {
    r = report();
    r.differences = 1;
    const std::string last_words = text.substr(0, text.find('\n'));
    r.problem = !whole                ? "the run was stopped"
                : !last_words.empty() ? last_words
                : WIFSIGNALED(status) ? "the run was ended by signal " + std::to_string(WTERMSIG(status))
                                      : "the run gave no report";
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == without_part) throw missing_part(r.problem);
  return r;
}

void write_stream(const std::string& file, const std::string& unit, const item_stream& s, const options& o) {
  std::ofstream out(file);
  out << "lockstep " << unit << " mode " << mode_names[static_cast<unsigned>(o.how)] << " seed " << o.seed << " stall "
      << o.stall << " fault " << o.fault << (o.storms ? " storms" : "") << '\n';
  out << std::hex;
  for (const item& i : s) {
    for (std::size_t w = 0; w < item_words; ++w) out << (w ? " " : "") << i[w];
    out << '\n';
  }
  if (!out.flush()) throw std::runtime_error(file + ": cannot be written");
}

item_stream read_stream(const std::string& file, std::string& unit, options& o) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + ": cannot be read");
  std::string line;
  std::getline(in, line);
  std::istringstream head(line);
  std::string word[5];
  std::string how;
  if (!(head >> word[0] >> unit >> word[1] >> how >> word[2] >> o.seed >> word[3] >> o.stall >> word[4] >> o.fault) ||
      word[0] != "lockstep") {
    throw std::runtime_error(file + ":1: not a stream: 'lockstep UNIT mode MODE seed N stall P fault N' is expected");
  }
  o.storms = (head >> word[0]) && word[0] == "storms";
  const auto* const found = std::find(std::begin(mode_names), std::end(mode_names), how);
  if (found == std::end(mode_names)) throw std::runtime_error(file + ":1: there is no mode '" + how + "'");
  o.how = static_cast<mode>(found - std::begin(mode_names));
  item_stream s;
  for (unsigned number = 2; std::getline(in, line); ++number) {
    std::istringstream words(line);
    item i{};
    words >> std::hex;
    for (std::uint64_t& w : i) {
      if (!(words >> w))
        throw std::runtime_error(file + ":" + std::to_string(number) + ": " + std::to_string(item_words) +
                                 " words are expected");
    }
    s.push_back(i);
  }
  return s;
}

}  // namespace hcasim::lockstep
