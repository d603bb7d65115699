#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {

base_case::base_case(cpu& thread, node& on, const qp_options& o)
    : p(thread, on),
      c(thread),
      options(o),
      a(p.create_qp(o)),
      b(p.create_qp(o)),
      here(p.allocate(16384)),
      there(p.allocate(16384)) {
  EXPECT_EQ(p.connect(a, p.address_of(b, o), o), 0);
  EXPECT_EQ(p.connect(b, p.address_of(a, o), o), 0);
  p.fill(here.addr, here.length, 1);
  p.fill(there.addr, there.length, 99);
}

void base_case::reconnect() {
  for (ibv_qp* qp : {a, b}) EXPECT_EQ(p.reset(qp), 0);
  ibv_wc wc{};
  while (ibv_poll_cq(c, p.cq, 1, &wc) == 1) {
  }
  EXPECT_EQ(p.connect(a, p.address_of(b, options), options), 0);
  EXPECT_EQ(p.connect(b, p.address_of(a, options), options), 0);
  received.clear();
}

request base_case::a_write(std::uint64_t id, std::uint32_t bytes) const {
  return {.id = id, .sges = {{here.addr, bytes, here.mr->lkey}}, .remote = there.addr, .rkey = there.mr->rkey};
}

ibv_wc base_case::write(std::uint64_t remote, std::uint32_t rkey, std::uint32_t bytes) {
  return complete(c, a, {.id = 1, .sges = {{here.addr, bytes, here.mr->lkey}}, .remote = remote, .rkey = rkey}, &received);
}

ibv_wc base_case::read(std::uint64_t remote, std::uint32_t rkey, std::uint32_t bytes) {
  return complete(
      c, a, {.opcode = IBV_WR_RDMA_READ, .id = 2, .sges = {{here.addr, bytes, here.mr->lkey}}, .remote = remote, .rkey = rkey},
      &received);
}

ibv_wc base_case::add(std::uint64_t remote, std::uint32_t rkey, std::uint64_t value) {
  return complete(c, a,
                  {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                   .id = 3,
                   .sges = {{here.addr, 8, here.mr->lkey}},
                   .remote = remote,
                   .rkey = rkey,
                   .compare_add = value},
                  &received);
}

ibv_wc base_case::swap(std::uint64_t remote, std::uint32_t rkey, std::uint64_t compare, std::uint64_t value) {
  return complete(c, a,
                  {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
                   .id = 4,
                   .sges = {{here.addr, 8, here.mr->lkey}},
                   .remote = remote,
                   .rkey = rkey,
                   .compare_add = compare,
                   .swap = value},
                  &received);
}

ibv_wc base_case::send(std::uint32_t bytes) {
  return complete(c, a, {.opcode = IBV_WR_SEND, .id = 5, .sges = {{here.addr, bytes, here.mr->lkey}}}, &received);
}

ibv_wc base_case::receive_completion() {
  for (std::size_t i = 0; i < received.size(); ++i) {
    if (received[i].qp_num != b->qp_num) continue;
    const ibv_wc wc = received[i];
    received.erase(received.begin() + static_cast<std::ptrdiff_t>(i));
    return wc;
  }
  for (auto wc = next_completion(c, p.cq); wc.has_value(); wc = next_completion(c, p.cq)) {
    if (wc->qp_num == b->qp_num) return *wc;
    received.push_back(*wc);
  }
  ADD_FAILURE() << "no receive completion";
  ibv_wc none{};
  none.status = IBV_WC_GENERAL_ERR;
  return none;
}

namespace {

void expect_failure(base_case& t, const std::function<ibv_wc()>& request, ibv_wc_status status, ibv_qp_state peer,
                    std::uint64_t remote, std::uint64_t watched) {
  const auto before = t.p.bytes(remote, watched);
  EXPECT_EQ(request().status, status);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_ERR);
  EXPECT_EQ(t.p.state(t.b), peer);
  EXPECT_EQ(t.p.bytes(remote, watched), before) << "memory was changed";
  t.reconnect();
}

}  // namespace

void base_case::expect_denied(const std::function<ibv_wc()>& request, ibv_wc_status status, std::uint64_t remote,
                              std::uint64_t watched) {
  expect_failure(*this, request, status, IBV_QPS_ERR, remote, watched);
}

void base_case::expect_denied_here(const std::function<ibv_wc()>& request, ibv_wc_status status, std::uint64_t remote,
                                   std::uint64_t watched) {
  expect_failure(*this, request, status, IBV_QPS_RTS, remote, watched);
}

void run_case(const std::function<void(cpu&, node&)>& body, const system_config& config) {
  world w(config);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    const fw_usage before = n.hca.command_unit.usage();
    body(c, n);
    const fw_usage after = n.hca.command_unit.usage();
    EXPECT_EQ(after.mrs, before.mrs) << "keys are left over";
    EXPECT_EQ(after.qps, before.qps) << "QPs are left over";
    EXPECT_EQ(after.cqs, before.cqs) << "CQs are left over";
    EXPECT_EQ(after.spaces, before.spaces) << "address spaces are left over";
    EXPECT_EQ(after.segments, before.segments) << "segments are left over";
    EXPECT_EQ(after.table_bytes, before.table_bytes) << "page tables are left over";
  }}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

}  // namespace hcasim::kit
