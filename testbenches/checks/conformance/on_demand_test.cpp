// On-demand paging [E9]: rows TC-T10 and TC-T11, and what lies around them: read-only pages, invalidations by the operating
// system while traffic runs, implicit regions, prefetch, caches of one entry, a lossy link.
#include <cstdlib>
#include <limits>

#include "testbenches/checks/conformance/base.h"
#include "testbenches/kit/counters.h"

namespace hcasim::kit {
namespace {

// The RTL page walker has none of this.
#define NEEDS_PAGING() \
  if (!n.device().on_demand()) GTEST_SKIP() << "no on-demand paging"

constexpr int lazy_rights = (all_rights & ~IBV_ACCESS_MW_BIND) | IBV_ACCESS_ON_DEMAND;
constexpr std::uint64_t page = 4096;

region lazy(process_context& p, std::uint64_t bytes, int access = lazy_rights, bool writable = true) {
  region r;
  r.length = bytes;
  r.addr = p.memory.allocate(bytes, page_policy::scattered, 0, writable);
  r.mr = ibv_reg_mr(p.c, p.pd, r.addr, bytes, access);
  EXPECT_NE(r.mr, nullptr);
  return r;
}

double faults_of(node& n, bool remote) {
  return remote ? statistic_of(n.hca.responder, "page_faults") : statistic_of(n.hca.requester, "page_faults");
}

ibv_wc transfer(base_case& t, ibv_wr_opcode opcode, const region& from, const region& to, std::uint32_t bytes) {
  return complete(
      t.c, t.a,
      {.opcode = opcode, .id = 9, .sges = {{from.addr, bytes, from.mr->lkey}}, .remote = to.addr, .rkey = to.mr->rkey},
      &t.received);
}

// Inbound WRITE: RNR and retry. SEND: the send queue stalls. READ response: dropped and asked for again.
CONFORMANCE(TC_T10) {
  NEEDS_PAGING();
  base_case t(c, n);
  const std::uint64_t pinned = t.p.memory.pinned_bytes();
  const region to = lazy(t.p, 4 * page);
  EXPECT_EQ(t.p.memory.pinned_bytes(), pinned) << "nothing of an on-demand region is pinned";
  EXPECT_EQ(t.write(to.addr + 100, to.mr->rkey, 2 * page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(to.addr + 100, 2 * page), t.p.bytes(t.here.addr, 2 * page));
  EXPECT_GE(statistic_of(n.hca.responder, "rnr_naks"), 1);
  EXPECT_GE(faults_of(n, true), 1);
  EXPECT_EQ(faults_of(n, false), 0);

  const region from = lazy(t.p, 4 * page);
  t.p.fill(from.addr, from.length, 33);
  const double naks = statistic_of(n.hca.responder, "rnr_naks");
  EXPECT_EQ(post_receive(c, t.b, 1, {{t.there.addr, 4 * page, t.there.mr->lkey}}), 0);
  EXPECT_EQ(complete(c, t.a, {.opcode = IBV_WR_SEND, .id = 5, .sges = {{from.addr + 5, 3 * page, from.mr->lkey}}}, &t.received)
                .status,
            IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 3 * page), t.p.bytes(from.addr + 5, 3 * page));
  EXPECT_GE(faults_of(n, false), 1);
  EXPECT_EQ(statistic_of(n.hca.responder, "rnr_naks"), naks) << "a send-side fault concerns no peer";

  const double before = faults_of(n, false);
  const region landing = lazy(t.p, 4 * page);
  EXPECT_EQ(transfer(t, IBV_WR_RDMA_READ, landing, t.there, 3 * page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(landing.addr, 3 * page), t.p.bytes(t.there.addr, 3 * page));
  EXPECT_GT(faults_of(n, false), before);
  EXPECT_GE(statistic_of(n.hca.requester, "go_backs"), 1);
  EXPECT_EQ(statistic_of(n.hca.requester, "timeouts"), 0);

  // The same pages again: no faults.
  const double all = faults_of(n, false) + faults_of(n, true);
  EXPECT_EQ(transfer(t, IBV_WR_RDMA_READ, landing, t.there, 3 * page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.write(to.addr + 100, to.mr->rkey, 2 * page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(faults_of(n, false) + faults_of(n, true), all);
}

// Inbound READ, atomics, SEND into an on-demand receive buffer, READ out of one that is larger than what one fault brings.
CONFORMANCE(on_demand_responder) {
  NEEDS_PAGING();
  base_case t(c, n);
  const region far = lazy(t.p, 64 * page);
  t.p.fill(far.addr, far.length, 77);
  const region big = t.p.allocate(64 * page);
  EXPECT_EQ(transfer(t, IBV_WR_RDMA_READ, big, far, 64 * page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(big.addr, 64 * page), t.p.bytes(far.addr, 64 * page));
  EXPECT_GE(statistic_of(n.hca.responder, "rnr_naks"), 1);

  const region word = lazy(t.p, page);
  t.p.store64(word.addr + 8, 40);
  EXPECT_EQ(t.add(word.addr + 8, word.mr->rkey, 2).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(word.addr + 8), 42U);
  EXPECT_EQ(t.p.load64(t.here.addr), 40U);

  const region sink = lazy(t.p, 4 * page);
  EXPECT_EQ(post_receive(c, t.b, 1, {{sink.addr + 4000, 200, sink.mr->lkey}, {sink.addr + 2 * page, 2 * page, sink.mr->lkey}}),
            0);
  EXPECT_EQ(t.send(page).status, IBV_WC_SUCCESS);
  const ibv_wc wc = t.receive_completion();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, page);
  EXPECT_EQ(t.p.bytes(sink.addr + 4000, 200), t.p.bytes(t.here.addr, 200));
  EXPECT_EQ(t.p.bytes(sink.addr + 2 * page, page - 200), t.p.bytes(t.here.addr + 200, page - 200));

  // An atomic whose answer finds no page is answered again from what the responder has kept, not executed twice.
  const region answer = lazy(t.p, page);
  EXPECT_EQ(complete(c, t.a,
                     {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                      .id = 3,
                      .sges = {{answer.addr, 8, answer.mr->lkey}},
                      .remote = word.addr + 8,
                      .rkey = word.mr->rkey,
                      .compare_add = 5},
                     &t.received)
                .status,
            IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(answer.addr), 42U);
  EXPECT_EQ(t.p.load64(word.addr + 8), 47U);
}

CONFORMANCE(TC_T11) {
  NEEDS_PAGING();
  base_case t(c, n);
  const region r = lazy(t.p, 4 * page);
  EXPECT_EQ(t.read(r.addr, r.mr->rkey).status, IBV_WC_SUCCESS);
  const std::uint64_t frame = t.p.memory.translate(r.addr);
  EXPECT_EQ(t.p.memory.unmap(c, r.addr), 0);
  t.expect_denied([&] { return t.read(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  n.host.memory_bytes().put<std::uint64_t>(frame, 7);
  t.expect_denied([&] { return t.write(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(n.host.memory_bytes().get<std::uint64_t>(frame), 7U) << "the frame that was given back was written";
  t.expect_denied([&] { return t.add(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  // The same on the local side.
  t.expect_denied_here([&] { return transfer(t, IBV_WR_RDMA_WRITE, r, t.there, 64); }, IBV_WC_LOC_PROT_ERR, t.there.addr);
  t.expect_denied_here([&] { return transfer(t, IBV_WR_RDMA_READ, r, t.there, 64); }, IBV_WC_LOC_PROT_ERR, t.there.addr);
  EXPECT_EQ(post_receive(c, t.b, 1, {{r.addr, 4096, r.mr->lkey}}), 0);
  EXPECT_EQ(t.send().status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_LOC_PROT_ERR);
  t.reconnect();

  // Mapped anew at the same place, the region reaches the new pages.
  EXPECT_EQ(t.p.memory.allocate(4 * page, page_policy::scattered, r.addr), r.addr);
  t.p.fill(r.addr, 64, 5);
  EXPECT_EQ(t.read(r.addr, r.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(r.addr, 64));
}

CONFORMANCE(on_demand_read_only_pages) {
  NEEDS_PAGING();
  base_case t(c, n);
  const region r = lazy(t.p, 2 * page, lazy_rights, false);
  t.p.fill(r.addr, 64, 21);
  EXPECT_EQ(t.read(r.addr, r.mr->rkey).status, IBV_WC_SUCCESS);  // the page is there, for reading
  t.expect_denied([&] { return t.write(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
  t.expect_denied([&] { return t.write(r.addr + page, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr + page);
  t.expect_denied_here([&] { return transfer(t, IBV_WR_RDMA_READ, r, t.there, 64); }, IBV_WC_LOC_PROT_ERR, r.addr);
  EXPECT_EQ(t.read(r.addr, r.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.memory.protect(c, r.addr, true), 0);
  EXPECT_EQ(t.write(r.addr, r.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(r.addr, 64), t.p.bytes(t.here.addr, 64));
  EXPECT_EQ(t.p.memory.protect(c, r.addr, false), 0);
  t.expect_denied([&] { return t.write(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
}

// A region does not reach beyond its bytes, however its pages lie; keys, rights and PDs are judged as ever.
CONFORMANCE(on_demand_bounds) {
  NEEDS_PAGING();
  base_case t(c, n);
  const std::uint64_t buffer = t.p.memory.allocate(4 * page);
  t.p.fill(buffer, 4 * page, 3);
  ibv_mr* mr = ibv_reg_mr_iova(c, t.p.pd, buffer + 0xf00, 0x300, 0x1f00, lazy_rights);
  ASSERT_NE(mr, nullptr);
  for (std::uint64_t va = 0x1f00; va < 0x2200; va += 0x7f) {
    ASSERT_EQ(t.read(va, mr->rkey, 1).status, IBV_WC_SUCCESS) << va;
    ASSERT_EQ(t.p.bytes(t.here.addr, 1), t.p.bytes(buffer + 0xf00 + (va - 0x1f00), 1)) << va;
  }
  t.expect_denied([&] { return t.read(0x1eff, mr->rkey, 1); }, IBV_WC_REM_ACCESS_ERR, buffer);
  t.expect_denied([&] { return t.read(0x21ff, mr->rkey, 2); }, IBV_WC_REM_ACCESS_ERR, buffer);
  const region read_only = lazy(t.p, page, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ);
  t.expect_denied([&] { return t.write(read_only.addr, read_only.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, read_only.addr);
  EXPECT_EQ(ibv_reg_mr(c, t.p.pd, buffer, page, lazy_rights | IBV_ACCESS_MW_BIND), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_reg_mr(c, t.p.pd, buffer, page, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(c, t.p.pd, buffer, 0, lazy_rights), nullptr);
  EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_INPUT);
  // A region that was never touched, and one whose memory is gone, go as others do.
  const region gone = lazy(t.p, page);
  EXPECT_EQ(t.p.memory.unmap(c, gone.addr), 0);
  EXPECT_EQ(ibv_dereg_mr(c, gone.mr), 0);
}

CONFORMANCE(on_demand_implicit_region) {
  NEEDS_PAGING();
  base_case t(c, n);
  ibv_mr* all = ibv_reg_mr(c, t.p.pd, 0, std::numeric_limits<std::uint64_t>::max(), lazy_rights);
  ASSERT_NE(all, nullptr);
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t at = t.p.memory.allocate(3 * page, page_policy::scattered, i == 3 ? 0x7ff000000000 : 0);
    ASSERT_EQ(t.write(at + 10, all->rkey, 2 * page).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.p.bytes(at + 10, 2 * page), t.p.bytes(t.here.addr, 2 * page));
  }
  t.expect_denied([&] { return t.read(0x5000, all->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  t.expect_denied([&] { return t.read(std::uint64_t{1} << 48, all->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  t.expect_denied([&] { return t.read((std::uint64_t{1} << 48) - 8, all->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(ibv_dereg_mr(c, all), 0);
}

CONFORMANCE(on_demand_prefetch) {
  NEEDS_PAGING();
  base_case t(c, n);
  const region r = lazy(t.p, 1024 * page);
  const auto advise = [&](std::uint64_t addr, std::uint32_t length, std::uint32_t lkey, std::uint32_t flags,
                          ibv_advise_mr_advice a = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE) {
    const ibv_sge s{addr, length, lkey};
    return ibv_advise_mr(c, t.p.pd, a, flags, &s, 1);
  };
  EXPECT_EQ(advise(r.addr, 1024 * page, r.mr->lkey, IBV_ADVISE_MR_FLAG_FLUSH), 0);
  EXPECT_EQ(t.write(r.addr + 1023 * page, r.mr->rkey, page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(transfer(t, IBV_WR_RDMA_READ, r, t.there, 4 * page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(faults_of(n, true) + faults_of(n, false), 0);

  // Without FLUSH it comes about by itself.
  const region later = lazy(t.p, 8 * page);
  EXPECT_EQ(advise(later.addr, 8 * page, later.mr->lkey, 0), 0);
  c.spend(1_ms);
  c.sync();
  EXPECT_EQ(t.write(later.addr, later.mr->rkey, 2 * page).status, IBV_WC_SUCCESS);
  EXPECT_EQ(faults_of(n, true), 0);

  EXPECT_EQ(advise(r.addr, 64, 0x12345678, 0), ENOENT);
  EXPECT_EQ(advise(t.here.addr, 64, t.here.mr->lkey, 0), EINVAL);
  EXPECT_EQ(advise(r.addr + 1023 * page, 2 * page, r.mr->lkey, 0), EFAULT);
  const region look = lazy(t.p, page, IBV_ACCESS_ON_DEMAND);
  EXPECT_EQ(advise(look.addr, page, look.mr->lkey, 0), EPERM);
  EXPECT_EQ(advise(look.addr, page, look.mr->lkey, IBV_ADVISE_MR_FLAG_FLUSH, IBV_ADVISE_MR_ADVICE_PREFETCH), 0);
  EXPECT_EQ(t.p.memory.unmap(c, look.addr), 0);
  EXPECT_EQ(advise(look.addr, page, look.mr->lkey, IBV_ADVISE_MR_FLAG_FLUSH, IBV_ADVISE_MR_ADVICE_PREFETCH), EFAULT);
  EXPECT_EQ(advise(look.addr, page, look.mr->lkey, 0, IBV_ADVISE_MR_ADVICE_PREFETCH), 0) << "best effort";
}

// A lazy page that is asked for when its region, or its QP, goes: no access waits for ever.
CONFORMANCE(on_demand_given_up) {
  NEEDS_PAGING();
  base_case t(c, n);
  const region r = lazy(t.p, 4 * page);
  // The region goes while the gather waits for its first page.
  EXPECT_EQ(post(c, t.a, {.id = 1, .sges = {{r.addr, 64, r.mr->lkey}}, .remote = t.there.addr, .rkey = t.there.mr->rkey}), 0);
  c.spend(2_us);
  c.sync();
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
  const auto wc = next_completion(c, t.p.cq);
  ASSERT_TRUE(wc.has_value());
  EXPECT_TRUE(wc->status == IBV_WC_LOC_PROT_ERR || wc->status == IBV_WC_SUCCESS) << wc->status;
  t.reconnect();
  // The QP is reset while a gather waits, and while a response does.
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    const region again = lazy(t.p, 4 * page);
    EXPECT_EQ(post(c, t.a,
                   {.opcode = opcode,
                    .id = 2,
                    .sges = {{again.addr, 64, again.mr->lkey}},
                    .remote = t.there.addr,
                    .rkey = t.there.mr->rkey}),
              0);
    c.spend(opcode == IBV_WR_RDMA_READ ? 6_us : 2_us);
    c.sync();
    t.reconnect();
    EXPECT_EQ(transfer(t, opcode, again, t.there, 64).status, IBV_WC_SUCCESS);
  }
}

// Every byte that moves lies in a page that the process has at that time.
class frame_monitor final : public dma_monitor {
 public:
  void dma(bool, std::uint64_t address, std::uint64_t bytes, ps) override {
    for (const std::uint64_t f : forbidden) touched += address < f + page && f < address + bytes;
  }
  std::vector<std::uint64_t> forbidden;
  std::uint64_t touched = 0;
};

// The operating system moves and discards pages under traffic: what arrives is right, and no frame is touched after it was
// given back. `odd`: with every cache of one entry; `loss`: on a lossy link.
void under_traffic(system_config config, double loss) {
  config.link.loss = loss;
  world w(config);
  frame_monitor monitor;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    NEEDS_PAGING();
    qp_options o;
    o.timeout = 8;
    base_case t(c, n, o);
    const region r = lazy(t.p, 16 * page);
    t.p.fill(r.addr, r.length, 9);
    const auto expected = t.p.bytes(r.addr, r.length);
    n.host.observe_dma(&monitor);
    random_stream random(5, "under_traffic");
    const region local = t.p.allocate(16 * page);
    unsigned posted = 0;
    unsigned done = 0;
    ibv_wc wc{};
    for (int i = 0; i < 120; ++i) {
      while (posted - done < 4) {
        const std::uint64_t offset = random.below(12) * page + random.below(page);
        const bool read = random.below(2) == 0;
        // A READ fetches what is there; a WRITE puts the same bytes, so that memory never changes.
        if (!read) t.p.memory.write(local.addr + offset, std::as_bytes(std::span(expected).subspan(offset, 3 * page)));
        ASSERT_EQ(post(c, t.a,
                       {.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                        .id = posted,
                        .sges = {{read ? t.here.addr : local.addr + offset, 3 * page, read ? t.here.mr->lkey : local.mr->lkey}},
                        .remote = r.addr + offset,
                        .rkey = r.mr->rkey}),
                  0);
        ++posted;
      }
      const std::uint64_t first = random.below(15);
      const std::uint64_t old = t.p.memory.translate(r.addr + first * page);
      monitor.forbidden.clear();
      ASSERT_EQ(t.p.memory.migrate(c, r.addr + first * page, page), 0);
      monitor.forbidden = {old};
      c.spend(ps(static_cast<std::int64_t>(random.below(30'000'000))));
      while (ibv_poll_cq(c, t.p.cq, 1, &wc) == 1) {
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        ++done;
      }
    }
    while (done < posted) {
      const auto last = next_completion(c, t.p.cq);
      ASSERT_TRUE(last.has_value());
      ASSERT_EQ(last->status, IBV_WC_SUCCESS);
      ++done;
    }
    EXPECT_EQ(t.p.bytes(r.addr, r.length), expected);
    EXPECT_GT(faults_of(n, true), 50);
    n.host.observe_dma(nullptr);
  }}));
  EXPECT_EQ(monitor.touched, 0U) << "a frame was used after it had been given back";
}

system_config caches_of_one() {
  system_config c = world::one_node();
  hca_config& h = c.nodes[0].hca;
  h.mrc_cache.sets = h.mrc_cache.ways = 1;
  h.page_walker.leaf_sets = h.page_walker.leaf_ways = 1;
  h.page_walker.upper_entries = 1;
  h.page_walker.walkers = 1;
  return c;
}

TEST(on_demand, pages_move_under_traffic) {
  under_traffic(world::one_node(), 0);
}
TEST(on_demand, pages_move_under_traffic_with_caches_of_one_entry) {
  if (std::getenv("HCASIM_RTL")) GTEST_SKIP() << "RTL has the size it was built with";
  under_traffic(caches_of_one(), 0);
}

// Two nodes, so that packets cross the link that loses them.
TEST(on_demand, survives_a_lossy_link) {
  system_config config = world::two_nodes();
  config.link.loss = 0.02;
  world w(config);
  out_of_band<std::pair<address, ibv_mr>> hello;
  out_of_band<address> back;
  out_of_band<int> over;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
                       NEEDS_PAGING();
                       process_context p(c, n);
                       qp_options o;
                       o.timeout = 6;
                       ibv_qp* qp = p.create_qp(o);
                       back.send(c, p.address_of(qp, o));
                       const auto [peer, far] = hello.receive(c);
                       ASSERT_EQ(p.connect(qp, peer, o), 0);
                       for (std::uint64_t i = 0; i < 40; ++i) {
                         const region from = lazy(p, 2 * page);
                         const region to = lazy(p, 2 * page);
                         p.fill(from.addr, from.length, static_cast<std::uint8_t>(i));
                         const std::uint64_t at = far.addr + i * 2 * page;
                         request r{.id = i, .sges = {{from.addr, 2 * page, from.mr->lkey}}, .remote = at, .rkey = far.rkey};
                         ASSERT_EQ(complete(c, qp, r).status, IBV_WC_SUCCESS) << i;
                         r.opcode = IBV_WR_RDMA_READ;
                         r.sges = {{to.addr, 2 * page, to.mr->lkey}};
                         ASSERT_EQ(complete(c, qp, r).status, IBV_WC_SUCCESS) << i;
                         ASSERT_EQ(p.bytes(to.addr, to.length), p.bytes(from.addr, from.length)) << i;
                       }
                       over.send(c, 1);
                     },
                     [&](cpu& c, node& n) {
                       NEEDS_PAGING();
                       process_context p(c, n);
                       qp_options o;
                       ibv_qp* qp = p.create_qp(o);
                       const region r = lazy(p, 80 * page);
                       ASSERT_EQ(p.connect(qp, back.receive(c), o), 0);
                       hello.send(c, {p.address_of(qp, o), *r.mr});
                       over.receive(c);
                       EXPECT_GT(faults_of(n, true), 30);
                     }}));
}

}  // namespace
}  // namespace hcasim::kit
