// Event queues, completion queues, shared receive queues.
#include <algorithm>
#include <cstring>

#include "firmware/abi/registers.h"
#include "firmware/control/queues/queue_bench.h"

using namespace hcasim::testing;

namespace {

TEST_F(queues, event_queue) {
  EXPECT_EQ(b.h.eqs.at(0).buffer.log_bytes, 12);
  const auto with = [&](auto change) {
    hca_eqc e{};
    e.buffer.log_bytes = 12;
    change(e);
    return b.run(HCA_CMD_CREATE_EQ, 0, 0, e);
  };
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.page_shift = 12; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.pages = 32; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.log_bytes = 5; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.log_bytes = 23; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.vector = HCA_MSIX_VECTORS; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.reserved[1] = 1; }), HCA_BAD_PARAMETER);
  for (std::uint32_t i = 1; i < 4; i++) EXPECT_EQ(b.create_eq(), i);
  EXPECT_EQ(b.create_eq(), ~0U);
  EXPECT_EQ(b.command.status, HCA_NO_RESOURCES);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 0), HCA_BUSY);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 2), HCA_OK);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 2), HCA_BAD_OBJECT);
  EXPECT_EQ(b.h.eqs.count(2), 0U);
  EXPECT_EQ(b.create_eq(), 2U);
}

TEST_F(queues, completion_queue) {
  const hca_cqc q = b.cqc(cqn);
  EXPECT_EQ(q.state, HCA_CQ_VALID);
  EXPECT_EQ(q.arm, HCA_ARM_NONE);
  EXPECT_EQ(q.eqn, 0);
  EXPECT_EQ(q.buffer.log_bytes, 13);
  EXPECT_EQ(q.buffer.page_shift, 12);
  EXPECT_EQ(b.h.get<hca_pte>(q.buffer.pages), 0x7000U | HCA_PTE_PRESENT);
  EXPECT_EQ(b.h.get<hca_pte>(q.buffer.pages + 8), 0x5000U | HCA_PTE_PRESENT);
  EXPECT_EQ(b.h.get<hca_pte>(q.buffer.pages + 16), 0U);
  ASSERT_EQ(b.run(HCA_CMD_MODIFY_CQ, cqn, 16 | 20 << 16), HCA_OK);
  EXPECT_EQ(b.cqc(cqn).moderation_count, 16);
  EXPECT_EQ(b.cqc(cqn).moderation_us, 20);
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_CQ, cqn + 1, 0), HCA_BAD_OBJECT);

  const auto with = [&](auto change, std::vector<std::uint64_t> pages = {0x1000}) {
    hca_create_cq p{};
    p.log_entries = 6;
    p.page_shift = 12;
    change(p);
    p.pages = static_cast<std::uint32_t>(pages.size());
    return b.run(HCA_CMD_CREATE_CQ, 0, 0, p, pages);
  };
  EXPECT_EQ(with([](hca_create_cq& p) { p.log_entries = 23; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.log_entries = 7; }), HCA_BAD_PARAMETER) << "needs two pages";
  EXPECT_EQ(with([](hca_create_cq& p) { p.page_shift = 13; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.page_shift = 32; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.record = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.reserved0 = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.reserved1 = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.uar = HCA_UAR_COUNT; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.eqn = 1; }), HCA_BAD_OBJECT);
  EXPECT_EQ(with([](hca_create_cq&) {}, {0x1008}), HCA_BAD_PARAMETER) << "not a page";
  EXPECT_EQ(with([](hca_create_cq&) {}, {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.page_shift = 0; }, {0x1040}), HCA_OK);
  EXPECT_EQ(b.cqc(b.command.result[0]).buffer.pages, 0x1040U);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, b.command.result[0]), HCA_OK);
  EXPECT_EQ(b.usage().cqs, 1U);

  b.h.logging = true;
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_OK);
  EXPECT_EQ(b.h.log.back(), (hal::call{hal::op::translation_drop, HCA_TAG_CQ | cqn, 0, ~0ULL}));
  EXPECT_EQ(b.cqc(cqn).state, HCA_CQ_INVALID);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 0), HCA_OK);
}

