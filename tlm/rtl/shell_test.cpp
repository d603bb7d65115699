// A shell's shortcuts change nothing: comparison with a shell that evaluates the whole design at every edge.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <tuple>
#include <vector>

#include "rtl/relay_design.h"
#include "tlm/base/random.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

class relay : public open_shell {
 public:
  struct seen {
    std::string what;
    std::uint64_t value;
    ps t;
    bool operator==(const seen&) const = default;
  };
  std::vector<seen> all;

  relay(const std::string& name, const shell_options& o)
      : open_shell(name.c_str(), clock_400, make_relay_design, o), a_(into("a", 8)), b_(into("b", 8)) {
    stream& x = out_of("x", 16);
    stream& y = out_of("y", 8);
    for (stream* s : {&a_, &b_, &x, &y}) {
      s->on_transfer = [this, s](const payload& p, std::uint64_t cookie, ps t) {
        all.push_back({s->name(), p.get(0, s->bits()) << 8 | cookie, t});
        if (!s->into()) owe(-1);
        // An item that came out goes in again, a few times, at once or later.
        if (s->name() == "x" && p.get(0, 2) != 0) send(true, p.get(0, 8) >> 1, t + ps(p.get(0, 1) * 7'000));
      };
    }
    on_violation = [this](const std::string& what) { all.push_back({what, 0, now()}); };
    on_reset = [this](const std::vector<lost>& losses) {
      for (const lost& l : losses) all.push_back({l.what, l.count, now()});
    };
  }
  void send(bool a, std::uint64_t v, ps t) {
    owe(1);
    if (v % 2 == 0) {
      push(a ? a_ : b_, t, v % 256).put(v, 8);
    } else {
      payload p;
      writer(p).put(v, 8);
      push(a ? a_ : b_, p, t, v % 256);
    }
  }
  void look() { all.push_back({"cycles", cycles(), now()}); }

 private:
  stream &a_, &b_;
};

// Two shells, of which the second runs a copy of the design as well and leaves nothing out.
struct pair_of_shells {
  relay quick, whole;
  random_stream r;

  pair_of_shells(std::uint64_t seed, shell_options o)
      : quick("quick" + std::to_string(seed), o), whole("whole" + std::to_string(seed), with_check(o)), r(seed, "relay") {}
  static shell_options with_check(shell_options o) {
    o.check_x = true;
    return o;
  }
  // Bursts and rests; now and then a look at the cycles, a reset.
  void act() {
    for (relay* s : {&quick, &whole}) s->look();
    const std::uint64_t what = r.below(40);
    const std::uint64_t v = r.below(256);
    const bool a = r.chance(0.6);
    const ps later(static_cast<std::int64_t>(r.chance(0.2) ? r.below(20'000) : 0));
    for (relay* s : {&quick, &whole}) {
      if (what == 0) {
        s->reset_again(static_cast<unsigned>(1 + v % 5));
      } else {
        s->send(a, v, now() + later);
      }
    }
    if (++acts_ < 400) {
      const ps gap(static_cast<std::int64_t>(r.chance(0.3) ? 0 : r.chance(0.5) ? r.below(3'000) : r.below(40'000)));
      event_queue::instance().at(now() + gap, {[](void* self) { static_cast<pair_of_shells*>(self)->act(); }, this});
    }
  }

 private:
  int acts_ = 0;
};

TEST(shell, skipped_evaluations_change_nothing) {
  std::deque<pair_of_shells> pairs;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    shell_options o;
    o.seed = seed;
    o.stall = seed % 3 == 0 ? 0.3 : 0;
    o.storms = seed % 7 == 0;
    pairs.emplace_back(seed, o);
    event_queue::instance().at(ps(static_cast<std::int64_t>(seed) * 777),
                               {[](void* p) { static_cast<pair_of_shells*>(p)->act(); }, &pairs.back()});
  }
  testing::run_until_idle();
  std::uint64_t fewer = 0;
  for (pair_of_shells& p : pairs) {
    for (relay* s : {&p.quick, &p.whole}) s->look();
    ASSERT_GT(p.quick.all.size(), 800U);
    for (std::size_t i = 0; i < std::min(p.quick.all.size(), p.whole.all.size()); ++i) {
      ASSERT_EQ(p.quick.all[i].what, p.whole.all[i].what)
          << p.quick.name() << ", item " << i << ", at " << p.whole.all[i].t.count();
      ASSERT_EQ(p.quick.all[i], p.whole.all[i]) << p.quick.all[i].what << " of " << p.quick.name() << ", item " << i;
    }
    ASSERT_EQ(p.quick.all.size(), p.whole.all.size());
    fewer += p.quick.effort().risen < p.whole.effort().risen && p.quick.effort().settled < p.whole.effort().settled;
  }
  if (pairs.front().quick.design().steps()) {
    EXPECT_EQ(fewer, pairs.size());
  }
}

}  // namespace
}  // namespace hcasim::rtl
