// Runs that stand still end, and report what waits for what; seemingly still runs go on.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <regex>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/program/command_line/system_platform.h"
#include "testbenches/program/execution/execute.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"
#include "tlm/base/event_alarm.h"

namespace hcasim::kit {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// One program on each node; a failure if one does not come to its end.
class scene final : public testbench {
 public:
  explicit scene(std::vector<program> programs) : programs_(std::move(programs)) {}

  [[nodiscard]] std::string_view name() const override { return "scene"; }
  [[nodiscard]] std::string_view summary() const override { return "of a test"; }
  void run(run_context& context) override {
    system& s = context.build();
    std::size_t ended = 0;
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      start_program(s, i, "program", [&ended, p = programs_[i]](cpu& c, node& n) {
        p(c, n);
        ++ended;
      });
    }
    context.start();
    context.check(ended == programs_.size(), "a program did not come to its end");
  }

 private:
  std::vector<program> programs_;
};

// Returns all failures in one text.
std::string play(const system_config& config, std::vector<program> programs) {
  scene bench(std::move(programs));
  const auto machine = make_system_platform();
  *machine->config() = config;
  run_context context(*machine, 1, "");
  run_guarded(bench, context);
  std::string text;
  for (const std::string& f : context.result().failures()) text += f + "\n";
  return text;
}

// Two connected QPs; `first` runs on node 0, `second` on node 1.
struct pair_of_programs {
  using body = std::function<void(process_context&, ibv_qp*)>;
  out_of_band<address> to[2];
  qp_options options;

  std::vector<program> programs(body first, body second) {
    const auto one = [this](std::size_t i, body does) {
      return [this, i, does = std::move(does)](cpu& c, node& n) {
        process_context p(c, n);
        ibv_qp* qp = p.create_qp(options);
        to[1 - i].send(c, p.address_of(qp, options));
        ASSERT_EQ(p.connect(qp, to[i].receive(c), options), 0);
        does(p, qp);
      };
    };
    return {one(0, std::move(first)), one(1, std::move(second))};
  }
  // Sleeps for ever, its QP stays.
  void stay(process_context& p, ibv_qp*) { (void)to[p.n.device().info().port_lid - 1].receive(p.c); }
  body staying() {
    return [this](process_context& p, ibv_qp* qp) { stay(p, qp); };
  }
};

request a_send(process_context& p) {
  const region r = p.allocate(64);
  return {.opcode = IBV_WR_SEND, .sges = {{r.addr, 64, r.mr->lkey}}};
}

system_config two_nodes(ps limit) {
  system_config c;
  c.nodes.resize(2);
  c.stall_limit = limit;
  return c;
}

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  std::size_t at = 0;
  for (const char* w : words) {
    const std::size_t found = text.find(w, at);
    EXPECT_NE(found, std::string::npos) << w << " is not in, behind what comes before it:\n" << text;
    if (found != std::string::npos) at = found;
  }
}

// Words and their order; a figure is that of another day.
std::string without_figures(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, std::regex("[0-9.]+"), "N"), std::regex(" +"), " ");
}

// rnr_retry of 7: the SEND is retransmitted for ever.
TEST(stall, a_send_without_a_receive_ends_the_run_and_names_both_ends) {
  pair_of_programs both;
  const std::string why = play(two_nodes(5_ms), both.programs(
                                                    [](process_context& p, ibv_qp* qp) {
                                                      EXPECT_EQ(post(p.c, qp, a_send(p)), 0);
                                                      (void)next_completion(p.c, p.cq, never);
                                                    },
                                                    both.staying()));
  expect_words(why, {"the run was aborted: the run stands still", "work request", "SEND of 64 B", "what waits for what",
                     "1  work request (SEND of 64 B", "asked to come back", "at node0.hca.requester QP",
                     "2  receive (none is posted", "at node1.hca.responder QP", "which waits for node1.host"});
  EXPECT_LT(now(), 15_ms);  // soon after the limit
  EXPECT_GE(now(), 5_ms);
  // The text is the one that the documentation shows.
  const std::string page = file_content(fs::path(places::source) / "docs/running.md");
  const std::size_t begin = page.find("failed: the run was aborted: the run stands still");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(without_figures("failed: " + why.substr(0, why.size() - 1)),
            without_figures(page.substr(begin, page.find("```", begin) - begin)));
}

