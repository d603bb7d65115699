// Three observers, one truth: for every level that a unit counts and shows, statistics and waveform agree. Mean and peak over
// the measured part are the same. The spans agree, too, where the level counts crossings of the unit's border.
#include <cmath>

#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/recording/wave_reader.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct seen {
  double mean = 0;
  double peak = 0;
};

// A quantity over the measured part, from its changes in the order of time.
class occupancy {
 public:
  occupancy(ps begin, ps end) : begin_(begin), end_(end) {}

  void set(ps t, std::int64_t v) {
    const ps from = std::max(last_, begin_);
    const ps until = std::min(t, end_);
    if (until > from) {
      area_ += static_cast<double>(value_) * static_cast<double>((until - from).count());
      peak_ = std::max(peak_, value_);
    }
    last_ = t;
    value_ = v;
  }
  void add(ps t, std::int64_t n) { set(t, value_ + n); }
  [[nodiscard]] seen result() {
    set(std::max(end_, last_), value_);
    return {area_ / static_cast<double>((end_ - begin_).count()), static_cast<double>(peak_)};
  }

 private:
  ps begin_;
  ps end_;
  ps last_{0};
  std::int64_t value_ = 0;
  std::int64_t peak_ = 0;
  double area_ = 0;
};

class wave_levels final : public wave_listener {
 public:
  wave_levels(ps begin, ps end) : begin_(begin), end_(end) {}

  void defined(const std::vector<wave_signal>& signals, const std::string&) override {
    for (const wave_signal& s : signals) {
      names_.push_back(s.scope + "." + s.name);
      levels_.emplace_back(begin_, end_);
    }
  }
  void time(ps at) override { now_ = at; }
  void value(std::size_t signal, std::string_view digits) override {
    std::int64_t v = 0;
    for (const char c : digits) v = v * 2 + (c == '1' ? 1 : 0);
    levels_[signal].set(now_, v);
  }
  [[nodiscard]] seen of(const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) throw std::runtime_error("the waveform has no signal " + name);
    return levels_[static_cast<std::size_t>(found - names_.begin())].result();
  }

 private:
  ps begin_;
  ps end_;
  ps now_{0};
  std::vector<std::string> names_;
  std::vector<occupancy> levels_;
};

// The spans of a level: on the tracks of some units beside the level's, with names that begin or end in a given way.
struct span_rule {
  const char* level;                // unit.statistic, within an adapter
  std::vector<const char*> tracks;  // units within the same adapter
  std::vector<const char*> begins;  // one of these
  const char* ends;
};
const span_rule span_rules[] = {
    {"window_unit.pending", {"window_unit"}, {""}, ""},
    {"port.held", {"requester", "responder"}, {"RC "}, ""},
    {"page_walker.walkers_busy", {"dma_engine"}, {"table "}, " read"},
    {"dma_engine.reads", {"dma_engine"}, {""}, " read"},
    {"completion.writes_in_flight", {"dma_engine"}, {"completion ", "interrupt "}, " write"},
};

struct track_span {
  std::string unit;  // node0.window_unit
  std::string name;
  ps begin;
  ps end;
};

ps from_us(const json& v) {
  return ps(std::llround(v.get<double>() * 1e6));
}
ps from_ns(const json& v) {
  return ps(std::llround(v.get<double>() * 1e3));
}

std::vector<track_span> spans_of(const fs::path& file) {
  const json events = json::parse(file_content(file))["traceEvents"];
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<int, std::string> nodes;
  for (const json& e : events) {
    if (e["ph"] != "M") continue;
    const std::string name = e["args"].value("name", "");
    if (e["name"] == "process_name") nodes[e["pid"]] = name;
    if (e["name"] == "thread_name") tracks[{e["pid"], e["tid"]}] = name.substr(0, name.find(' '));
  }
  std::vector<track_span> out;
  for (const json& e : events) {
    if (e["ph"] != "X") continue;
    const ps begin = from_us(e["ts"]);
    out.push_back({nodes[e["pid"]] + "." + tracks[{e["pid"], e["tid"]}], e["name"], begin, begin + from_us(e["dur"])});
  }
  return out;
}

