// Group TC-F: the peer client interface [F].
#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {
namespace {

PEER_CONFORMANCE(TC_F01) {
  scripted_case t(c, n);
  ibv_mr* mr = t.reg(100'000, 70'000);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "dma_map"}));
  EXPECT_EQ(t.core.read("scripted", "version"), "0.1");
  EXPECT_EQ(t.core.read("scripted", "num_alloc_mrs"), "1");
  EXPECT_EQ(t.core.read("scripted", "num_reg_pages"), "2") << "of 64 KiB: the range touches two";
  EXPECT_EQ(t.core.read("scripted", "num_reg_bytes"), "100000");
  EXPECT_EQ(t.core.read("scripted", "num_dealloc_mrs"), "0");
  EXPECT_EQ(t.core.read("scripted", "no_such_file"), "");
  EXPECT_EQ(t.core.read("unknown", "version"), "");
  t.client.log.clear();
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  EXPECT_EQ(t.client.log, (log_type{"dma_unmap", "put_pages", "release"}));
  for (const char* file : {"alloc_mrs 1", "dealloc_mrs 1", "reg_pages 2", "dereg_pages 2", "reg_bytes 100000",
                           "dereg_bytes 100000", "free_callbacks 0"}) {
    const std::string line = file;
    const std::size_t space = line.find(' ');
    EXPECT_EQ(t.core.read("scripted", "num_" + line.substr(0, space)), line.substr(space + 1)) << file;
  }
}

// Remote WRITE, READ and atomic reach the client's own memory.
PEER_CONFORMANCE(peer_memory_is_read_and_written_by_the_adapter) {
  peer_case t(c, n);
  EXPECT_EQ(t.read(t.mine.addr + 5, t.mine.mr->rkey, 4096).status, IBV_WC_SUCCESS);
  const auto before = t.there_bytes(5 + 4096);
  EXPECT_TRUE(std::equal(before.begin() + 5, before.end(), t.p.bytes(t.here.addr, 4096).begin()));
  t.expect_alive(t.mine.addr + 65'500, t.mine.mr->rkey);
  t.expect_alive(t.mine.addr + t.mine.length - 64, t.mine.mr->rkey);
  EXPECT_EQ(t.add(t.mine.addr + 8, t.mine.mr->rkey, 41).status, IBV_WC_SUCCESS);
  std::uint64_t word = 0;
  std::memcpy(&word, before.data() + 8, 8);
  EXPECT_EQ(t.p.load64(t.here.addr), word);
  const auto after = t.there_bytes(16);
  std::memcpy(&word, after.data() + 8, 8);
  EXPECT_EQ(word, t.p.load64(t.here.addr) + 41);
  EXPECT_GT(t.gpu.monitor.bytes_written(), 0U);
  t.expect_denied([&] { return t.write(t.mine.addr + t.mine.length - 32, t.mine.mr->rkey); }, IBV_WC_REM_ACCESS_ERR,
                  t.here.addr);
}

PEER_CONFORMANCE(TC_F02) {
  peer::peer_core& core = n.device().peers();
  scripted_client whole("whole", node::peer_bar(0));
  const auto refused = [&](auto remove) {
    scripted_client broken("broken", node::peer_bar(0));
    remove(broken);
    EXPECT_EQ(core.ib_register_peer_memory_client(&broken, &broken.invalidate), nullptr);
    EXPECT_FALSE(broken.invalidate) << "nothing is handed out";
  };
  refused([](auto& b) { b.dma_unmap = nullptr; });
  refused([](auto& b) { b.acquire = nullptr; });
  refused([](auto& b) { b.get_pages = nullptr; });
  refused([](auto& b) { b.put_pages = nullptr; });
  refused([](auto& b) { b.dma_map = nullptr; });
  refused([](auto& b) { b.name[0] = '\0'; });
  refused([](auto& b) { b.name[1] = '/'; });
  refused([](auto& b) { std::memset(b.name, 'x', sizeof b.name); });
  EXPECT_EQ(core.ib_register_peer_memory_client(nullptr, nullptr), nullptr);
  EXPECT_TRUE(core.empty());
  whole.release = nullptr;
  whole.get_page_size = nullptr;
  void* handle = core.ib_register_peer_memory_client(&whole, &whole.invalidate);
  EXPECT_NE(handle, nullptr) << "these two are optional";
  scripted_client same("whole", node::peer_bar(0));
  EXPECT_EQ(core.ib_register_peer_memory_client(&same, &same.invalidate), nullptr) << "the name is taken";
  core.ib_unregister_peer_memory_client(c, handle);
  core.ib_unregister_peer_memory_client(c, handle);  // a second call changes nothing
  EXPECT_TRUE(core.empty());
}

TEST(conformance, TC_F02_switch_legacy) {
  run_case(
      [](cpu& c, node& n) {
        scripted_client b("old", node::peer_bar(0));
        b.get_page_size = nullptr;
        EXPECT_EQ(n.device().peers().ib_register_peer_memory_client(&b, &b.invalidate), nullptr) << "mandatory in 2014";
        c.sync();
      },
      legacy_node());
}

TEST(conformance, TC_F03) {
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        t.expect_refused(EFAULT);
        EXPECT_EQ(t.client.log, log_type{}) << "the client is passed over";
      },
      configured([](driver::driver_config& d) { d.peer_invalidation = false; }));
}