// Indices go on, and unconsumed CQEs must fit. No unit has the context meanwhile, and translations of the old buffer are gone
// before a unit may have it again.
TEST_F(queues, a_completion_queue_gets_another_buffer) {
  const std::uint64_t entry = b.areas().cqc_base + cqn * sizeof(hca_cqc);
  hca_cqc q = b.cqc(cqn);
  q.pi = 0xffff'fff0;
  q.ci = 0xffff'ffe0;
  q.arm = HCA_ARM_NEXT;
  b.h.put(entry, q);
  const std::uint64_t tables = b.usage().table_bytes;
  const auto with = [&](auto change, std::vector<std::uint64_t> pages = {0xa000}) {
    hca_resize_cq p{};
    p.log_entries = 4;
    p.page_shift = 12;
    p.ci = 0xffff'ffe4;
    change(p);
    p.pages = static_cast<std::uint32_t>(pages.size());
    return b.run(HCA_CMD_RESIZE_CQ, cqn, 0, p, pages);
  };
  EXPECT_EQ(with([](hca_resize_cq& p) { p.log_entries = 3; }), HCA_BAD_PARAMETER) << "12 are there";
  EXPECT_EQ(with([](hca_resize_cq& p) { p.ci = 0xffff'ffdf; }), HCA_BAD_PARAMETER) << "before what it has said already";
  EXPECT_EQ(with([](hca_resize_cq& p) { p.ci = 0xffff'fff1; }), HCA_BAD_PARAMETER) << "what is not there";
  EXPECT_EQ(with([](hca_resize_cq& p) { p.log_entries = 23; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_resize_cq& p) { p.log_entries = 7; }), HCA_BAD_PARAMETER) << "needs two pages";
  EXPECT_EQ(with([](hca_resize_cq& p) { p.reserved0 = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_resize_cq& p) { p.reserved1 = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_resize_cq&) {}, {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.run(HCA_CMD_RESIZE_CQ, cqn), HCA_BAD_LENGTH);
  EXPECT_EQ(b.usage().table_bytes, tables) << "nothing is kept";

  b.h.logging = true;
  ASSERT_EQ(with([](hca_resize_cq&) {}), HCA_OK);
  EXPECT_EQ(b.command.result[0], 0xffff'fff0);
  hca_cqc now = b.cqc(cqn);
  EXPECT_EQ(now.buffer.log_bytes, 10);
  EXPECT_EQ(b.h.get<hca_pte>(now.buffer.pages), 0xa000U | HCA_PTE_PRESENT);
  EXPECT_EQ(now.ci, 0xffff'ffe4);
  now.buffer = q.buffer;
  now.ci = q.ci;
  EXPECT_EQ(std::memcmp(&now, &q, sizeof q), 0) << "all else is as it was";
  const auto place = [&](const hal::call& c) { return std::find(b.h.log.begin(), b.h.log.end(), c); };
  const auto taken = place({hal::op::take_cq, cqn});
  const auto dropped = place({hal::op::translation_drop, HCA_TAG_CQ | cqn, 0, ~0ULL});
  const auto given = place({hal::op::give_cq, cqn});
  ASSERT_NE(given, b.h.log.end());
  EXPECT_LT(taken, place({hal::op::write, entry, sizeof q}));
  EXPECT_LT(place({hal::op::write, entry, sizeof q}), dropped);
  EXPECT_LT(dropped, given);
  for (const auto& [n, count] : b.h.taken_cqs) EXPECT_EQ(count, 0) << n;

  q = b.cqc(cqn);
  q.state = HCA_CQ_OVERFLOWN;
  b.h.put(entry, q);
  EXPECT_EQ(with([](hca_resize_cq&) {}), HCA_BAD_STATE);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_OK);
  EXPECT_EQ(with([](hca_resize_cq&) {}), HCA_BAD_OBJECT);
  EXPECT_EQ(b.usage().table_bytes, 0U);
}

// 1024 pages: a root of two entries over two full nodes. If the last page fails, nothing is kept.
TEST_F(queues, a_list_of_more_pages_than_a_node_has_levels) {
  std::vector<std::uint64_t> pages;
  for (std::uint64_t i = 0; i < 2 * HCA_PTE_PER_NODE; ++i) pages.push_back((i * 7919 % 4096) << 12);
  hca_create_cq p{};
  p.log_entries = 16;
  p.page_shift = 12;
  p.pages = static_cast<std::uint32_t>(pages.size());
  const std::uint64_t before = b.usage().table_bytes;
  ASSERT_EQ(b.run(HCA_CMD_CREATE_CQ, 0, 0, p, pages), HCA_OK);
  const std::uint32_t big = b.command.result[0];
  const hca_buffer list = b.cqc(big).buffer;
  EXPECT_EQ(list.levels, 2);
  EXPECT_EQ(b.usage().table_bytes - before, 2 * 4096U + 64U);
  for (std::uint64_t i = 0; i < pages.size(); ++i) {
    const std::uint64_t leaf = hca_pte_address(b.h.get<hca_pte>(list.pages + i / HCA_PTE_PER_NODE * 8));
    ASSERT_EQ(b.h.get<hca_pte>(leaf + i % HCA_PTE_PER_NODE * 8), pages[i] | HCA_PTE_PRESENT) << i;
  }
  ASSERT_EQ(b.run(HCA_CMD_DESTROY_CQ, big), HCA_OK);
  EXPECT_EQ(b.usage().table_bytes, before);

  pages.back() |= 8;
  EXPECT_EQ(b.run(HCA_CMD_CREATE_CQ, 0, 0, p, pages), HCA_BAD_PARAMETER) << "not a page";
  EXPECT_EQ(b.usage().table_bytes, before);

  fw_limits l = small_limits();
  l.queue_levels = 1;
  firmware_bench flat(l);
  ASSERT_EQ(flat.create_eq(), 0U);
  pages.back() ^= 8;
  EXPECT_EQ(flat.run(HCA_CMD_CREATE_CQ, 0, 0, p, pages), HCA_BAD_PARAMETER) << "a list has one level";
}

// No unit has the CQ context while its moderation is changed.
TEST_F(queues, moderation_is_changed_in_a_context_that_is_taken) {
  hca_cqc q = b.cqc(cqn);
  const std::uint64_t at = b.areas().cqc_base + cqn * 64ULL;
  int accesses = 0;
  b.h.observer = [&](const hal::call& c) {
    if (c.what == hal::op::take_cq) {  // dropped, and so written back
      q.pi = 77;
      b.h.put(at, q);
    }
    if ((c.what == hal::op::read || c.what == hal::op::write) && c.a == at) {
      ++accesses;
      EXPECT_EQ(b.h.taken_cqs[cqn], 1);
    }
  };
  ASSERT_EQ(b.run(HCA_CMD_MODIFY_CQ, cqn, 9), HCA_OK);
  EXPECT_EQ(accesses, 2);
  EXPECT_EQ(b.h.taken_cqs[cqn], 0);
  EXPECT_EQ(b.cqc(cqn).moderation_count, 9);
  EXPECT_EQ(b.cqc(cqn).pi, 77U);
}

hca_create_srq srq_parameters() {
  hca_create_srq p{};
  p.log_bytes = 12;
  p.stride_shift = 5;
  p.page_shift = 12;
  p.pd = 3;
  p.pages = 1;
  p.record = 0x900;
  return p;
}

TEST_F(queues, create_shared_queue) {
  ASSERT_EQ(b.run(HCA_CMD_CREATE_SRQ, 0, 0, srq_parameters(), std::vector<std::uint64_t>{0x7000}), HCA_OK);
  const std::uint32_t srqn = b.command.result[0];
  const hca_qpc q = b.qpc(srqn);
  EXPECT_EQ(q.transport, HCA_TRANSPORT_SRQ);
  EXPECT_EQ(q.pd, 3U);
  EXPECT_EQ(q.rq.log_bytes, 12);
  EXPECT_EQ(q.in_wqe, 0);
  // An SRQ is no QP.
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, srqn), HCA_BAD_OBJECT);
  b.h.put(srq_parameters().record + offsetof(hca_qp_record, rq_pi), std::uint32_t{5});  // five receives are posted
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_SRQ, srqn, 5), HCA_OK);
  EXPECT_EQ(b.qpc(srqn).srq_limit, 5U);
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_SRQ, srqn, 128), HCA_BAD_PARAMETER) << "it has 128 slots, one of them free";

  hca_create_qp with = firmware_bench::qp_parameters(cqn);
  with.srqn = srqn;
  with.rq_pages = with.log_rq_bytes = 0;
  ASSERT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, with, std::vector<std::uint64_t>(with.sq_pages, 0x10000)), HCA_OK);
  const std::uint32_t qpn = b.command.result[0];
  EXPECT_EQ(b.qpc(qpn).srqn, srqn);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, qpn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_BUSY);

  // Destroying a QP reports the receive that the QP has taken.
  hca_qpc held = b.qpc(qpn);
  held.in_wqe = 9;
  held.in_wqe_held = 1;
  b.h.put(b.areas().qpc_base + qpn * 256ULL, held);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  EXPECT_EQ(b.command.result[0], 10U);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_OK);
  EXPECT_EQ(b.run(HCA_CMD_QUERY_SRQ, srqn), HCA_BAD_LENGTH);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.usage().qps, 0U);
}

