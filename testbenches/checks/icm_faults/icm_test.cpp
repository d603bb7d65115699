// One damaged entry: its user fails and reports the fault; the rest of the adapter goes on.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>

#include "testbenches/checks/icm_faults/bed.h"

namespace hcasim::icm {
namespace {

struct damage {
  const char* name;
  table where;
  bool shared;  // the victim receives from an SRQ
  std::size_t offset;
  std::vector<unsigned> bits;  // from there on
  int event;                   // the event for software; -1 = completions tell enough
};

#define AT(type, field) offsetof(struct type, field)
constexpr int none = -1;

const std::vector<damage> damages = {
    {"mtu_beyond_any_packet", table::qpc, false, AT(hca_qpc, mtu_shift), {2}, IBV_EVENT_QP_FATAL},
    {"mtu_beyond_any_packet_of_the_responder", table::responder_qpc, false, AT(hca_qpc, mtu_shift), {2}, IBV_EVENT_QP_FATAL},
    {"mtu_beyond_the_ports", table::qpc, false, AT(hca_qpc, mtu_shift), {0, 1, 2}, IBV_EVENT_QP_FATAL},
    {"transport_that_there_is_not", table::qpc, false, AT(hca_qpc, transport), {0, 1, 2}, IBV_EVENT_QP_FATAL},
    {"transport_of_the_responder", table::responder_qpc, false, AT(hca_qpc, transport), {0, 1, 2}, IBV_EVENT_QP_FATAL},
    {"state_that_there_is_not", table::qpc, false, AT(hca_qpc, state), {2}, IBV_EVENT_QP_FATAL},
    {"srq_that_there_is_not", table::responder_qpc, true, AT(hca_qpc, srqn), {12}, IBV_EVENT_QP_FATAL},
    {"srqn_of_more_than_24_bits", table::responder_qpc, true, AT(hca_qpc, srqn), {30}, IBV_EVENT_QP_FATAL},
    {"stride_of_the_receive_queue", table::responder_qpc, false, AT(hca_qpc, rq_stride_shift), {3}, IBV_EVENT_QP_FATAL},
    {"size_of_the_receive_queue",
     table::responder_qpc,
     false,
     AT(hca_qpc, rq) + AT(hca_buffer, log_bytes),
     {4},
     IBV_EVENT_QP_FATAL},
    {"size_of_the_send_queue", table::qpc, false, AT(hca_qpc, sq) + AT(hca_buffer, log_bytes), {4}, IBV_EVENT_QP_FATAL},
    {"levels_of_a_page_list", table::qpc, false, AT(hca_qpc, sq) + AT(hca_buffer, levels), {1}, IBV_EVENT_QP_FATAL},
    {"reserved_bits_of_a_qp", table::qpc, false, AT(hca_qpc, reserved5), {100}, IBV_EVENT_QP_FATAL},
    {"stride_of_an_srq", table::srqc, true, AT(hca_qpc, rq_stride_shift), {3}, IBV_EVENT_SRQ_ERR},
    {"next_slot_of_an_srq", table::srqc, true, AT(hca_qpc, in_wqe), {15}, IBV_EVENT_SRQ_ERR},
    {"transport_of_an_srq", table::srqc, true, AT(hca_qpc, transport), {2}, IBV_EVENT_SRQ_ERR},
    {"size_of_a_cq", table::cqc, false, AT(hca_cqc, buffer) + AT(hca_buffer, log_bytes), {6}, IBV_EVENT_CQ_ERR},
    {"state_of_a_cq", table::cqc, false, AT(hca_cqc, state), {2}, IBV_EVENT_CQ_ERR},
    {"more_cqes_than_there_is_room", table::cqc, false, AT(hca_cqc, ci), {20}, IBV_EVENT_CQ_ERR},
    {"kind_of_a_region", table::mrc, false, AT(hca_mrc, kind), {7}, none},
    {"page_size_of_a_region", table::mrc, false, AT(hca_mrc, page_shift), {0}, none},
    {"levels_of_a_region", table::mrc, false, AT(hca_mrc, levels), {3}, none},
    {"length_of_a_region_beyond_its_table", table::mrc, false, AT(hca_mrc, length), {40}, none},
    {"flags_of_a_page", table::pte, false, 16, {4}, none},
    {"presence_of_a_page", table::pte, false, 16, {0}, none},
};

bool is_of(const ibv_async_event& e, const pair& v) {
  switch (e.event_type) {
    case IBV_EVENT_CQ_ERR:
      return e.element.cq == v.cq;
    case IBV_EVENT_SRQ_ERR:
      return e.element.srq == v.srq;
    case IBV_EVENT_DEVICE_FATAL:
      return false;
    default:
      return e.element.qp == v.a || e.element.qp == v.b;
  }
}

class one_bad_entry : public ::testing::TestWithParam<std::size_t> {};

TEST_P(one_bad_entry, fails_only_requests_that_need_it) {
  const damage& d = damages[GetParam()];
  world w(config());
  bool done = false;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    bed b(c, n);
    pair victim = b.make_pair(d.shared, false);
    pair bystander = b.make_pair(d.shared, false);
    ASSERT_EQ(b.work(victim, 2), 2 * bed::operations);
    ASSERT_EQ(b.work(bystander, 2), 2 * bed::operations);
    c.sync();
    const place at = b.find(victim, d.where);
    ASSERT_NE(at.address, 0U);
    for (const unsigned bit : d.bits) b.flip(at.address + d.offset, bit);
    EXPECT_LT(b.work(victim, 2), 2 * bed::operations);
    EXPECT_EQ(b.work(bystander, 4), 4 * bed::operations);
    int heard = 0;
    for (const ibv_async_event& e : b.events()) {
      EXPECT_TRUE(is_of(e, victim)) << e.event_type;
      heard += e.event_type == d.event;
    }
    EXPECT_EQ(heard, d.event != none ? 1 : 0) << "once";
    EXPECT_TRUE(b.guards_intact(victim));
    EXPECT_TRUE(b.guards_intact(bystander));
    // Commands: undamaged objects can be made and destroyed; damaged ones give an error.
    pair later = b.make_pair(d.shared, false);
    EXPECT_EQ(b.work(later, 1), bed::operations);
    EXPECT_EQ(ibv_destroy_qp(c, later.a), 0);
    EXPECT_EQ(ibv_destroy_qp(c, later.b), 0);
    EXPECT_EQ(ibv_dereg_mr(c, later.to.mr), 0);
    if (d.where == table::qpc || d.where == table::responder_qpc) {
      ibv_qp* const damaged = d.where == table::qpc ? victim.a : victim.b;
      const bool believed_by_firmware = d.name == std::string("srq_that_there_is_not");
      EXPECT_EQ(ibv_destroy_qp(c, damaged), believed_by_firmware ? 0 : EIO);
    }
    const int gone = d.where == table::mrc ? ibv_dereg_mr(c, victim.to.mr) : EIO;
    EXPECT_EQ(gone, EIO);
    EXPECT_EQ(b.work(bystander, 1), bed::operations);
    done = true;
    c.sync();
    sc_core::sc_stop();
  }}) || done);
  EXPECT_TRUE(done);
}

