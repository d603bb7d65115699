// Designs by name and by shared object, and the messages for unknown ones.
#include "tlm/rtl/registry.h"
#include "tlm/rtl/unit_object.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

namespace fs = std::filesystem;

const std::string objects = HCASIM_UNIT_OBJECTS;

chosen adder(const std::string& which, const rtl_knobs& how = {}, const std::vector<std::string>& knobs = {"depth=2"}) {
  return choose("adder", "node0.adder", {which}, how, nullptr, knobs);
}

std::string refusal(const std::string& which, const rtl_knobs& how = {}, const std::vector<std::string>& knobs = {"depth=2"}) {
  try {
    adder(which, how, knobs);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing is refused";
}

class adder_shell : public shell {
 public:
  adder_shell(const char* name, const chosen& c)
      : shell(name, clock_domain(frequency{1e9}), c.make, c.options), in_(into("in", 8)), out_(out_of("out", 8)) {
    out_.on_transfer = [this](const payload& p, std::uint64_t, ps) {
      owe(-1);
      answers.push_back(p.get(0, 8));
    };
  }
  void ask(unsigned n) {
    payload p;
    writer(p).put(n, 8);
    owe(1);
    push(in_, p, now());
  }
  std::vector<std::uint64_t> answers;

 private:
  stream &in_, &out_;
};

TEST(registry, a_shared_object_serves_several_units_at_once) {
  const chosen c = adder(objects + "/libadder_good.so");
  rtl_knobs stalled;
  stalled.stall = 0.5;
  adder_shell first("first", c), second("second", adder(objects + "/libadder_good.so", stalled));
  for (unsigned i = 0; i < 50; ++i) {
    first.ask(i);
    second.ask(100 + i);
  }
  testing::run_until_idle();
  ASSERT_EQ(first.answers.size(), 50U);
  ASSERT_EQ(second.answers.size(), 50U);
  for (unsigned i = 0; i < 50; ++i) {
    EXPECT_EQ(first.answers[i], i + 1);
    EXPECT_EQ(second.answers[i], 101 + i);
  }
  EXPECT_GT(second.cycles(), first.cycles());
}

TEST(registry, a_relative_path_is_of_the_folder_that_one_stands_in) {
  fs::current_path(objects);
  EXPECT_NE(adder("./libadder_good.so").make, nullptr);
  EXPECT_NE(refusal("./none.so").find("./none.so is not there (" + objects + "/none.so)"), std::string::npos);
  EXPECT_EQ(adder("libadder_good.so").make, adder("./libadder_good.so").make);
}

TEST(registry, a_file_without_a_unit_is_refused_by_name) {
  const auto says = [](const std::string& object, const std::string& what) {
    const std::string file = objects + "/libadder_" + object + ".so";
    const std::string why = refusal(file);
    EXPECT_EQ(why.rfind("node0.adder.implementation: " + file, 0), 0U) << why;
    EXPECT_NE(why.find(what), std::string::npos) << why;
  };
  says("missing", " is not there");
  says("no_symbol", " exports no hcasim_unit; build it with hca_add_unit");
  says("nothing", ": hcasim_unit gives nothing");
  constexpr std::uint32_t version = unit_object::this_version;
  says("version", " was made for version " + std::to_string(version + 1) + " of the interface, this program has " +
                      std::to_string(version));
  says("layout", " was compiled with other headers than this program");
  says("no_design", " gives no design");
  says("undefined", " does not stand alone: ");
  says("undefined", "that_is_not_there");
  EXPECT_NE(refusal(objects + "/").find(" is not a file; name a shared object"), std::string::npos);
  const std::string text = ::testing::TempDir() + "text" + std::to_string(::getpid()) + ".so";
  for (const char* content : {"", "no shared object\n",
                              "\x7f"
                              "ELF"}) {
    std::ofstream(text) << content;
    EXPECT_NE(refusal(text).find(" is not a shared object that can be loaded: "), std::string::npos) << refusal(text);
  }
  fs::remove(text);
}

TEST(registry, a_unit_of_another_kind_or_another_configuration_is_refused) {
  const std::string good = objects + "/libadder_good.so";
  try {
    choose("key_check", "node1.key_check", {good}, {}, nullptr, {});
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(" holds a unit of kind adder, one of kind key_check is needed here"),
              std::string::npos);
  }
  EXPECT_NE(refusal(good, {}, {"depth=3", "width=1"}).find(" refuses the configuration: depth 3 is more than it has"),
            std::string::npos);
  rtl_knobs trace, coverage;
  trace.trace = coverage.coverage = ::testing::TempDir();
  EXPECT_NE(refusal(good, trace).find("node0.adder.rtl.trace: its design was built without waveforms"), std::string::npos);
  EXPECT_NE(refusal(good, coverage).find("node0.adder.rtl.coverage: its design was built without coverage"), std::string::npos);
  try {
    static const whole_unit_of one([] {});
    static const registered whole("whole", "one", one);
    EXPECT_NE(choose_any("whole", "node0.whole", {"one"}, {}, nullptr, {}).whole, nullptr);
    choose("whole", "node0.whole", {"one"}, {}, nullptr, {});
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("one brings sockets of its own; a design is needed here"), std::string::npos);
  }
}

TEST(registry, names_are_found_by_kind) {
  static const registered one("adder", "mine", adder(objects + "/libadder_good.so").make);
  EXPECT_EQ(names_of("adder"), (std::vector<std::string_view>{"model", "rtl", "mine"}));
  EXPECT_EQ(names_of("other", {"none"}), std::vector<std::string_view>{"none"});
  EXPECT_NE(adder("mine").make, nullptr);
  EXPECT_EQ(refusal("your"), "node0.adder.implementation: your is none of mine, or the path of a shared object");
  EXPECT_THROW(registered("adder", "mine", design_factory(nullptr)), std::logic_error);
}

TEST(registry, knobs_are_told_as_they_are) {
  struct inner {
    bool on = true;
    double share = 0.25;
    void knobs(knob_visitor& k) {
      k.flag("on", on, "");
      k.ratio("share", share, 0, 1, "");
    }
  };
  struct outer {
    std::uint32_t ways = 8;
    double depth = 6;
    ps time{1500};
    inner in;
    std::string folder = "here";
    void knobs(knob_visitor& k) {
      k.count("ways", ways, 1, 9, "");
      k.group("in", in, "");
      k.cycles("depth", depth, 0, 9, "");
      k.time("time", time, 0_ps, never, "");
      k.text("folder", folder, "");
    }
  };
  EXPECT_EQ(knobs_of(outer()),
            (std::vector<std::string>{"ways=8", "in.on=true", "in.share=0.25", "depth=6", "time=1500", "folder=here"}));
}

}  // namespace
}  // namespace hcasim::rtl