TEST(conformance, TC_F03_switch_legacy) {
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        t.expect_refused(EOPNOTSUPP);
        EXPECT_EQ(t.client.log, (log_type{"acquire", "release"})) << "its memory is refused";
      },
      configured([](driver::driver_config& d) {
        d.peer_invalidation = false;
        d.peer_semantics = driver::peer_semantics::legacy;
      }));
}

PEER_CONFORMANCE(TC_F04) {
  scripted_case t(c, n);
  for (const int answer : {0, -EFAULT, -1, 2}) {
    t.client.acquire_answer = answer;
    t.expect_refused(EFAULT);
  }
  EXPECT_EQ(t.client.log, log_type(4, "acquire"));
  t.p.memory.set_pin_limit(4096);
  t.client.log.clear();
  t.expect_refused(ENOMEM);  // the error of pinning
  EXPECT_EQ(t.client.log, log_type{"acquire"});
}

TEST(conformance, TC_F04_switch_peer_memory_off) {
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        t.expect_refused(EFAULT);
        EXPECT_EQ(t.client.log, log_type{});
      },
      configured([](driver::driver_config& d) { d.peer_memory = false; }));
}

PEER_CONFORMANCE(TC_F05) {
  scripted_case t(c, n);
  t.client.get_pages_error = ENODEV;
  t.expect_refused(ENODEV);
  EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "release"}));
}

PEER_CONFORMANCE(TC_F06) {
  scripted_case t(c, n);
  t.client.dma_map_error = EIO;
  t.expect_refused(EIO);
  EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "dma_map", "put_pages", "release"}));
}

// An application that goes without cleaning up; of its regions one is alive, one revoked, one has a window.
PEER_CONFORMANCE(TC_F20) {
  gpu_fixture gpu(c, n);
  {
    process_context p(c, n);
    const region alive = gpu.allocate(p, 1_MiB);
    const region revoked = gpu.allocate(p, 1_MiB, all_rights, peer::placement::scattered);
    const region windowed = gpu.allocate(p, 64_KiB);
    EXPECT_EQ(gpu.free(c, revoked.addr), 0);
    ibv_qp* qp = p.create_qp();
    EXPECT_EQ(p.connect(qp, p.address_of(qp)), 0);
    ibv_mw* mw = ibv_alloc_mw(c, p.pd, IBV_MW_TYPE_2);
    EXPECT_EQ(kit::bind(c, qp, mw, mw->rkey + 1, {windowed.mr, windowed.addr, 4096, qp_rights}).status, IBV_WC_SUCCESS);
    EXPECT_EQ(gpu.core.live(), 3U);
    EXPECT_TRUE(p.close());
    EXPECT_EQ(gpu.core.live(), 0U);
    gpu.expect_balanced();
    EXPECT_EQ(gpu.count("num_alloc_mrs"), 3U);
    EXPECT_EQ(gpu.owner.free(c, alive.addr), 0);
    EXPECT_EQ(gpu.owner.free(c, windowed.addr), 0);
  }
  EXPECT_EQ(gpu.owner.free_bytes(), n.peer(0).memory().size());
}

