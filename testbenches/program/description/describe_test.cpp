// Descriptions: layers, wildcards, presets, includes, and that every error names its place and its mend.
#include "testbenches/program/description/describe.h"

#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "testbenches/program/description/resolved.h"
#include "testbenches/program/selftest/sample_machine.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using selftest::cache_config;
using selftest::machine_config;

struct machine {
  machine_config config;
  knob_tree tree{[this](knob_visitor& v) { config.knobs(v); }};
};

class description_test : public ::testing::Test {
 protected:
  description_test() { fs::create_directories(folder_); }
  ~description_test() override { fs::remove_all(folder_); }

  void file(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  description with_text(const std::string& text) const {
    description d({{folder_}});
    d.read_text(text, "bad.yaml");
    return d;
  }
  // The machine that `text` describes.
  machine_config read(const std::string& text) const {
    machine m;
    with_text(text).apply(m.tree);
    return m.config;
  }
  std::string error_of(const std::string& text) const {
    try {
      read(text);
    } catch (const description_error& e) {
      return e.what();
    }
    return "no error";
  }
  std::string error_of_set(const std::string& assignment) const {
    try {
      description d({{folder_}});
      d.set_argument(assignment);
      machine m;
      d.apply(m.tree);
    } catch (const description_error& e) {
      return e.what();
    }
    return "no error";
  }

  fs::path folder_ = fs::temp_directory_path() / ("hcasim_describe_" + std::to_string(::getpid()));
};

TEST_F(description_test, every_kind_of_knob) {
  const machine_config c = read(R"(
node0:
  hca:
    mrc_cache: {ways: 8, size: 1 MiB, policy: random}
    clock: 500 MHz
    depth: 7 cycles
  pcie: {latency: 350 ns, enabled: false}
link:
  rate: 54.5 Gb/s
  loss: 0.01
  comment: "a: b"
)");
  EXPECT_EQ(c.nodes[0].mrc_cache.ways, 8U);
  EXPECT_EQ(c.nodes[0].mrc_cache.size, 1_MiB);
  EXPECT_EQ(c.nodes[0].mrc_cache.policy, cache_config::policy_kind::random);
  EXPECT_EQ(c.nodes[0].clock.hertz, 500e6);
  EXPECT_EQ(c.nodes[0].depth, 7);
  EXPECT_EQ(c.nodes[0].latency, 350_ns);
  EXPECT_FALSE(c.nodes[0].enabled);
  EXPECT_EQ(c.nodes[1].mrc_cache.ways, 4U);
  EXPECT_EQ(c.rate.bits_per_second, 54.5e9);
  EXPECT_EQ(c.loss, 0.01);
  EXPECT_EQ(c.comment, "a: b");
}

TEST_F(description_test, number_of_nodes_comes_first_wherever_it_stands) {
  const machine_config c = read("node3.hca.mrc_cache.ways: 2\nnode*.pcie.latency: 1 us\nnodes: 4\n");
  ASSERT_EQ(c.nodes.size(), 4U);
  EXPECT_EQ(c.nodes[3].mrc_cache.ways, 2U);
  for (const auto& n : c.nodes) EXPECT_EQ(n.latency, 1_us);
}

TEST_F(description_test, exact_keys_win_over_wildcards) {
  const machine_config c = read("node1: {hca: {mrc_cache: {ways: 16}}}\nnode*: {hca: {'*_cache': {ways: 2}}}\n");
  EXPECT_EQ(c.nodes[0].mrc_cache.ways, 2U);
  EXPECT_EQ(c.nodes[0].qpc_cache.ways, 2U);
  EXPECT_EQ(c.nodes[1].mrc_cache.ways, 16U);
  EXPECT_EQ(c.nodes[1].qpc_cache.ways, 2U);
}

TEST_F(description_test, layers) {
  file("card.yaml", "description: a card\nhca: {mrc_cache: {ways: 32}, depth: 9 cycles, clock: 400 MHz}\n");
  file("other.yaml", "include: card\nhca.clock: 800 MHz\n");
  file("base.yaml", "preset: card\nlink.rate: 40 Gb/s\nnode0.hca.depth: 11 cycles\nlink.loss: 0.5\n");
  file("top.yaml", "include: base.yaml\nnode1.preset: other\nlink.loss: 0.25\ntestbench: reads\nseed: 7\n");
  description d({{folder_}});
  d.read_file(folder_ / "top.yaml");
  d.set_argument("link.loss=0.125");
  machine m;
  d.apply(m.tree);
  EXPECT_EQ(d.testbench(), "reads");
  EXPECT_EQ(d.seed(), 7U);
  EXPECT_EQ(m.config.nodes[0].mrc_cache.ways, 32U);
  EXPECT_EQ(m.config.nodes[0].depth, 11);
  EXPECT_EQ(m.config.nodes[0].clock.hertz, 400e6);
  EXPECT_EQ(m.config.nodes[1].clock.hertz, 800e6);
  EXPECT_EQ(m.config.nodes[1].depth, 9);
  EXPECT_EQ(m.config.rate.bits_per_second, 40e9);
  EXPECT_EQ(m.config.loss, 0.125);
  EXPECT_EQ(d.presets(), (std::map<std::string, std::string>{{"node0", "card"}, {"node1", "other"}}));
}

TEST_F(description_test, a_preset_says_what_its_adapter_means_for_the_system) {
  file("card.yaml", "system: {link: {rate: 54.5 Gb/s}}\nhca.depth: 9 cycles\n");
  file("other.yaml", "system.link.rate: 40 Gb/s\n");
  EXPECT_EQ(read("preset: card\n").rate.bits_per_second, 54.5e9);
  EXPECT_EQ(read("node0.preset: card\nnode1.preset: other\n").rate.bits_per_second, 54.5e9) << "the first node's counts";
  EXPECT_EQ(read("preset: card\nlink.rate: 10 Gb/s\n").rate.bits_per_second, 10e9);
  file("wrong.yaml", "system:\n  link: {raet: 1 Gb/s}\n");
  EXPECT_EQ(error_of("preset: wrong\n"),
            folder_.string() + "/wrong.yaml:2:16: link.raet: unknown key 'raet'; did you mean 'rate'?");
}

TEST_F(description_test, a_preset_of_the_command_line_replaces_that_of_the_file_and_keeps_its_values) {
  file("a.yaml", "hca: {mrc_cache: {ways: 32}, depth: 9 cycles}\n");
  file("b.yaml", "hca: {depth: 3 cycles}\n");
  description d = with_text("preset: a\nnode0.pcie.latency: 5 ns\n");
  d.set_argument("preset=b");
  machine m;
  d.apply(m.tree);
  EXPECT_EQ(m.config.nodes[0].mrc_cache.ways, 4U) << "nothing of the replaced preset is left";
  EXPECT_EQ(m.config.nodes[0].depth, 3);
  EXPECT_EQ(m.config.nodes[0].latency, 5_ns);
}

TEST_F(description_test, errors_in_values) {
  EXPECT_EQ(
      error_of("node0:\n  pcie:\n    latency: 200\n"),
      "bad.yaml:3:14: node0.pcie.latency: '200' has no unit; a time is in ps, ns, us, ms or s: write for example '200 ns'");
  EXPECT_EQ(error_of("node0.hca.mrc_cache.ways: 128\n"),
            "bad.yaml:1:27: node0.hca.mrc_cache.ways: 128 is out of range; allowed is 1 to 64");
  EXPECT_EQ(error_of("node0.hca.mrc_cache.size: 2 GiB\n"),
            "bad.yaml:1:27: node0.hca.mrc_cache.size: 2 GiB is out of range; allowed is 64 B to 1 GiB");
  EXPECT_EQ(error_of("node0.pcie.latency: -1 ns\n"),
            "bad.yaml:1:21: node0.pcie.latency: -1 ns is out of range; allowed is 0 ns to 1 ms");
  EXPECT_EQ(error_of("node0.hca.mrc_cache.policy: lur\n"),
            "bad.yaml:1:29: node0.hca.mrc_cache.policy: 'lur' is not one of lru, random, fifo; did you mean 'lru'?");
  EXPECT_EQ(error_of("node0.pcie.enabled: yes\n"),
            "bad.yaml:1:21: node0.pcie.enabled: 'yes' is not a flag; write true or false");
  EXPECT_EQ(error_of("seed: soon\n"), "bad.yaml:1:7: seed: 'soon' is not a number; a count is written like '8'");
  EXPECT_EQ(error_of("seed: -1\n"), "bad.yaml:1:7: seed: -1 is out of range; allowed is 0 to 18446744073709551615");
}

TEST_F(description_test, errors_in_keys) {
  EXPECT_EQ(error_of("node0:\n  hca:\n    mrc_cache: {wyas: 8}\n"),
            "bad.yaml:3:23: node0.hca.mrc_cache.wyas: unknown key 'wyas'; did you mean 'ways'?");
  EXPECT_EQ(error_of("node0:\n  hac: {depth: 3 cycles}\n"), "bad.yaml:2:3: node0.hac: unknown key 'hac'; did you mean 'hca'?");
  EXPECT_EQ(error_of("hca: {depth: 3 cycles}\n"), "bad.yaml:1:1: hca: unknown key 'hca'; did you mean 'node*.hca'?");
  EXPECT_EQ(error_of("rate: 1 Gb/s\n"), "bad.yaml:1:7: rate: unknown key 'rate'; did you mean 'link.rate'?");
  EXPECT_EQ(error_of("node7.pcie.latency: 1 ns\n"), "bad.yaml:1:21: node7: unknown key 'node7'; did you mean 'nodes'?");
  EXPECT_EQ(error_of("link: {zzzzzzzz: 1}\n"),
            "bad.yaml:1:18: link.zzzzzzzz: unknown key 'zzzzzzzz'; keys here are: rate, loss, comment");
  EXPECT_EQ(
      error_of("node0.hca: 5\n"),
      "bad.yaml:1:12: node0.hca: a group of settings is expected here, not the value '5'; set one of mrc_cache, qpc_cache, "
      "clock, depth");
  EXPECT_EQ(error_of("link:\n  rate:\n    speed: 5\n"),
            "bad.yaml:2:3: link.rate: one value is expected here, not a group of settings; write for example 'rate: 100 Gb/s'");
  EXPECT_EQ(error_of("link: {loss: 0.1}\nlink: {rate: 1 Gb/s}\n"),
            "bad.yaml:2:1: link: this key was given before, at line 1; remove one of them");
  EXPECT_EQ(error_of("link.loss: 0.1\nlink: {loss: 0.2}\n"),
            "bad.yaml:2:8: link.loss: this key was given before, at line 1; remove one of them");
  EXPECT_EQ(error_of("link:\n  loss:\n"),
            "bad.yaml:2:3: link.loss: the key has no value; write one behind the colon or remove the key");
  EXPECT_EQ(error_of("link:\n  loss: [1, 2]\n"), "bad.yaml:2:9: link.loss: a list is not expected here; write one value");
  EXPECT_EQ(error_of("? {a: b}\n: 1\n"), "bad.yaml:1:3: a key must be a name; write 'name: value'");
  EXPECT_EQ(error_of("preset: {a: b}\n"), "bad.yaml:1:1: preset: one value is expected here, not a group of settings");
}

TEST_F(description_test, errors_in_yaml) {
  EXPECT_EQ(
      error_of("link:\n  rate: 1 Gb/s\n loss: 0.1\n"),
      "bad.yaml:3:2: this is not well-formed YAML (end of map not found); check indentation (spaces, no tabs), colons and "
      "quotes here");
  EXPECT_EQ(error_of("link: {loss: 0.1\nnodes: 2\n").substr(0, 43), "bad.yaml:2:6: this is not well-formed YAML ");
  EXPECT_EQ(error_of("link:\n\tloss: 0.1\n").substr(0, 43), "bad.yaml:2:6: this is not well-formed YAML ");
  EXPECT_EQ(error_of("- a\n- b\n"), "bad.yaml:1:1: a description is made of 'name: value' lines");
  EXPECT_EQ(error_of("just text"), "bad.yaml:1:1: a description is made of 'name: value' lines");
  EXPECT_EQ(error_of("nodes: 2\n---\nnodes: 3\n"),
            "bad.yaml:3:1: a second document begins here; a description is one document");
  EXPECT_EQ(error_of(""), "no error");
  EXPECT_EQ(error_of("# nothing\n"), "no error");
  EXPECT_NE(error_of("a: &a {b: *a}\n").find("remove the aliases"), std::string::npos);
  std::string bomb = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 20; ++i) bomb += fmt::format("a{0}: &a{0} {{p: *a{1}, q: *a{1}, r: *a{1}}}\n", i, i - 1);
  EXPECT_NE(error_of(bomb).find("nested too deeply or too large"), std::string::npos);
  std::string merged = "a0: &a0 {x: 1}\n";
  for (int i = 1; i < 150; ++i) {
    std::string all;
    for (int j = 0; j < i; ++j) all += fmt::format("{}*a{}", j ? ", " : "", j);
    merged += fmt::format("a{0}: &a{0} {{<<: [{1}], k{0}: 1}}\n", i, all);
  }
  EXPECT_NE(error_of(merged).find("merge keys make the description too large"), std::string::npos);
  EXPECT_NE(error_of(std::string(20'000, '[')).find("bad.yaml"), std::string::npos);
}

TEST_F(description_test, merge_keys) {
  const machine_config c = read(R"(
node0:
  pcie: &base {latency: 350 ns, enabled: false}
node1:
  pcie: {<<: *base, latency: 10 ns}
)");
  EXPECT_EQ(c.nodes[1].latency, 10_ns) << "the mapping's own key";
  EXPECT_FALSE(c.nodes[1].enabled) << "the merged one";
  EXPECT_EQ(c.nodes[0].latency, 350_ns);
}

TEST_F(description_test, merge_keys_of_several_mappings_and_within_one_another) {
  const machine_config c = read(R"(
node0.hca: &a
  mrc_cache: &small {ways: 2}
  depth: 3 cycles
node1.hca:
  <<: [{depth: 5 cycles}, *a]
  qpc_cache: {ways: 16, <<: *small, size: 1 MiB}
)");
  EXPECT_EQ(c.nodes[1].depth, 5) << "the first of the list";
  EXPECT_EQ(c.nodes[1].mrc_cache.ways, 2U);
  EXPECT_EQ(c.nodes[1].qpc_cache.ways, 16U);
  EXPECT_EQ(error_of("link: {<<: 5}\n"), "bad.yaml:1:12: <<: a mapping is expected here (*name), or a list of them");
  EXPECT_EQ(error_of("link: {<<: [{loss: 0}, 5]}\n"), "bad.yaml:1:24: <<: a mapping is expected here (*name)");
  EXPECT_EQ(error_of("link:\n  <<: {loss: 0}\n  <<: {loss: 1}\n"),
            "bad.yaml:3:3: <<: this key was given before; write one with a list: <<: [*a, *b]");
  EXPECT_EQ(error_of("node0: {pcie: &a {latnecy: 1 ns}}\nnode1: {pcie: {<<: *a}}\n"),
            "bad.yaml:1:28: node0.pcie.latnecy: unknown key 'latnecy'; did you mean 'latency'?");
}

// Forms of YAML in users' files: each is read, or named with its place.
TEST_F(description_test, forms_of_yaml) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"\xef\xbb\xbfnodes: 2\n", "no error"},
      {"nodes: 2\r\nlink: {loss: 0.5}\r\n", "no error"},
      {"%YAML 1.2\n---\nnodes: 0x2\n...\n", "no error"},
      {"nodes: !!int 2\nlink: {\"loss\": '0.5'}\n", "no error"},
      {"node0.hca.mrc_cache.ways: 1e1\n", "no error"},
      {"nodes: 02\n",
       "bad.yaml:1:8: nodes: '02' begins with a 0, as octal numbers do; write it in decimal, or a whole number in hexadecimal "
       "as "
       "0x1F"},
      {"nodes: 1_0\n",
       "bad.yaml:1:8: nodes: '1_0' has a '_' among its digits; write it in decimal, or a whole number in hexadecimal as 0x1F"},
      {"nodes: 2.\n", "bad.yaml:1:8: nodes: '2.' has a unit, but a count is a number alone; write for example 8"},
      {"nodes: ~\n", "bad.yaml:1:1: nodes: the key has no value; write one behind the colon or remove the key"},
      {"nodes: *none\n",
       "bad.yaml:1:8: this is not well-formed YAML (the referenced anchor is not defined); check indentation "
       "(spaces, no tabs), colons and quotes here"},
      {"node0.pcie.enabled: on\n", "bad.yaml:1:21: node0.pcie.enabled: 'on' is not a flag; write true or false"},
      {"node0.pcie.enabled: True\n", "bad.yaml:1:21: node0.pcie.enabled: 'True' is not a flag; write true or false"},
      {"link.loss: .5\n", "no error"},
      {"link.loss: .inf\n", "bad.yaml:1:12: link.loss: '.inf' is not a number; a ratio is written like '0.01'"}};
  for (const auto& c : cases) {
    std::string error = error_of(c.text);
    constexpr std::string_view by_name = ": none)";  // yaml-cpp 0.8 names the anchor
    if (const std::size_t at = error.find(by_name); at != std::string::npos) error.replace(at, by_name.size(), ")");
    EXPECT_EQ(error, c.message) << c.text;
  }
}

TEST_F(description_test, errors_in_files_and_presets) {
  file("card.yaml", "hca:\n  dept: 3 cycles\n");
  file("loop.yaml", "include: loop.yaml\n");
  const std::string in = folder_.string();
  EXPECT_EQ(error_of("preset: card\n"), in + "/card.yaml:2:9: node0.hca.dept: unknown key 'dept'; did you mean 'depth'?");
  EXPECT_EQ(error_of("preset: crad\n"), "bad.yaml:1:9: preset: there is no preset 'crad'; did you mean 'card'?");
  EXPECT_EQ(error_of("preset: x/card.yaml\n"), "bad.yaml:1:9: preset: there is no file 'x/card.yaml'; check the path");
  EXPECT_EQ(error_of("node5.preset: card\n"), "bad.yaml:1:15: node5: unknown key 'node5'; did you mean 'nodes'?");
  EXPECT_EQ(error_of("include: nothing\n"),
            "bad.yaml:1:10: include: there is no system 'nothing'; known names are: card, loop");
  EXPECT_NE(error_of("include: " + in + "/loop.yaml\n").find("include each other in a circle"), std::string::npos);

  const auto file_error = [&](const fs::path& p) {
    description d({{folder_}});
    try {
      d.read_file(p);
    } catch (const description_error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(file_error("/no/such.yaml"),
            "/no/such.yaml: cannot read '/no/such.yaml': No such file or directory; check the path and its permissions");
  EXPECT_EQ(file_error(folder_), in + ": cannot read '" + in + "': it is a folder; name a YAML file");
  std::ofstream(folder_ / "binary.yaml", std::ios::binary).write("a\0b", 3);
  EXPECT_NE(file_error(folder_ / "binary.yaml").find("it is not a text file"), std::string::npos);
  std::ofstream(folder_ / "wide.yaml", std::ios::binary).write("\xff\xfen\0", 4);
  file("control.yaml", "nodes: 2\n\x01link: 5\n");
  EXPECT_NE(file_error(folder_ / "control.yaml").find("line 2 has the byte 0x01; text holds none: remove it"),
            std::string::npos);
  EXPECT_NE(file_error(folder_ / "wide.yaml").find("it is UTF-16; save it as UTF-8"), std::string::npos);
}

TEST_F(description_test, errors_on_the_command_line) {
  EXPECT_EQ(error_of_set("node0.hca.mrc_cache.wyas=8"),
            "--set node0.hca.mrc_cache.wyas=8: node0.hca.mrc_cache.wyas: unknown key 'wyas'; did you mean 'ways'?");
  EXPECT_EQ(error_of_set("node*.hca.mrc_cache.ways=0"),
            "--set node*.hca.mrc_cache.ways=0: node0.hca.mrc_cache.ways: 0 is out of range; allowed is 1 to 64");
  EXPECT_EQ(error_of_set("link.loss"), "--set link.loss: this is not a setting; write --set NAME=VALUE");
  EXPECT_EQ(error_of_set("=5"), "--set =5: this is not a setting; write --set NAME=VALUE");
  EXPECT_EQ(error_of_set("link.rate.speed=5"),
            "--set link.rate.speed=5: link.rate: one value is expected here, not a group of settings");
  EXPECT_EQ(error_of_set("..=5"), "--set ..=5: unknown key ''; keys here are: nodes, node0, node1, link");
}

TEST_F(description_test, resolved_description_reads_back_to_the_same_values) {
  rc::check("yaml and json", [this] {
    machine m;
    m.config.node_count = *rc::gen::inRange<std::uint32_t>(1, 9);
    m.tree.rebuild();
    for (auto& n : m.config.nodes) {
      n.mrc_cache.ways = *rc::gen::inRange<std::uint32_t>(1, 65);
      n.mrc_cache.size = *rc::gen::inRange<std::uint64_t>(64, 1_GiB + 1);
      n.mrc_cache.policy = static_cast<cache_config::policy_kind>(*rc::gen::inRange(0, 3));
      n.latency = ps(*rc::gen::inRange<std::int64_t>(0, 1'000'000'001));
      n.depth = static_cast<double>(*rc::gen::inRange(1000, 100'001)) / 1000;
      n.clock.hertz = static_cast<double>(*rc::gen::inRange<std::int64_t>(1'000'000, 2'000'000'000)) / 7 + 1e6;
      n.enabled = *rc::gen::arbitrary<bool>();
    }
    m.config.rate.bits_per_second = static_cast<double>(*rc::gen::inRange<std::int64_t>(3'000'000'000, 400'000'000'000)) / 3;
    m.config.loss = 1.0 / *rc::gen::inRange(1, 1000);
    m.config.comment = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '\x7f'));
    for (const bool json : {false, true}) {
      const std::string text = json ? resolved_json(m.tree).dump() : resolved_yaml(m.tree, "reads", 9, "0.0");
      description d({{folder_}});
      d.read_text(text, "resolved.yaml");
      machine back;
      d.apply(back.tree);
      RC_ASSERT(back.tree.leaves().size() == m.tree.leaves().size());
      RC_ASSERT(resolved_json(back.tree) == resolved_json(m.tree));
      RC_ASSERT(back.config.nodes.back().latency == m.config.nodes.back().latency);
      RC_ASSERT(back.config.nodes.back().clock == m.config.nodes.back().clock);
      RC_ASSERT(back.config.nodes.back().depth == m.config.nodes.back().depth);
      RC_ASSERT(back.config.rate == m.config.rate);
      RC_ASSERT(back.config.comment == m.config.comment);
      if (!json) RC_ASSERT(d.seed() == 9U);
    }
  });
}

TEST_F(description_test, two_knobs_of_one_name_are_a_programming_error) {
  std::uint32_t v = 0;
  EXPECT_THROW(knob_tree([&](knob_visitor& k) {
                 k.count("ways", v, 0, 1, "");
                 k.count("ways", v, 0, 1, "");
               }),
               std::logic_error);
}

}  // namespace
}  // namespace hcasim