// Everything but the buffer stays, and no WQE is read in between.
TEST_F(queues, a_shared_queue_gets_a_larger_buffer) {
  ASSERT_EQ(b.run(HCA_CMD_CREATE_SRQ, 0, 0, srq_parameters(), std::vector<std::uint64_t>{0x7000}), HCA_OK);
  const std::uint32_t srqn = b.command.result[0];
  const std::uint64_t entry = b.areas().qpc_base + srqn * sizeof(hca_qpc);
  hca_qpc q = b.qpc(srqn);
  q.in_wqe = 77;
  q.rq_ci = 0xfff0;
  b.h.put(entry, q);
  const std::uint64_t tables = b.usage().table_bytes;
  const auto with = [&](auto change, std::vector<std::uint64_t> pages = {0xa000, 0xc000}) {
    hca_resize_srq p{};
    p.log_bytes = 13;
    p.page_shift = 12;
    change(p);
    p.pages = static_cast<std::uint32_t>(pages.size());
    return b.run(HCA_CMD_RESIZE_SRQ, srqn, 0, p, pages);
  };
  EXPECT_EQ(with([](hca_resize_srq& p) { p.log_bytes = 11; }), HCA_BAD_PARAMETER) << "smaller";
  EXPECT_EQ(with([](hca_resize_srq& p) { p.log_bytes = 21; }), HCA_BAD_PARAMETER) << "more slots than can be numbered";
  EXPECT_EQ(with([](hca_resize_srq& p) { p.log_bytes = 14; }), HCA_BAD_PARAMETER) << "needs four pages";
  EXPECT_EQ(with([](hca_resize_srq& p) { p.reserved0 = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_resize_srq&) {}, {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.run(HCA_CMD_RESIZE_SRQ, srqn), HCA_BAD_LENGTH);
  EXPECT_EQ(b.usage().table_bytes, tables) << "nothing is kept";

  b.h.logging = true;
  ASSERT_EQ(with([](hca_resize_srq&) {}), HCA_OK);
  hca_qpc now = b.qpc(srqn);
  EXPECT_EQ(now.rq.log_bytes, 13);
  now.rq = q.rq;
  EXPECT_EQ(std::memcmp(&now, &q, sizeof q), 0) << "all else is as it was";
  const auto place = [&](const hal::call& c) { return std::find(b.h.log.begin(), b.h.log.end(), c); };
  const auto taken = place({hal::op::take, srqn});
  const auto dropped = place({hal::op::translation_drop, HCA_TAG_RQ | srqn, 0, ~0ULL});
  const auto given = place({hal::op::give, srqn});
  ASSERT_NE(given, b.h.log.end());
  EXPECT_LT(taken, dropped);
  EXPECT_LT(dropped, given);

  const std::uint32_t qpn = b.create_qp(cqn);
  EXPECT_EQ(b.run(HCA_CMD_RESIZE_SRQ, qpn, 0, hca_resize_srq{13, 12, 0, 2}, std::vector<std::uint64_t>{0xa000, 0xc000}),
            HCA_BAD_OBJECT);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_OK);
}

TEST_F(queues, create_shared_queue_refusals) {
  const auto with = [&](auto change, std::vector<std::uint64_t> pages = {0x7000}) {
    hca_create_srq p = srq_parameters();
    change(p);
    const std::uint64_t before = b.usage().table_bytes;
    const int status = b.run(HCA_CMD_CREATE_SRQ, 0, 0, p, pages);
    EXPECT_EQ(b.usage().qps, 0U);
    EXPECT_EQ(b.usage().table_bytes, before);
    return status;
  };
  EXPECT_EQ(with([](hca_create_srq& p) { p.stride_shift = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.stride_shift = 11; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.log_bytes = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.log_bytes = 21; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.pd = 1 << 24; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.record = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.uar = HCA_UAR_COUNT; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.pages = 2; }), HCA_BAD_LENGTH);
  EXPECT_EQ(with([](hca_create_srq& p) { p.pages = 0; }, {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.log_bytes = 14; }), HCA_BAD_PARAMETER) << "needs four pages";
}

}  // namespace