// The adapter has no key left: the thread that holds the lock unmaps and unlocks the memory.
TEST(conformance, TC_F21) {
  system_config s = peer_node();
  s.nodes[0].driver.log_mrs = 4;
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        std::vector<ibv_mr*> all;
        for (int i = 0; i < 15; ++i) all.push_back(t.reg());
        EXPECT_EQ(t.reg(), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        const log_type last(t.client.log.end() - 6, t.client.log.end());
        EXPECT_EQ(last, (log_type{"acquire", "get_pages", "dma_map", "dma_unmap", "put_pages", "release"}));
        EXPECT_EQ(t.count("num_alloc_mrs"), 16U);
        EXPECT_EQ(t.count("num_dealloc_mrs"), 1U);
        EXPECT_EQ(t.core.live(), 15U);
        for (ibv_mr* mr : all) EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
        ibv_mr* again = t.reg();
        EXPECT_NE(again, nullptr);
      },
      s);
}

TEST(conformance, TC_F22) {
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n, "pinned_for_good", false);
        ibv_mr* mr = t.reg();
        ASSERT_NE(mr, nullptr) << "any driver will do";
        EXPECT_EQ(t.client.ticket, 0xffffffffU) << "there is no ticket";
        EXPECT_EQ(t.core.tickets(), 0U);
        EXPECT_FALSE(t.client.invalidate);
        EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
      },
      configured([](driver::driver_config& d) { d.peer_invalidation = false; }));
}

PEER_CONFORMANCE(TC_F22_with_a_driver_that_supports_invalidation) {
  gpu_fixture gpu(c, n, {.invalidates = false});
  process_context p(c, n);
  const region r = gpu.allocate(p, 128_KiB);
  EXPECT_EQ(gpu.core.tickets(), 0U);
  EXPECT_EQ(gpu.owner.free(c, r.addr), EBUSY) << "its owner must wait";
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
  EXPECT_EQ(gpu.owner.free(c, r.addr), 0);
  EXPECT_TRUE(p.close());
}

// The mode in which the client unmaps by itself: the core counts the region as gone, and pages and bytes when it really goes.
PEER_CONFORMANCE(client_that_unmaps_itself) {
  gpu_fixture gpu(c, n, {.unmaps = true});
  process_context p(c, n);
  const region r = gpu.allocate(p, 128_KiB);
  log_type calls;
  gpu.owner.observe = [&](cpu&, const char* what) { calls.emplace_back(what); };
  EXPECT_EQ(gpu.free(c, r.addr), 0);
  EXPECT_EQ(calls, log_type{}) << "nothing is called inside the invalidation";
  EXPECT_EQ(gpu.count("num_dealloc_mrs"), 1U);
  EXPECT_EQ(gpu.count("num_dereg_pages"), 0U);
  EXPECT_EQ(gpu.count("num_dereg_bytes"), 0U);
  EXPECT_EQ(gpu.owner.free_bytes(), n.peer(0).memory().size());
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
  EXPECT_EQ(calls, (log_type{"dma_unmap", "put_pages", "release"}));
  gpu.expect_balanced();
  EXPECT_EQ(gpu.count("num_dealloc_mrs"), 1U);
  EXPECT_EQ(gpu.count("num_dereg_pages"), 2U);
  EXPECT_TRUE(p.close());
}

// Flags count only behind a version whose last byte says so, and only if the client's size covers them.
PEER_CONFORMANCE(unmap_flag_needs_the_extended_client) {
  for (const int broken : {0, 1, 2}) {
    scripted_client s("flagged", node::peer_bar(0));
    s.flags = peer::PEER_MEM_INVALIDATE_UNMAPS;
    s.version[15] = broken == 1 ? '\0' : 1;
    if (broken == 2) s.ex_size = sizeof(peer::peer_memory_client);
    peer::peer_core& core = n.device().peers();
    process_context p(c, n);
    void* handle = core.ib_register_peer_memory_client(&s, &s.invalidate);
    ibv_mr* mr = ibv_reg_mr(c, p.pd, s.va, 4096, all_rights);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(s.invalidate(c, handle, s.ticket), 0);
    EXPECT_EQ(s.mapped, broken == 0 ? 1 : 0);
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    EXPECT_TRUE(s.balanced());
    EXPECT_TRUE(p.close());
    core.ib_unregister_peer_memory_client(c, handle);
  }
}

