// Each row of the table of docs/faults.md is run: the faults of its kind must end as the row says. Further tests: the view of a
// program whose device fails.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "models/system/fault_catalogue.h"
#include "models/system/faulty_units.h"
#include "testbenches/kit/world.h"
#include "testbenches/program/places/places.h"
#include "testbenches/scenarios/faults/breaker.h"
#include "testbenches/scenarios/faults/campaign.h"
#include "testbenches/scenarios/faults/recovery.h"

namespace hcasim::faults {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

struct row {
  std::string where;
  std::string what;

  friend std::ostream& operator<<(std::ostream& to, const row& r) { return to << r.where << ' ' << r.what; }
};

// Each kind once: a kind of several places is one row.
std::vector<row> rows() {
  std::vector<row> all;
  for (const fault_place& place : fault_catalogue()) {
    for (const fault_kind& k : place.kinds) {
      const auto known = [&](const row& r) { return r.what == k.name; };
      if (std::none_of(all.begin(), all.end(), known)) all.push_back({std::string(place.where), std::string(k.name)});
    }
  }
  return all;
}

// The outcomes that the page allows: the last cell of the kind's line.
std::string documented(const std::string& what) {
  std::ifstream page(std::string(places::source) + "/docs/faults.md");
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `") || line.find("`" + what + "`") == std::string::npos) continue;
    const std::size_t end = line.rfind('|');
    const std::size_t begin = line.rfind('|', end - 1);
    return line.substr(begin + 1, end - begin - 1);
  }
  return {};
}

class fault_table : public ::testing::TestWithParam<row> {};

TEST_P(fault_table, ends_as_documented) {
  const std::string allowed = documented(GetParam().what);
  ASSERT_FALSE(allowed.empty()) << "docs/faults.md has no row of " << GetParam().what;
  system_config config;
  watch_closely(config);
  for (node_config& n : config.nodes) n.hca.icm.check = icm_check::secded;
  config.nodes[0].hca.qpc_cache.sets = config.nodes[1].hca.qpc_cache.sets = 1;
  config.nodes[0].hca.qpc_cache.ways = config.nodes[1].hca.qpc_cache.ways = 1;
  world w(config);
  campaign_options o;
  o.faults = 12;
  o.what = GetParam().what;
  campaign_outcome out;
  start_campaign(w.sys(), o, 1, out);
  run_simulation();
  EXPECT_EQ(out.problem, "");
  EXPECT_TRUE(out.stream.over);
  ASSERT_EQ(out.trials.size(), 12U);
  for (const trial& t : out.trials) {
    const std::string became = outcome_names[static_cast<std::size_t>(t.became)];
    EXPECT_NE(allowed.find(became), std::string::npos) << t.place << " " << t.what << " ended as " << became << " " << t.how;
  }
  recovery_outcome end;
  judge_recovery(w.sys(), end);
  for (const std::string& what : end.left) ADD_FAILURE() << what;
}

INSTANTIATE_TEST_SUITE_P(docs, fault_table, ::testing::ValuesIn(rows()),
                         [](const ::testing::TestParamInfo<row>& r) { return r.param.what; });

// Corrected and merely repeated work costs no request and no device, whatever else breaks before and after.
class mixed_campaign : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(mixed_campaign, a_corrected_fault_costs_no_request) {
  static const std::set<std::string> put_right{"icm_bit",        "cell_bit",       "tag_bit",           "receiver_error",
                                               "replay_timeout", "lost_interrupt", "repeated_interrupt"};
  system_config config;
  watch_closely(config);
  for (node_config& n : config.nodes) {
    n.hca.icm.check = icm_check::secded;
    n.hca.qpc_cache.sets = n.hca.qpc_cache.ways = n.hca.mrc_cache.sets = n.hca.mrc_cache.ways = 1;
  }
  world w(config);
  campaign_options o;
  o.faults = 150;
  campaign_outcome out;
  start_campaign(w.sys(), o, GetParam(), out);
  run_simulation();
  EXPECT_EQ(out.problem, "");
  std::uint32_t mended = 0;
  for (std::size_t i = 0; i < out.trials.size(); ++i) {
    const trial& t = out.trials[i];
    if (!put_right.contains(t.what)) continue;
    const bool nothing = t.became == outcome::masked || t.became == outcome::corrected;
    EXPECT_TRUE(nothing) << "fault " << i + 1 << ", " << t.place << " " << t.what << ", ended as "
                         << outcome_names[static_cast<std::size_t>(t.became)] << " " << t.how;
    mended += t.became == outcome::corrected ? 1U : 0U;
  }
  EXPECT_GT(mended, 10U);
}

INSTANTIATE_TEST_SUITE_P(seeds, mixed_campaign, ::testing::Values(1, 2, 3));

// The list of the program is that of a system.
TEST(fault_table, the_catalogue_is_complete_and_true) {
  system_config config;
  config.nodes.resize(1);
  config.nodes[0].iommu.enabled = config.nodes[0].hca.atc.enabled = true;
  world w(config);
  std::set<std::string> there;
  for (const auto& [place, unit] : faulty_units(w.sys())) {
    for (const fault_kind& k : unit->fault_kinds())
      there.insert(std::regex_replace(place, std::regex("^(node|link)[0-9]+"), "$1*") + " " + std::string(k.name));
  }
  std::set<std::string> listed;
  for (const fault_place& place : fault_catalogue()) {
    for (const fault_kind& k : place.kinds) listed.insert(std::string(place.where) + " " + std::string(k.name));
  }
  EXPECT_EQ(there, listed);
}

// A fault of the next operations tells how many are still to come. Lost credits are gone at once.
TEST(fault_table, each_fault_that_waits_tells_how_long) {
  system_config config;
  config.nodes.resize(1);
  config.nodes[0].iommu.enabled = config.nodes[0].hca.atc.enabled = true;
  world w(config);
  int waiting = 0;
  for (const auto& [place, unit] : faulty_units(w.sys())) {
    const auto kinds = unit->fault_kinds();
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const bool waits = kinds[k].text.find("next `count`") != std::string_view::npos && kinds[k].name != "credit_loss";
      if (!waits) continue;
      ++waiting;
      const std::string which = place + " " + std::string(kinds[k].name);
      EXPECT_EQ(unit->to_come(k), 0U) << which;
      unit->inject(k, {.count = 3});
      unit->inject(k, {.count = 4});
      EXPECT_EQ(unit->to_come(k), 7U) << which;
      unit->withdraw();
      EXPECT_EQ(unit->to_come(k), 0U) << which;
    }
  }
  EXPECT_GT(waiting, 30);
}

class recovery_seeds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(recovery_seeds, streams_on_each_time) {
  system_config config;
  watch_closely(config);
  config.seed = GetParam();
  world w(config);
  recovery_options o;
  o.failures = 25;
  recovery_outcome out;
  start_recovery(w.sys(), o, GetParam(), out);
  run_simulation();
  judge_recovery(w.sys(), out);
  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.broken, 25U);
  EXPECT_EQ(out.streamed_on, 25U);
  EXPECT_TRUE(out.stream.over);
  EXPECT_EQ(out.stream.wrong + out.stream.silent + out.stream.unclosed, 0U);
  EXPECT_GE(out.stream.fatal, 20U);
  for (const std::string& what : out.left) ADD_FAILURE() << what;
}

INSTANTIATE_TEST_SUITE_P(seeds, recovery_seeds, ::testing::Values(1, 2, 3));

// Breaks the only node's device by its function reset, and waits until the driver has noticed.
void break_device(cpu& c, node& n) {
  const auto units = faulty_units(n);
  const auto pcie = std::find_if(units.begin(), units.end(), [](const auto& u) { return u.first == "pcie"; });
  ASSERT_NE(pcie, units.end());
  const std::uint64_t before = n.device().counters().failures.value();
  for (std::size_t k = 0; k < pcie_fault_kinds.size(); ++k) {
    if (pcie_fault_kinds[k].name == "function_reset") pcie->second->inject(k, {});
  }
  while (n.device().counters().failures.value() == before) {
    c.spend(1_us);
    c.sync();
  }
}

TEST(coming_back, a_program_gets_errors_and_an_event) {
  system_config config;
  watch_closely(config);
  config.nodes.resize(1);
  world w(config);
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    const region r = p.allocate(8192);
    ibv_qp* const qp = p.create_qp();
    ASSERT_EQ(p.connect(qp, p.address_of(qp)), 0);
    ASSERT_EQ(post_receive(c, qp, 7, {{r.addr, 64, r.mr->lkey}}), 0);
    // The device is gone before these have an answer.
    break_device(c, n);
    ibv_async_event e{};
    ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
    EXPECT_EQ(e.event_type, IBV_EVENT_DEVICE_FATAL);
    ibv_ack_async_event(&e);
    EXPECT_EQ(ibv_get_async_event(c, p.context, &e), EIO) << "nothing more will come";
    EXPECT_EQ(post(c, qp, {.id = 9, .sges = {{r.addr, 64, r.mr->lkey}}, .remote = r.addr, .rkey = r.mr->rkey}), EIO);
    EXPECT_EQ(ibv_reg_mr(c, p.pd, r.addr, 4096, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(ibv_alloc_pd(c, p.context), nullptr);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(p.reset(qp), EIO);
    ASSERT_EQ(n.device().open(c), 0) << "waits until it is up again";
    const auto flushed = next_completion(c, p.cq, 1_ms);
    ASSERT_TRUE(flushed.has_value());
    EXPECT_EQ(flushed->wr_id, 7U);
    EXPECT_EQ(flushed->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_FALSE(next_completion(c, p.cq, 10_us).has_value());
    {  // beside the lost context a new one works, with numbers that the lost one has, too
      process_context fresh(c, n);
      const region mine = fresh.allocate(8192);
      ibv_qp* const again = fresh.create_qp();
      ASSERT_EQ(fresh.connect(again, fresh.address_of(again)), 0);
      EXPECT_EQ(again->qp_num, qp->qp_num);
      fresh.fill(mine.addr, 64, 3);
      EXPECT_EQ(complete(c, again,
                         {.id = 1, .sges = {{mine.addr, 64, mine.mr->lkey}}, .remote = mine.addr + 4096, .rkey = mine.mr->rkey})
                    .status,
                IBV_WC_SUCCESS);
      EXPECT_EQ(fresh.bytes(mine.addr + 4096, 64), fresh.bytes(mine.addr, 64));
      EXPECT_TRUE(p.close()) << "what is lost can be given back";
      EXPECT_EQ(p.memory.pinned_bytes(), 0U);
      EXPECT_EQ(complete(c, again,
                         {.id = 2, .sges = {{mine.addr, 64, mine.mr->lkey}}, .remote = mine.addr + 4096, .rkey = mine.mr->rkey})
                    .status,
                IBV_WC_SUCCESS)
          << "and takes nothing of others with it";
      EXPECT_TRUE(fresh.close());
    }
  }}));
}

// A key of an earlier life reaches nothing, though the adapter's tables lie where they lay.
TEST(coming_back, old_keys_are_gone) {
  system_config config;
  watch_closely(config);
  config.nodes.resize(1);
  world w(config);
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    const region before = p.allocate(4096);
    const region old = p.allocate(4096);
    ASSERT_NE(before.mr->rkey, old.mr->rkey);
    break_device(c, n);
    ASSERT_EQ(n.device().open(c), 0);
    process_context fresh(c, n);
    ibv_qp* const a = fresh.create_qp();
    ibv_qp* const b = fresh.create_qp();
    ASSERT_EQ(fresh.connect(a, fresh.address_of(b)), 0);
    ASSERT_EQ(fresh.connect(b, fresh.address_of(a)), 0);
    const region mine = fresh.allocate(4096);  // may have the key of `before`, but not of `old`
    ASSERT_NE(mine.mr->rkey, old.mr->rkey);
    const request r{.id = 1, .sges = {{mine.addr, 64, mine.mr->lkey}}, .remote = old.addr, .rkey = old.mr->rkey};
    EXPECT_EQ(complete(c, a, r).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(fresh.close());
    EXPECT_TRUE(p.close());
  }}));
}

TEST(coming_back, port_events) {
  world w(world::two_nodes());
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
                       process_context p(c, n);
                       auto& cable = dynamic_cast<faulty&>(*sc_core::sc_find_object("system.link0"));
                       cable.inject(0, {.count = 1, .length = 30_us});
                       ibv_async_event e{};
                       ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
                       EXPECT_EQ(e.event_type, IBV_EVENT_PORT_ERR);
                       ibv_port_attr attr{};
                       EXPECT_EQ(ibv_query_port(c, p.context, 1, &attr), 0);
                       EXPECT_EQ(attr.state, IBV_PORT_DOWN);
                       const ps down = c.time();
                       ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
                       EXPECT_EQ(e.event_type, IBV_EVENT_PORT_ACTIVE);
                       EXPECT_GE(c.time() - down, 20_us);
                       EXPECT_EQ(ibv_query_port(c, p.context, 1, &attr), 0);
                       EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
                     },
                     [](cpu&, node&) {}}));
}

}  // namespace
}  // namespace hcasim::faults