seen of_spans(const std::vector<track_span>& spans, const std::string& node, const span_rule& rule, ps begin, ps end) {
  std::vector<std::pair<ps, int>> changes;
  for (const track_span& s : spans) {
    const bool on =
        std::any_of(rule.tracks.begin(), rule.tracks.end(), [&](const char* t) { return s.unit == node + "." + t; });
    const bool named =
        std::any_of(rule.begins.begin(), rule.begins.end(), [&](const char* b) { return s.name.starts_with(b); });
    if (!on || !named || !s.name.ends_with(rule.ends)) continue;
    changes.emplace_back(s.begin, 1);
    changes.emplace_back(s.end, -1);
  }
  std::sort(changes.begin(), changes.end());  // at one time ends come before begins
  occupancy o(begin, end);
  for (const auto& [t, n] : changes) o.add(t, n);
  return o.result();
}

class observers : public test_in_own_folder {
 protected:
  static void expect_same(const seen& a, const seen& b, const std::string& what) {
    EXPECT_NEAR(a.mean, b.mean, 0.01 * std::max(a.mean, b.mean)) << what << ", mean";
    EXPECT_NEAR(a.peak, b.peak, 0.01 * std::max(a.peak, b.peak)) << what << ", peak";
  }

  // Returns the compared levels that were in use at all.
  std::vector<std::string> compare(const std::string& run) {
    const outcome o = run_program(places::program, "run " + run + " --set preset=generic_100g --spans -o out");
    EXPECT_EQ(o.status, 0) << o.text;
    if (o.status != 0) return {};
    const json result = json::parse(file_content("out/result.json"));
    const ps begin = from_ns(result["measured"]["begin_ns"]);
    const ps end = from_ns(result["measured"]["end_ns"]);
    wave_levels waves(begin, end);
    read_waves("out/waves.vcd", waves);
    const std::vector<track_span> spans = spans_of("out/spans.json");
    std::vector<std::string> used;
    for (const auto& [unit, list] : result["statistics"].items()) {
      for (const auto& [name, s] : list.items()) {
        if (!s.contains("signal")) continue;
        const seen counted{s["mean"], s["peak"]};
        const std::string level = unit + "." + name;
        expect_same(counted, waves.of(unit + "." + s["signal"].get<std::string>()), level + ": statistics and waveform");
        if (counted.mean > 0) used.push_back(level);
        for (const span_rule& rule : span_rules) {
          if (!level.ends_with(std::string(".hca.") + rule.level)) continue;
          const std::string node = unit.substr(7, unit.find('.', 7) - 7);  // behind "system."
          expect_same(counted, of_spans(spans, node, rule, begin, end), level + ": statistics and spans");
        }
      }
    }
    return used;
  }
  static void expect_used(const std::vector<std::string>& used, std::initializer_list<const char*> levels) {
    for (const char* l : levels) {
      EXPECT_TRUE(std::any_of(used.begin(), used.end(), [&](const std::string& u) { return u.ends_with(l); }))
          << l << " was never above 0: nothing was compared";
    }
  }
};

TEST_F(observers, agree_on_writes) {
  expect_used(compare("message_rate --messages 3000 --warm_up 500 --qps 8"),
              {"node0.pcie.device0_outstanding_reads", "node0.hca.send_queue.cache", "node0.hca.dma_engine.tags_in_use",
               "node1.hca.dma_engine.write_bytes", "node0.hca.completion.writes_in_flight", "node0.hca.completion.waiting",
               "node1.hca.key_check.references", "node1.hca.port.held"});
}

TEST_F(observers, agree_on_reads) {
  expect_used(compare("message_rate --operation read --messages 3000 --warm_up 500 --qps 16"),
              {"node1.pcie.device0_outstanding_reads", "node1.hca.dma_engine.tags_in_use", "node1.hca.key_check.references"});
}

TEST_F(observers, agree_where_caches_miss) {
  expect_used(compare("message_rate --messages 3000 --qps 8 --regions 300 --order random --region 64KiB --set "
                      "node1.hca.mrc_cache.sets=4"),
              {"node1.hca.mrc_cache.outstanding", "node1.hca.page_walker.walkers_busy", "node1.hca.key_check.waiting"});
}

TEST_F(observers, agree_on_writes_reads_sends_and_atomics) {
  expect_used(compare("random_traffic --operations 2000"), {"node1.hca.dma_engine.locks_held", "node0.hca.port.held"});
}

TEST_F(observers, agree_on_bindings_of_type_1) {
  expect_used(compare("key_storm --changes 3000"), {"node1.hca.window_unit.pending", "node1.hca.doorbell.fifo"});
}

TEST_F(observers, agree_on_bindings_of_type_2) {
  expect_used(compare("key_storm --changes 3000 --type 2"), {"node1.hca.window_unit.pending"});
}

}  // namespace
}  // namespace hcasim