TEST(stall, a_receive_that_comes_late_but_in_time_is_no_stall) {
  pair_of_programs both;
  ibv_wc_status status = IBV_WC_GENERAL_ERR;
  const std::string why = play(two_nodes(5_ms), both.programs(
                                                    [&status, &both](process_context& p, ibv_qp* qp) {
                                                      status = complete(p.c, qp, a_send(p)).status;
                                                      both.to[1].send(p.c, {});
                                                    },
                                                    [&both](process_context& p, ibv_qp* qp) {
                                                      p.c.spend(3_ms);
                                                      const region r = p.allocate(64);
                                                      post_receive(p.c, qp, 1, {{r.addr, 64, r.mr->lkey}});
                                                      both.stay(p, qp);
                                                    }));
  EXPECT_EQ(why, "");
  EXPECT_EQ(status, IBV_WC_SUCCESS);
}

TEST(stall, software_that_sleeps_when_its_peer_has_given_up_is_not_ended) {
  pair_of_programs both;
  both.options.rnr_retry = 2;
  ibv_wc_status status = IBV_WC_SUCCESS;
  const std::string why =
      play(two_nodes(5_ms),
           both.programs([&status](process_context& p, ibv_qp* qp) { status = complete(p.c, qp, a_send(p)).status; },
                         [](process_context& p, ibv_qp*) {
                           p.c.spend(100_ms);
                           p.c.sync();
                         }));
  EXPECT_EQ(why, "");
  EXPECT_EQ(status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(stall, software_that_sleeps_is_not_ended) {
  pair_of_programs both;
  ibv_wc_status status = IBV_WC_GENERAL_ERR;
  const std::string why = play(two_nodes(1_ms), both.programs(
                                                    [&status](process_context& p, ibv_qp* qp) {
                                                      p.c.spend(100_ms);
                                                      p.c.sync();
                                                      status = complete(p.c, qp, {.sges = {}, .remote = 0, .rkey = 0}).status;
                                                    },
                                                    [](process_context& p, ibv_qp*) {
                                                      for (int i = 0; i < 200; ++i) {
                                                        p.c.spend(1_ms);
                                                        p.c.sync();
                                                      }
                                                    }));
  EXPECT_EQ(why, "");
  EXPECT_EQ(status, IBV_WC_SUCCESS);
}

// The packet is lost, and no timer retransmits it: software polling for the completion keeps the simulation going.
TEST(stall, software_that_polls_for_ever_is_ended) {
  pair_of_programs both;
  both.options.timeout = 0;
  system_config c = two_nodes(5_ms);
  c.link.loss = 1;
  const std::string why = play(c, both.programs(
                                      [](process_context& p, ibv_qp* qp) {
                                        EXPECT_EQ(post(p.c, qp, a_send(p)), 0);
                                        ibv_wc wc{};
                                        while (ibv_poll_cq(p.c, p.cq, 1, &wc) == 0) {
                                          p.c.spend(1_us);
                                          p.c.sync();
                                        }
                                      },
                                      both.staying()));
  expect_words(why,
               {"the run stands still", "SEND of 64 B", "at node0.hca.requester QP", "which waits for node1.hca.responder QP"});
}

TEST(stall, the_waiting_request_is_named_when_no_event_is_left) {
  pair_of_programs both;
  both.options.timeout = 0;
  system_config c = two_nodes(5_ms);
  c.link.loss = 1;
  const std::string why = play(c, both.programs(
                                      [](process_context& p, ibv_qp* qp) {
                                        EXPECT_EQ(post(p.c, qp, a_send(p)), 0);
                                        (void)next_completion(p.c, p.cq, never);
                                      },
                                      both.staying()));
  expect_words(why, {"a program did not come to its end", "nothing was left to do, but something waits", "work request",
                     "SEND of 64 B", "which waits for node1.hca.responder QP"});
}

// Errors that the driver and the transport find themselves come first.
TEST(stall, the_default_limit_hides_no_error_of_another) {
  const system_config usual;
  EXPECT_GT(usual.stall_limit, usual.nodes[0].driver.command_timeout);
  pair_of_programs both;
  system_config c = two_nodes(usual.stall_limit);
  c.link.loss = 1;
  ibv_wc_status status = IBV_WC_SUCCESS;
  const std::string why = play(c, both.programs(
                                      [&](process_context& p, ibv_qp* qp) {
                                        status = complete(p.c, qp, a_send(p)).status;
                                        both.to[1].send(p.c, {});
                                      },
                                      both.staying()));
  EXPECT_EQ(why, "");
  EXPECT_EQ(status, IBV_WC_RETRY_EXC_ERR);
}

// ---- events without progress

// A message that no receive waits for, asked for again every 10 us for ever. Returns the events of the run.
std::uint64_t end_of_storm(std::uint64_t limit) {
  pair_of_programs both;
  system_config c = two_nodes(never);
  c.stall_events = limit;
  const std::string why = play(c, both.programs(
                                      [](process_context& p, ibv_qp* qp) {
                                        EXPECT_EQ(post(p.c, qp, a_send(p)), 0);
                                        (void)next_completion(p.c, p.cq, never);
                                      },
                                      both.staying()));
  expect_words(why, {"the run was aborted: the run stands still", "work request", "SEND of 64 B", "asked to come back",
                     "what waits for what", "receive (none is posted", "which waits for node1.host"});
  return events_passed();
}

TEST(stall, a_storm_is_ended_by_the_number_of_its_events) {
  constexpr std::uint64_t limit = 40'000;
  const std::uint64_t events = end_of_storm(limit);
  EXPECT_GE(events, limit);
  EXPECT_LE(events, limit + limit / 2 + 20'000) << "besides those of the set-up";
}

// Within seconds of host time.
TEST(stall, a_storm_is_ended_by_the_default_limit) {
  if (!std::getenv("HCASIM_FULL")) GTEST_SKIP() << "with HCASIM_FULL=1";
  const auto begin = std::chrono::steady_clock::now();
  end_of_storm(system_config().stall_events);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

// A system of one node, with a SEND, a READ and a registration that each take far more events than the limit.
TEST(stall, parts_of_what_takes_long_are_progress) {
  system_config c;
  c.nodes.resize(1);
  c.stall_limit = never;
  c.stall_events = 4000;
  unsigned done = 0;
  const std::string why = play(c, {[&done](cpu& thread, node& n) {
                                 process_context p(thread, n);
                                 ibv_qp* const a = p.create_qp();
                                 ibv_qp* const b = p.create_qp();
                                 ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
                                 ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
                                 std::uint64_t begin = events_passed();
                                 const region large = p.allocate(512_MiB);
                                 EXPECT_GT(events_passed() - begin, 8000U) << "the registration is no test";
                                 ++done;
                                 for (const ibv_wr_opcode op : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
                                   begin = events_passed();
                                   const request r{.opcode = op,
                                                   .sges = {{large.addr, 4_MiB, large.mr->lkey}},
                                                   .remote = large.addr + 8_MiB,
                                                   .rkey = large.mr->rkey};
                                   EXPECT_EQ(complete(thread, a, r).status, IBV_WC_SUCCESS);
                                   EXPECT_GT(events_passed() - begin, 16000U) << "the message is no test";
                                   ++done;
                                 }
                               }});
  EXPECT_EQ(why, "");
  EXPECT_EQ(done, 3U);
}

// The driver's looks at the health of a device that stands are no progress. They come more often than the limit is long.
TEST(stall, looks_at_the_health_of_a_device_hide_no_stall) {
  pair_of_programs both;
  both.options.rnr_timer = 0;  // 655.36 ms
  const system_config usual;
  EXPECT_LT(usual.nodes[0].driver.health_period, usual.stall_limit);
  const std::string why = play(two_nodes(usual.stall_limit), both.programs(
                                                                 [](process_context& p, ibv_qp* qp) {
                                                                   EXPECT_EQ(post(p.c, qp, a_send(p)), 0);
                                                                   (void)next_completion(p.c, p.cq, 60000_ms);
                                                                   ADD_FAILURE() << "the run goes on";
                                                                 },
                                                                 both.staying()));
  expect_words(why, {"the run stands still", "SEND of 64 B", "which waits for node1.host"});
  EXPECT_LT(now(), 30000_ms);
}

class stall_program : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
};

// A device that answers reads later than any program would wait.
const char* const slow_device =
    "run peer_direct --part paths --smallest 4KiB --largest 4KiB --bytes 64KiB --set node1.peer0.read_latency=1ms "
    "--set system.stall_limit=200us -o out ";

TEST_F(stall_program, a_device_that_answers_too_late_is_named) {
  for (const char* with : {"", "--set statistics.interval=20us "}) {
    const outcome o = hcasim(std::string(slow_device) + with + "--force");
    EXPECT_EQ(o.status, 1) << o.text;
    expect_words(o.text, {"FAILED", "the run stands still", "what waits for what", "work request (", "DMA read (payload",
                          "node1.hca.dma_engine", "PCIe read (", "node1.pcie device 0, which waits for node1.peer0"});
    const json r = json::parse(file_content("out/result.json"));
    EXPECT_EQ(r["passed"], false);
    EXPECT_NE(r["failures"][0].get<std::string>().find("what waits for what"), std::string::npos) << r["failures"].dump();
    EXPECT_GT(fs::file_size("out/waves.vcd"), 100'000U);  // up to there
    EXPECT_EQ(fs::exists("out/statistics.csv"), *with != '\0');
  }
}

TEST_F(stall_program, a_good_run_is_the_same_with_and_without) {
  for (const char* run : {"ping", "message_rate --messages 500", "key_storm --changes 40"}) {
    std::map<std::string, std::string> seen[2];
    for (const std::size_t i : {0U, 1U}) {
      const outcome o = hcasim(fmt::format("run {} -o out --force --set system.stall_limit={}", run, i == 0 ? "never" : "1ms"));
      ASSERT_EQ(o.status, 0) << o.text;
      for (const char* f : {"statistics.txt", "waves.vcd"}) seen[i][f] = file_content(fs::path("out") / f);
      json r = json::parse(file_content("out/result.json"));
      EXPECT_EQ(r["description"]["system"]["stall_limit"], i == 0 ? "never" : "1 ms");
      r.erase("description");
      seen[i]["result.json"] = r.dump();
    }
    for (const auto& [file, content] : seen[0]) EXPECT_TRUE(content == seen[1][file]) << run << ": " << file << " differs";
  }
}

TEST_F(stall_program, a_limit_that_is_none_is_refused) {
  const auto refused = [](const char* text, std::initializer_list<const char*> words) {
    std::ofstream("exp.yaml") << "testbench: ping\nsystem:\n  " << text << "\n";
    const outcome o = hcasim("run ./exp.yaml -o out");
    EXPECT_EQ(o.status, 2) << o.text;
    expect_words(o.text, words);
    EXPECT_FALSE(fs::exists("out"));
  };
  refused("stall_limit: 0 s", {"exp.yaml:3:16: system.stall_limit: 0 s is out of range; allowed is 1 ns to never"});
  refused("stall_limit: 0", {"exp.yaml:3:16: system.stall_limit: ", "a time is in ps, ns, us, ms or s"});
  refused("stall_limt: 1 s", {"exp.yaml:3:", "system.stall_limt: unknown key 'stall_limt'; did you mean 'stall_limit'?"});
}

}  // namespace
}  // namespace hcasim::kit