INSTANTIATE_TEST_SUITE_P(icm, one_bad_entry, ::testing::Range<std::size_t>(0, damages.size()),
                         [](const auto& i) { return std::string(damages[i.param].name); });

// Entries that were never fetched yet, and units of which there is RTL.
struct first_fetch {
  const char* name;
  table where;
  std::size_t offset;
  unsigned bit;
  icm_check check;
  const char* counted;  // statistic of the DMA engine
  bool works;
};

const std::vector<first_fetch> first_fetches = {
    {"kind_of_a_region", table::mrc, AT(hca_mrc, kind), 7, icm_check::none, "icm_unbelievable_mrc", false},
    {"flags_of_a_page", table::pte, 16, 4, icm_check::none, "icm_unbelievable_pte", false},
    {"state_of_a_cq", table::cqc, AT(hca_cqc, state), 5, icm_check::none, "icm_unbelievable_cqc", false},
    {"address_of_a_page_with_parity", table::pte, 16, 13, icm_check::parity, "icm_detected_pte", false},
    {"start_of_a_region_with_parity", table::mrc, AT(hca_mrc, start), 2, icm_check::parity, "icm_detected_mrc", false},
    {"address_of_a_page_put_right", table::pte, 16, 13, icm_check::secded, "icm_corrected_pte", true},
    {"kind_of_a_region_put_right", table::mrc, AT(hca_mrc, kind), 7, icm_check::secded, "icm_corrected_mrc", true},
    {"next_cqe_put_right", table::cqc, AT(hca_cqc, pi), 3, icm_check::secded, "icm_corrected_cqc", true},
};

class as_model_and_rtl : public ::testing::TestWithParam<std::tuple<bool, std::size_t>> {};

TEST_P(as_model_and_rtl, a_damaged_entry_is_the_same) {
  const auto [rtl, n_of_case] = GetParam();
  const first_fetch& f = first_fetches[n_of_case];
  system_config described = world::one_node();
  hca_config& h = described.nodes[0].hca;
  h.icm.check = f.check;
  h.mrc_cache.implementation = h.cqc_cache.implementation = h.page_walker.implementation =
      rtl ? implementation::rtl : implementation::model;
  world w(described);
  bool done = false;
  w.run({[&, which = &f](cpu& c, node& n) {
    bed b(c, n);
    pair victim = b.make_pair(false, false);
    pair bystander = b.make_pair(false, false);
    c.sync();
    b.flip(b.find(victim, which->where).address + which->offset, which->bit);
    const unsigned well = b.work(victim, 1);
    EXPECT_EQ(well == bed::operations, which->works) << well;
    EXPECT_GT(b.counted(which->counted), 0);
    EXPECT_EQ(b.work(bystander, 1), bed::operations);
    EXPECT_TRUE(b.guards_intact(victim));
    done = true;
    c.sync();
    sc_core::sc_stop();
  }});
  EXPECT_TRUE(done);
}

INSTANTIATE_TEST_SUITE_P(icm, as_model_and_rtl,
                         ::testing::Combine(::testing::Bool(), ::testing::Range<std::size_t>(0, first_fetches.size())),
                         [](const auto& i) {
                           return std::string(std::get<0>(i.param) ? "rtl_" : "model_") +
                                  first_fetches[std::get<1>(i.param)].name;
                         });

}  // namespace
}  // namespace hcasim::icm