// A client that lies is refused, and nothing is held.
PEER_CONFORMANCE(clients_that_lie_are_refused) {
  scripted_case t(c, n);
  using sg = peer::sg_table;
  const std::uint64_t bar = node::peer_bar(0);
  const std::function<void(sg&, int&)> lies[] = {
      [](sg& s, int&) { s[0].length += 64_KiB; },  // pages outside the range
      [](sg& s, int&) { s[0].length -= 64_KiB; },  // none at all
      [](sg& s, int&) { s[0].length = 4096; },     // wrong size
      [](sg&, int& nmap) { nmap = 2; },            // wrong count
      [](sg&, int& nmap) { nmap = 0; },
      [](sg&, int& nmap) { nmap = -1; },
      [](sg& s, int&) { s.clear(); },
      [](sg& s, int& nmap) { s.clear(), nmap = 0; },
      [](sg& s, int&) { s[0].dma_address += 512; },                      // not page-aligned
      [](sg& s, int&) { s[0].dma_address = ~std::uint64_t{0} - 4095; },  // not page-aligned, across the end of the addresses
      [](sg& s, int&) { s[0].dma_address = 0xffff'ffff'ffff'0000, s[0].length = 128_KiB; },
      [](sg& s, int& nmap) {
        s.push_back({s[0].dma_address, 64_KiB}), nmap = 2;
      },  // one page too many
      [](sg& s, int& nmap) {
        s.push_back({s[0].dma_address, 0}), nmap = 2;
      },
      [](sg& s, int& nmap) {
        s = {{bar, 1ULL << 63}, {bar, 1ULL << 63}, {bar, 64_KiB}}, nmap = 3;
      },                                                             // sums up around the end
      [](sg& s, int&) { s[0].dma_address = HCA_DM_BASE; },           // memory of the adapter
      [](sg& s, int&) { s[0].dma_address = node::adapter_bar(0); },  // its registers
  };
  for (std::size_t i = 0; i < std::size(lies); ++i) {
    SCOPED_TRACE(i);
    t.client.lie = lies[i];
    t.client.log.clear();
    t.expect_refused(EINVAL);
    EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "dma_map", "dma_unmap", "put_pages", "release"}));
  }
  t.client.lie = nullptr;
  for (const std::uint64_t at : std::vector<std::uint64_t>{0, 3000, 96'000, ~std::uint64_t{0}, 1ULL << 63}) {
    t.client.page = at;
    t.client.lie = [](sg& s, int&) { s[0].length = 64_KiB; };
    t.expect_refused(EINVAL);
  }
}

PEER_CONFORMANCE(callbacks_from_the_wrong_context_are_refused) {
  scripted_case t(c, n);
  int from_get_pages = 0;
  int from_put_pages = 0;
  t.client.on_call = [&](cpu& o, const std::string& what) {
    if (what == "get_pages") from_get_pages = t.client.invalidate(o, t.handle, t.client.ticket);
    if (what == "put_pages") from_put_pages = t.client.invalidate(o, t.handle, t.client.ticket);
  };
  ibv_mr* mr = t.reg();
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(from_get_pages, EDEADLK) << "a registration cannot wait for itself";
  EXPECT_EQ(t.client.invalidate(c, t.handle, t.client.ticket), 0);
  EXPECT_EQ(from_put_pages, EDEADLK);
  EXPECT_EQ(t.client.invalidate(c, &t, t.client.ticket), EINVAL) << "no such client";
  EXPECT_EQ(t.client.invalidate(c, nullptr, t.client.ticket), EINVAL);
  EXPECT_EQ(t.count("num_free_callbacks"), 3U) << "of the client itself";
  // The ticket of another client's region is not known to this one.
  scripted_client other("other", node::peer_bar(0) + 64_MiB);
  other.va = 0x5100'0000'0000;
  void* handle = t.core.ib_register_peer_memory_client(&other, &other.invalidate);
  t.client.on_call = nullptr;
  ibv_mr* theirs = ibv_reg_mr(c, t.p.pd, other.va, 4096, all_rights);
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(t.client.invalidate(c, t.handle, other.ticket), 0);
  EXPECT_EQ(other.mapped, 1) << "not affected";
  EXPECT_EQ(ibv_dereg_mr(c, theirs), 0);
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  t.core.ib_unregister_peer_memory_client(c, handle);
}

