// Choices of a device that the table does not name a row for, both ways.   [A4, A10, B.5, S4 - S6]
#include "firmware/abi/keys.h"
#include "testbenches/checks/conformance/space.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t nowhere = 0x10;  // no memory of any process

void with(const std::function<void(node_config&)>& set, const std::function<void(cpu&, node&)>& body) {
  system_config s = world::one_node();
  set(s.nodes[0]);
  run_case(body, s);
}

TEST(conformance, switch_rkey_zero_without_remote_rights) {
  with([](node_config& n) { n.driver.rkey_zero_without_remote_rights = true; },
       [](cpu& c, node& n) {
         base_case t(c, n);
         const region local = t.p.allocate(4096, IBV_ACCESS_LOCAL_WRITE);
         EXPECT_NE(local.mr->lkey, 0U);
         EXPECT_EQ(local.mr->rkey, 0U);
         EXPECT_EQ(t.there.mr->rkey, t.there.mr->lkey);
         EXPECT_EQ(ibv_rereg_mr(c, local.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_REMOTE_READ), 0);
         EXPECT_EQ(local.mr->rkey, local.mr->lkey);
         EXPECT_EQ(t.read(local.addr, local.mr->rkey).status, IBV_WC_SUCCESS);
       });
}

TEST(conformance, switch_rkey_shown_without_remote_rights) {
  with([](node_config&) {},
       [](cpu& c, node& n) {
         base_case t(c, n);
         const region local = t.p.allocate(4096, IBV_ACCESS_LOCAL_WRITE);
         EXPECT_EQ(local.mr->rkey, local.mr->lkey);
       });
}

// Registers and de-registers until the index of the first region comes round again; returns old and new key of that index.
std::pair<std::uint32_t, std::uint32_t> recycle(base_case& t) {
  const std::uint64_t memory = t.p.memory.allocate(4096);
  std::vector<std::uint32_t> seen;
  for (int i = 0; i < 64; ++i) {
    ibv_mr* mr = ibv_reg_mr(t.c, t.p.pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    if (!mr) break;
    const std::uint32_t key = mr->rkey;
    for (const std::uint32_t old : seen) {
      if (hca_key_index(old) != hca_key_index(key)) continue;
      const bool stale_reads = t.read(memory, old).status == IBV_WC_SUCCESS;
      EXPECT_EQ(stale_reads, old == key);
      if (!stale_reads) t.reconnect();
      EXPECT_EQ(ibv_dereg_mr(t.c, mr), 0);
      return {old, key};
    }
    seen.push_back(key);
    EXPECT_EQ(ibv_dereg_mr(t.c, mr), 0);
  }
  ADD_FAILURE() << "no index came round";
  return {};
}

void few_keys(node_config& n) {
  n.driver.log_mrs = 4;
}

TEST(conformance, switch_tag_memory) {
  with(few_keys, [](cpu& c, node& n) {
    base_case t(c, n);
    const auto [old, now] = recycle(t);
    EXPECT_NE(old, now);
  });
}

TEST(conformance, switch_tag_memory_off_lets_a_stale_key_through) {
  with(
      [](node_config& n) {
        few_keys(n);
        n.hca.command_unit.tag_memory = false;
      },
      [](cpu& c, node& n) {
        base_case t(c, n);
        const auto [old, now] = recycle(t);
        EXPECT_EQ(old, now);
        EXPECT_EQ(hca_key_byte(now), 0);
      });
}

TEST(conformance, switch_key_byte_random) {
  with(
      [](node_config& n) {
        few_keys(n);
        n.hca.command_unit.key_byte = key_byte_policy::random;
      },
      [](cpu& c, node& n) {
        base_case t(c, n);
        const auto [old, now] = recycle(t);
        EXPECT_NE(old, now);
        EXPECT_NE(ibv_inc_rkey(old), now) << "not merely one more";
      });
}

void fail_to_reregister(base_case& t) {
  ibv_mr* mr = t.there.mr;
  EXPECT_EQ(ibv_rereg_mr(t.c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nowhere, 4096, 0), IBV_REREG_MR_ERR_CMD);
}

TEST(conformance, switch_failed_rereg_revokes) {
  with([](node_config&) {},
       [](cpu& c, node& n) {
         base_case t(c, n);
         fail_to_reregister(t);
         t.expect_denied([&] { return t.read(t.there.addr, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
       });
}

TEST(conformance, switch_failed_rereg_keeps) {
  with([](node_config& n) { n.driver.failed_rereg = driver::failed_rereg_policy::keep; },
       [](cpu& c, node& n) {
         base_case t(c, n);
         fail_to_reregister(t);
         EXPECT_EQ(t.read(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
         EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.there.addr, 64));
       });
}

// The flags of x_register say the same for one space; TC-P08, TC-P09 and SUN10 test those.
TEST(conformance, switch_x_policy) {
  with([](node_config& n) { n.driver.x_policy = driver::x_space_policy::remap; },
       [](cpu& c, node& n) {
         space_case t(c, n, 1);
         const x_result first = t.r;
         t.add(1);
         EXPECT_EQ(t.r.key, first.key);
         EXPECT_NE(t.r.start, first.start);
         EXPECT_TRUE(t.reaches(t.r.start, t.memory));
         t.denied(first.start);
       });
}

TEST(conformance, switch_x_page_aligned) {
  system_config s = world::two_nodes();
  s.nodes[1].driver.x_page_aligned = true;
  const auto attempt = [](int expected) {
    return [expected](cpu& c, node& n) {
      process_context p(c, n);
      const x_buffer crooked{p.memory.allocate(8192) + 8, 4096};
      x_result r;
      EXPECT_EQ(x_register(c, p.pd, nullptr, {&crooked, 1}, IBV_ACCESS_LOCAL_WRITE, X_EXTEND, &r), expected);
      if (expected == 0) {
        EXPECT_EQ(x_teardown(c, p.context, r.key), 0);
      }
    };
  };
  EXPECT_TRUE(world(s).run({attempt(0), attempt(EINVAL)}));
}

TEST(conformance, switch_x_split) {
  system_config s = world::two_nodes();
  s.nodes[1].driver.x_split = false;
  const auto attempt = [](int expected) {
    return [expected](cpu& c, node& n) {
      process_context p(c, n);
      const x_buffer whole{p.memory.allocate(4 * page), 4 * page};
      x_result r;
      ASSERT_EQ(x_register(c, p.pd, nullptr, {&whole, 1}, IBV_ACCESS_LOCAL_WRITE, X_EXTEND, &r), 0);
      const std::uint32_t key = r.key;
      EXPECT_EQ(x_deregister_part(c, p.context, key, r.start + page, page, &r), expected);
      EXPECT_EQ(x_teardown(c, p.context, key), 0);
    };
  };
  EXPECT_TRUE(world(s).run({attempt(0), attempt(EINVAL)}));
}

}  // namespace
}  // namespace hcasim::kit
