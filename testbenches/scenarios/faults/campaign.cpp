#include "testbenches/scenarios/faults/campaign.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "models/system/faulty_units.h"
#include "testbenches/kit/counters.h"
#include "testbenches/scenarios/faults/breaker.h"

namespace hcasim::faults {
namespace {

// The counts that tell of a fault's end, at one time.
struct account {
  std::uint64_t failures = 0;
  std::uint64_t failed = 0;
  std::uint64_t wrong = 0;
  std::uint64_t silent = 0;
  std::uint64_t unclosed = 0;
  std::uint64_t lives = 0;
  double mended = 0;
};

account take_account(hcasim::system& s, const stream_state& stream) {
  account a;
  a.failed = stream.failed;
  a.wrong = stream.wrong;
  a.silent = stream.silent;
  a.unclosed = stream.unclosed;
  a.lives = stream.lives;
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    const auto& counters = s.at(i).device().counters();
    a.failures += counters.failures.value();
    a.mended +=
        static_cast<double>(counters.lost_interrupts.value() + counters.pcie_errors.value() + counters.pcie_corrected.value());
    const hcasim::hca& h = s.at(i).hca;
    a.mended += kit::statistic_of(h.requester, "go_backs") + kit::statistic_of(h.requester, "timeouts");
  }
  for (const auto& [place, weak] : faulty_units(s)) {
    const auto* u = dynamic_cast<const unit*>(weak);
    if (!u) continue;
    for (const statistic& one : u->stats().all()) {
      if (one.name.starts_with("icm_") || one.name.starts_with("cell_")) a.mended += kit::statistic_of(*u, one.name);
    }
  }
  return a;
}

std::string loss(const account& before, const account& after, bool goes_on) {
  if (after.wrong != before.wrong) return "a request brought wrong bytes";
  if (after.silent != before.silent) return "a request did not end";
  if (after.unclosed != before.unclosed) return "a context could not be given back";
  return goes_on ? "" : "the stream did not go on";
}

outcome judge(const account& before, const account& after) {
  if (after.failures != before.failures) return outcome::recovered;
  if (after.failed != before.failed || after.lives != before.lives) return outcome::contained;
  return after.mended > before.mended ? outcome::corrected : outcome::masked;
}

struct campaigner {
  hcasim::system& s;
  campaign_options o;
  campaign_outcome& out;
  random_stream random;
  std::vector<weakness> all;
  bool finished = false;

  template <class Condition>
  bool wait_for(cpu& c, Condition condition, ps limit) {
    const ps deadline = c.time() + limit;
    while (!condition() && !out.stream.over && c.time() < deadline) {
      c.spend(2_us);
      c.sync();
    }
    return condition();
  }

  // Requests that were posted before `since` have ended, be it by their last retry, and after that the stream runs.
  bool streams(cpu& c, ps since) {
    const auto settled = [&] { return all_up(s) && out.stream.oldest() > since; };
    if (!wait_for(c, settled, 100_ms)) return false;
    const std::uint64_t goal = out.stream.done + o.between;
    return wait_for(
        c, [&] { return out.stream.done >= goal; }, 100_ms);
  }

  // Every device forgets what it has.
  void begin_anew(cpu& c) {
    for (const weakness& w : weaknesses(s)) {
      if (w.what().name == "function_reset") w.unit->inject(w.kind, {});
    }
    c.spend(o.watched);
    c.sync();
  }

  void run(cpu& c) {
    if (!streams(c, 0_ps)) out.problem = "the stream did not begin";
    while (out.problem.empty() && out.trials.size() < o.faults && !out.stream.over) {
      const weakness& w = all[random.below(all.size())];
      const auto pause = ps(static_cast<std::int64_t>(random.below(20'000'000)));
      const fault_request r{.count = 1 + random.below(4),
                            .length = ps(static_cast<std::int64_t>(1'000'000 + random.below(200'000'000))),
                            .draw = random.next()};
      c.spend(pause);
      c.sync();
      const account before = take_account(s, out.stream);
      w.unit->inject(w.kind, r);
      c.spend(o.watched + r.length);
      c.sync();
      bool goes_on = streams(c, c.time());
      w.unit->withdraw();  // what has not struck by now would be told of another fault
      goes_on = goes_on && streams(c, c.time());
      bool begins = goes_on;
      const outcome became = judge(before, take_account(s, out.stream));
      if (may_be_believed(s.config(), w.what().name)) {
        begin_anew(c);
        begins = streams(c, c.time());
      }
      trial t{w.place, std::string(w.what().name), became, loss(before, take_account(s, out.stream), goes_on)};
      if (!t.how.empty()) t.became = outcome::lost;
      out.trials.push_back(t);
      if (!begins) out.problem = "after " + t.place + " " + t.what + " the stream did not go on";
    }
    finished = true;
  }
};

}  // namespace

bool may_be_believed(const system_config& c, std::string_view what) {
  const bool one = what == "icm_bit" || what == "cell_bit" || what == "tag_bit";
  const bool two = what == "icm_two_bits" || what == "cell_two_bits" || what == "tag_two_bits";
  return std::any_of(c.nodes.begin(), c.nodes.end(), [&](const node_config& n) {
    return (n.hca.icm.check == icm_check::none && (one || two)) || (n.hca.icm.check == icm_check::parity && two);
  });
}

std::map<std::string, std::array<std::uint32_t, outcomes>> campaign_outcome::by_fault() const {
  std::map<std::string, std::array<std::uint32_t, outcomes>> table;
  for (const trial& t : trials) {
    std::string place = t.place;
    std::erase_if(place, [](char c) { return c >= '0' && c <= '9'; });
    ++table[place + " " + t.what][static_cast<std::size_t>(t.became)];
  }
  return table;
}

void start_campaign(hcasim::system& s, const campaign_options& o, std::uint64_t seed, campaign_outcome& out) {
  auto k = std::make_shared<campaigner>(campaigner{s, o, out, random_stream(seed, "campaign"), {}, false});
  for (const weakness& w : weaknesses(s)) {
    if (w.place.starts_with(o.where) && (o.what.empty() || w.what().name == o.what)) k->all.push_back(w);
  }
  if (k->all.empty()) {
    throw std::invalid_argument("fault_campaign: nothing at '" + o.where + "' can fail by '" + o.what +
                                "'; hcasim faults lists what can");
  }
  start_stream(
      s, o.stream, [k](const stream_state&) { return !k->finished; }, out.stream);
  s.at(0).host.run("campaign", [k](cpu& c) { k->run(c); });
}

}  // namespace hcasim::faults