// Tickets wrap around and skip taken ones [F.3].
PEER_CONFORMANCE(tickets_come_round) {
  scripted_case t(c, n);
  ibv_mr* first = t.reg();
  EXPECT_EQ(t.client.ticket, 1U);
  t.core.last_ticket(0xfffffffd);
  ibv_mr* last = t.reg();
  EXPECT_EQ(t.client.ticket, 0xfffffffeU);
  ibv_mr* round = t.reg();
  EXPECT_EQ(t.client.ticket, 2U) << "0xffffffff says none, 1 is taken";
  for (ibv_mr* mr : {first, last, round}) EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
}

TEST(conformance, tickets_of_the_legacy_interface_are_never_used_again) {
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        t.core.last_ticket(0xfffffffe);
        for (const std::uint64_t expected : {0xffffffffULL, 0x100000000ULL, 0x100000001ULL}) {
          ibv_mr* mr = t.reg();
          EXPECT_EQ(t.client.ticket, expected);
          EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
        }
      },
      legacy_node());
}

// The client of a process that names the owner of memory; all else goes to a scripted client.
struct named_client : peer::peer_memory_client_v1 {
  explicit named_client(scripted_client& to) {
    std::copy(std::begin(to.name), std::end(to.name), name);
    acquire = [this, &to](cpu& c, const virtual_memory& mm, std::uint64_t addr, std::uint64_t size, void* data,
                          const char* whose, void** context) {
      private_data = data;
      return whose && std::string(whose) == name ? to.acquire(c, mm, addr, size, context) : 0;
    };
    get_pages = [this, &to](cpu& c, std::uint64_t addr, std::uint64_t size, bool write, bool force, peer::sg_table& sg,
                            void* context, void* core_context) {
      registration = core_context;
      return to.get_pages(c, addr, size, write, force, sg, context, 0);
    };
    dma_map = to.dma_map;
    dma_unmap = to.dma_unmap;
    put_pages = to.put_pages;
    get_page_size = to.get_page_size;
    release = to.release;
  }
  void* private_data = nullptr;
  void* registration = nullptr;
};

TEST(conformance, TC_F23) {
  run_case(
      [](cpu& c, node& n) {
        peer::peer_core& core = n.device().peers();
        process_context p(c, n);
        scripted_client scripted("first", node::peer_bar(0));
        named_client client(scripted);
        peer::invalidate_peer_memory_v1 invalidate;
        void* const handle = core.ib_register_peer_memory_client_v1(&client, &invalidate);
        ASSERT_NE(handle, nullptr);
        int data = 0;
        p.context->peer_mem_private_data = &data;
        for (const char* whose : {static_cast<const char*>(nullptr), "another"}) {
          p.context->peer_mem_name = whose;
          EXPECT_EQ(ibv_reg_mr(c, p.pd, scripted.va, 64_KiB, all_rights), nullptr);
          EXPECT_EQ(errno, EFAULT) << "memory of no client";
          EXPECT_EQ(client.private_data, &data);
        }
        p.context->peer_mem_name = "first";
        ibv_mr* mr = ibv_reg_mr(c, p.pd, scripted.va, 64_KiB, all_rights);
        ASSERT_NE(mr, nullptr);
        EXPECT_EQ(invalidate(c, handle, nullptr), 0) << "of no registration: it is counted, and nothing goes";
        EXPECT_EQ(scripted.pinned, 1);
        EXPECT_EQ(invalidate(c, handle, client.registration), 0);
        EXPECT_EQ(core.count("first", "num_free_callbacks"), 2U);
        EXPECT_EQ(scripted.pinned, 0);
        EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
        EXPECT_TRUE(scripted.balanced());
        core.ib_unregister_peer_memory_client(c, handle);
      },
      legacy_node());
}

PEER_CONFORMANCE(TC_F23_switch_modern) {
  scripted_client scripted("first", node::peer_bar(0));
  const named_client client(scripted);
  peer::invalidate_peer_memory_v1 invalidate;
  EXPECT_EQ(n.device().peers().ib_register_peer_memory_client_v1(&client, &invalidate), nullptr);
}

}  // namespace
}  // namespace hcasim::kit
