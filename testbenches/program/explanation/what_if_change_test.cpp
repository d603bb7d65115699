#include "testbenches/program/explanation/what_if_change.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace hcasim {
namespace {

struct unit_knobs {
  std::uint32_t tags = 2;
  std::uint32_t generation = 3;
  std::uint64_t buffer = 65536;
  std::uint64_t unlimited = 0;
  std::uint64_t small_header = 26;
  double interval = 3;
  double least = 1;
  ps latency = 80_ns;
  ps command_timeout = 10_us;
  bit_rate rate{1e9};
  frequency clock{4e8};
  bool flag = false;
  std::uint32_t seed = 1;

  void knobs(knob_visitor& k) {
    k.count("tags", tags, 1, 3, "");
    k.count("generation", generation, 1, 6, "");
    k.bytes("buffer", buffer, 0, 1e9, "");
    k.bytes("unlimited", unlimited, 0, 1e9, "");
    k.bytes("small_header", small_header, 12, 64, "");
    k.cycles("interval", interval, 1, 1000, "");
    k.cycles("least", least, 1, 1000, "");
    k.time("latency", latency, 0_ns, 1_ms, "");
    k.time("command_timeout", command_timeout, 0_ns, 1_ms, "");
    k.rate("rate", rate, bit_rate{1}, bit_rate{1e12}, "");
    k.clock("clock", clock, frequency{1}, frequency{1e10}, "");
    k.flag("flag", flag, "");
    k.count("seed", seed, 0, 1e9, "");
  }
};

struct two_nodes {
  unit_knobs first;
  unit_knobs second;
  unit_knobs wire;
  unit_knobs bench;

  knob_tree tree() {
    return knob_tree([this](knob_visitor& v) {
      v.enter("node0", "");
      v.group("engine", first);
      v.leave();
      v.enter("node1", "");
      v.group("engine", second);
      v.leave();
      v.group("link", wire);
      v.group("parameters", bench);
    });
  }
};

TEST(what_if_change, doubles_resources_and_halves_times) {
  two_nodes m;
  const knob_tree tree = m.tree();
  const auto value = [&](const char* name) { return relieved(*tree.find(fmt::format("link.{}", name))).value_or("none"); };
  EXPECT_EQ(value("tags"), "3") << "as far as its range goes";
  EXPECT_EQ(value("generation"), "4") << "each is twice as fast as the one before";
  EXPECT_EQ(value("buffer"), "128 KiB");
  EXPECT_EQ(value("unlimited"), "none");
  EXPECT_EQ(value("small_header"), "13 B") << "bytes around a payload are a cost";
  EXPECT_EQ(value("interval"), "1.5 cycles");
  EXPECT_EQ(value("least"), "none");
  EXPECT_EQ(value("latency"), "40 ns");
  EXPECT_EQ(value("command_timeout"), "none");
  EXPECT_EQ(value("rate"), "2 Gb/s");
  EXPECT_EQ(value("clock"), "800 MHz");
  EXPECT_EQ(value("flag"), "none");
  EXPECT_EQ(value("seed"), "none");
}

TEST(what_if_change, takes_all_nodes_together_and_leaves_the_workload_alone) {
  two_nodes m;
  m.second.interval = 200;
  const auto all = all_changes(m.tree());
  ASSERT_EQ(all.size(), 20U) << "two units, each with two lists, and eight knobs of each";
  EXPECT_EQ(all[0].name, "node*.engine");
  EXPECT_TRUE(all[0].whole);
  EXPECT_EQ(all[0].kind, relief_kind::resource);
  EXPECT_EQ(all[0].settings.size(), 14U);
  EXPECT_TRUE(all[8].whole);
  EXPECT_EQ(all[8].kind, relief_kind::latency);
  EXPECT_EQ(all[8].settings.size(), 2U);
  EXPECT_EQ(all[9].name, "node*.engine.latency");
  const auto interval =
      std::find_if(all.begin(), all.end(), [](const what_if_change& r) { return r.name == "node*.engine.interval"; });
  ASSERT_NE(interval, all.end());
  EXPECT_EQ(interval->from, "") << "the nodes differ";
  EXPECT_EQ(interval->settings[0].text, "1.5 cycles");
  EXPECT_EQ(interval->settings[1].text, "100 cycles");
  EXPECT_EQ(changes_for(m.tree(), "parameters.tags").size(), 1U);
  EXPECT_EQ(changes_for(m.tree(), "tags").size(), 2U);
  EXPECT_EQ(changes_for(m.tree(), "node1.engine.tags").front().name, "node1.engine.tags");
  EXPECT_EQ(changes_for(m.tree(), "node?.engine.tags").front().name, "node*.engine.tags");
  EXPECT_EQ(changes_for(m.tree(), "link0 end1_utilisation").size(), 8U);
  EXPECT_THROW(changes_for(m.tree(), "tgas"), input_error);
  EXPECT_THROW(changes_for(m.tree(), "link.flag"), input_error);
}

}  // namespace
}  // namespace hcasim
