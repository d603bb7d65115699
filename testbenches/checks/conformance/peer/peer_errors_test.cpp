// The error paths of peer memory, by their number [X1..X7]: nothing is mapped or counted afterwards.
#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {
namespace {

PEER_CONFORMANCE(X01_missing_callback) {
  peer::peer_core& core = n.device().peers();
  process_context p(c, n);
  scripted_client s("x", node::peer_bar(0));
  s.put_pages = nullptr;
  EXPECT_EQ(core.ib_register_peer_memory_client(&s, &s.invalidate), nullptr);
  EXPECT_EQ(ibv_reg_mr(c, p.pd, s.va, 4096, all_rights), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(s.log, log_type{}) << "it is not asked";
}

PEER_CONFORMANCE(X02_no_client_has_the_range) {
  scripted_case t(c, n);
  EXPECT_EQ(ibv_reg_mr(c, t.p.pd, t.client.va + t.client.bytes, 4096, all_rights), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_reg_mr(c, t.p.pd, 0x1000, 4096, all_rights), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_TRUE(t.client.balanced());
}

PEER_CONFORMANCE(X03_two_clients_claim_it) {
  scripted_case t(c, n);
  scripted_client second("second", node::peer_bar(0) + 1_GiB);
  void* handle = t.core.ib_register_peer_memory_client(&second, &second.invalidate);
  ibv_mr* mr = t.reg();
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(second.log, log_type{}) << "the first one in the order of registration has it";
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  t.client.acquire_answer = 0;
  mr = t.reg();
  EXPECT_EQ(second.pinned, 1);
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  t.core.ib_unregister_peer_memory_client(c, handle);
}

PEER_CONFORMANCE(X04_get_pages_fails) {
  scripted_case t(c, n);
  for (const int error : {ENOMEM, EFAULT, EAGAIN}) {
    t.client.get_pages_error = error;
    t.expect_refused(error);
  }
  t.client.get_pages_error = 0;
  ibv_mr* mr = t.reg();
  EXPECT_NE(mr, nullptr) << "and then it goes";
}

PEER_CONFORMANCE(X05_dma_map_fails) {
  scripted_case t(c, n);
  t.client.dma_map_error = ENOSPC;
  t.expect_refused(ENOSPC);
  t.client.dma_map_error = 0;
  EXPECT_NE(t.reg(), nullptr);
}

// The adapter has no room for the page table of 64 KiB pages that lie apart.
TEST(conformance, X06_the_table_cannot_be_written) {
  system_config s = peer_node();
  s.nodes[0].driver.table_bytes = 64_KiB;
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        t.client.bytes = 4_GiB;
        t.client.lie = [](peer::sg_table& sg, int& nmap) {
          const peer::sg_entry whole = sg[0];
          sg.clear();
          for (std::uint64_t at = 0; at < whole.length; at += 64_KiB) sg.push_back({whole.dma_address + 2 * at, 64_KiB});
          nmap = static_cast<int>(sg.size());
        };
        EXPECT_EQ(t.reg(2_GiB), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "dma_map", "dma_unmap", "put_pages", "release"}));
        EXPECT_EQ(t.count("num_alloc_mrs"), 1U);
        EXPECT_EQ(t.count("num_dealloc_mrs"), 1U);
        EXPECT_EQ(t.count("num_dereg_pages"), 32768U);
        EXPECT_EQ(t.count("num_dereg_bytes"), 2_GiB);
        EXPECT_NE(t.reg(64_MiB), nullptr);
      },
      s);
}

TEST(conformance, X07_the_driver_lacks_invalidation) {
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        scripted_client pinned("pinned", node::peer_bar(0));
        void* handle = t.core.ib_register_peer_memory_client(&pinned, nullptr);
        ibv_mr* mr = t.reg();
        ASSERT_NE(mr, nullptr) << "the next client in the list does without";
        EXPECT_EQ(t.client.log, log_type{});
        EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
        t.core.ib_unregister_peer_memory_client(c, handle);
      },
      configured([](driver::driver_config& d) { d.peer_invalidation = false; }));
}

}  // namespace
}  // namespace hcasim::kit
