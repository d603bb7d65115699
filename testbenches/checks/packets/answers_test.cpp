// Every cell of the responder's table of answers against a whole adapter: a packet for each QP state, transport, opcode, place
// of its PSN, message under way and sender, and what the adapter did.
#include <gtest/gtest.h>

#include "models/adapter/responder/arrival_rules.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/forger.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::uint16_t peer = 2;
constexpr std::uint16_t other = 3;
constexpr std::uint32_t mtu = 1024;
constexpr std::uint32_t first_psn = 0xfffffe;  // they wrap
constexpr std::uint32_t qkey = 0x11111111;

struct setting {
  ibv_qp_type type;
  ibv_qp_state state;
  [[nodiscard]] std::uint8_t transport() const {
    switch (type) {
      case IBV_QPT_RC:
        return HCA_TRANSPORT_RC;
      case IBV_QPT_UC:
        return HCA_TRANSPORT_UC;
      case IBV_QPT_UD:
        return HCA_TRANSPORT_UD;
      case IBV_QPT_XRC_SEND:
        return HCA_TRANSPORT_XRC_INI;
      case IBV_QPT_XRC_RECV:
        return HCA_TRANSPORT_XRC_TGT;
    }
    return HCA_TRANSPORT_GROUP;
  }
  [[nodiscard]] bool answers() const { return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV; }
  // Bits 7..5 of its opcodes.
  [[nodiscard]] std::uint8_t bits() const {
    return type == IBV_QPT_XRC_RECV ? wire::xrc : type == IBV_QPT_UC ? wire::uc : wire::rc;
  }
  [[nodiscard]] bool hears() const { return receives(static_cast<std::uint8_t>(state)); }
};

std::vector<std::uint8_t> request_opcodes() {
  std::vector<std::uint8_t> found;
  for (unsigned op = 0; op < 256; ++op) {
    const wire::shape& s = wire::shape_of(static_cast<std::uint8_t>(op));
    if (s.known && !s.response) found.push_back(static_cast<std::uint8_t>(op));
  }
  return found;
}

class bench {
 public:
  bench(cpu& thread, node& on, forger& f, const setting& s)
      : p_(thread, on), c_(thread), n_(on), wire_(f), setting_(s), there_(p_.allocate(65536)), receives_(p_.allocate(65536)) {
    options_.type = s.type;
    options_.psn = 0x777;
    options_.timeout = 0;
    if (s.type == IBV_QPT_XRC_RECV) {
      make_target();
    } else {
      qp_ = p_.create_qp(options_);
    }
  }

  // Whatever the table says of this packet must be what happens.
  void check(request_arrival a) {
    a.state = static_cast<std::uint8_t>(setting_.state);
    a.transport = setting_.transport();
    const bool of_it = of_transport(a.opcode, a.transport);
    if (setting_.hears()) prepare(a);
    const packet_header h = packet_for(a);
    const request_answer answer = answer_to(a);
    SCOPED_TRACE(::testing::Message() << request_answer_names[static_cast<std::size_t>(answer)] << ": opcode " << std::hex
                                      << int{a.opcode} << " psn " << static_cast<int>(a.psn) << " inbound " << int{a.inbound}
                                      << (a.from_peer ? "" : " foreign"));
    const counts before = counted();
    const auto bytes = p_.bytes(there_.addr, 256);
    wire_.answers();
    put(h, of_it);
    const counts after = counted();
    const auto answers = wire_.answers();
    const bool written = p_.bytes(there_.addr, 256) != bytes;
    ++cells_;
    used_ |= 1U << static_cast<unsigned>(answer);
    const bool executes = answer == request_answer::execute || answer == request_answer::begin;
    if (!changes_context(answer)) expect_unchanged();
    if (!executes) {
      EXPECT_FALSE(written);
      EXPECT_EQ(after.messages, before.messages);
    }
    EXPECT_EQ(after.dropped - before.dropped, answer == request_answer::drop);
    EXPECT_EQ(after.foreign - before.foreign, answer == request_answer::drop_foreign);
    EXPECT_EQ(after.unknown - before.unknown, answer == request_answer::drop_unknown);
    switch (answer) {
      case request_answer::execute:
      case request_answer::begin:
        expect_executed(a, h, answers, written);
        break;
      case request_answer::skip:
        EXPECT_TRUE(answers.empty());
        expect_psn(h.psn + 1, setting_.state);
        break;
      case request_answer::refuse:
        expect_answer(answers, wire::acknowledge, expected_, wire::nak_invalid_request);
        EXPECT_EQ(p_.state(qp_), IBV_QPS_ERR);
        break;
      case request_answer::acknowledge:
        expect_answer(answers, wire::acknowledge, expected_ - 1, wire::ack_no_credits);
        break;
      case request_answer::repeat_read:
        expect_answer(answers, wire::read_only, h.psn, wire::ack_no_credits);
        break;
      case request_answer::repeat_atomic:
        expect_answer(answers, wire::atomic_acknowledge, h.psn, wire::ack_no_credits);
        break;
      case request_answer::ask_again:
        expect_answer(answers, wire::acknowledge, expected_, wire::nak_sequence);
        break;
      default:
        EXPECT_TRUE(answers.empty());
        break;
    }
    fresh_ = !changes_context(answer);
    prepared_ = a;
  }

  // The QP in its state, for those that hear nothing.
  void stay_deaf() {
    if (setting_.state == IBV_QPS_RESET) return;
    go_to(setting_.state);
  }
  [[nodiscard]] std::uint64_t cells() const { return cells_; }
  [[nodiscard]] unsigned used() const { return used_; }
  [[nodiscard]] std::uint32_t qpn() const { return qp_->qp_num; }
  void aim(std::uint32_t qpn) { target_ = qpn; }

 private:
  void make_target() {
    const ibv_xrcd_init_attr domain{0, true, false};
    ibv_srq_init_attr_ex shared{};
    shared.attr = {8191, 1, 0};
    shared.srq_type = IBV_SRQT_XRC;
    shared.pd = p_.pd;
    shared.xrcd = ibv_open_xrcd(c_, p_.context, &domain);
    shared.cq = p_.cq;
    srq_ = ibv_create_srq_ex(c_, p_.context, &shared);
    EXPECT_EQ(ibv_get_srq_num(srq_, &srqn_), 0);
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.xrcd = shared.xrcd;
    qp_ = ibv_create_qp_ex(c_, p_.context, &init);
  }
  struct counts {
    int dropped, foreign, unknown, messages;
  };
  [[nodiscard]] counts counted() const {
    const auto of = [this](const char* name) { return static_cast<int>(statistic_of(n_.hca.responder, name)); };
    return {of("dropped"), of("wrong_source") + of("bad_qkey"), of("duplicates_unknown"), of("messages")};
  }
  void put(const packet_header& h, bool of_it) {
    wire_.put(h, !h.shape().payload ? 0 : !of_it || h.shape().last ? 64 : mtu);
    c_.spend(10_us);
    c_.sync();
  }
  [[nodiscard]] packet_header header(std::uint8_t opcode, std::uint32_t psn) const {
    packet_header h = wire_.header(opcode, target_ != 0 ? target_ : qp_->qp_num, psn, peer);
    h.rkey = there_.mr->rkey;
    h.va = there_.addr;
    h.dma_length = 64;
    h.qkey = qkey;
    h.srqn = srqn_;
    return h;
  }
  void put_in_sequence(std::uint8_t opcode, std::uint32_t dma_length = 64) {
    packet_header h = header(opcode, expected_);
    h.dma_length = dma_length;
    put(h, true);
    expected_ = psn_add(expected_, 1);
  }

  void go_to(ibv_qp_state to) {
    ibv_qp_attr a{};
    ASSERT_EQ(p_.reset(qp_), 0);
    const bool rc = setting_.answers();
    const bool ud = setting_.type == IBV_QPT_UD;
    if (to == IBV_QPS_INIT || to == IBV_QPS_RTR) {
      a.qp_state = IBV_QPS_INIT;
      a.port_num = 1;
      a.qp_access_flags = options_.access;
      a.qkey = qkey;
      const int given = ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
      ASSERT_EQ(ibv_modify_qp(c_, qp_, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | given), 0);
    } else {
      ASSERT_EQ(p_.connect(qp_, {peer, 0x777, first_psn}, options_), 0);
    }
    if (to == IBV_QPS_RTR) {
      a.qp_state = IBV_QPS_RTR;
      a.path_mtu = options_.mtu;
      a.dest_qp_num = 0x777;
      a.rq_psn = first_psn;
      a.max_dest_rd_atomic = options_.read_depth;
      a.min_rnr_timer = 1;
      a.ah_attr = {peer, 0, 1};
      const int connected = ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
      const int reliable = rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
      ASSERT_EQ(ibv_modify_qp(c_, qp_, &a, IBV_QP_STATE | connected | reliable), 0);
    } else if (to == IBV_QPS_SQD || to == IBV_QPS_ERR) {
      a.qp_state = to;
      ASSERT_EQ(ibv_modify_qp(c_, qp_, &a, IBV_QP_STATE), 0);
    } else if (to == IBV_QPS_SQE) {
      post(c_, qp_, {.opcode = IBV_WR_SEND, .id = 1, .sges = {{0x10, 64, 0x7777}}, .ah = handle()});
      c_.spend(20_us);
      c_.sync();
    }
    ASSERT_EQ(p_.state(qp_), to);
  }
  ibv_ah* handle() {
    if (setting_.type != IBV_QPT_UD) return nullptr;
    if (!ah_) {
      ibv_ah_attr to{peer, 0, 1};
      ah_ = ibv_create_ah(c_, p_.pd, &to);
    }
    return ah_;
  }

  // A QP that has executed a READ, an addition, a swap and a WRITE, and is in the message that the packet wants to find.
  void prepare(const request_arrival& a) {
    const bool same = fresh_ && a.inbound == prepared_.inbound && long_message(a) == long_message(prepared_) &&
                      (a.psn == psn_class::noticed) == (prepared_.psn == psn_class::noticed);
    if (same) return;
    go_to(setting_.state);
    expected_ = first_psn;
    if (setting_.type == IBV_QPT_XRC_SEND) return;  // nothing is for it
    ibv_wc wc{};
    while (ibv_poll_cq(c_, p_.cq, 1, &wc) == 1) {
    }
    for (unsigned i = 0; i < 4; ++i) {
      const ibv_sge room{receives_.addr + i * 8192ULL, 8192, receives_.mr->lkey};
      ASSERT_EQ(srq_ ? post_receive(c_, srq_, i, {room}) : post_receive(c_, qp_, i, {room}), 0);
    }
    c_.spend(5_us);
    c_.sync();
    const std::uint8_t bits = setting_.bits();
    if (setting_.answers()) {
      for (const std::uint8_t op : {wire::read_request, wire::fetch_add, wire::compare_swap}) put_in_sequence(bits | op);
    }
    if (setting_.type == IBV_QPT_UD) expected_ = psn_add(first_psn, 0);
    if (setting_.type != IBV_QPT_UD) put_in_sequence(bits | wire::write_only);
    if (a.inbound == wire::send_first) put_in_sequence(bits | wire::send_first);
    if (a.inbound == wire::write_first) put_in_sequence(bits | wire::write_first, long_message(a) ? 3 * mtu : mtu + 64);
    if (a.psn == psn_class::noticed) put(header(bits | wire::write_only, psn_add(expected_, 5)), true);
    p_.fill(there_.addr, 256, static_cast<std::uint8_t>(++seed_));
    ASSERT_EQ(p_.state(qp_), setting_.state);
  }
  // The WRITE under way has room for a MIDDLE.
  static bool long_message(const request_arrival& a) { return !wire::shape_of(a.opcode).last; }

  [[nodiscard]] packet_header packet_for(const request_arrival& a) const {
    const request_kind kind = kind_of(a.opcode);
    std::uint32_t psn = expected_;
    switch (a.psn) {
      case psn_class::expected:
        break;
      case psn_class::executed:
        psn = first_psn + (kind == request_kind::read                  ? 0
                           : kind_bits(a.opcode) == wire::fetch_add    ? 1
                           : kind_bits(a.opcode) == wire::compare_swap ? 2
                                                                       : 3);
        break;
      case psn_class::older:
        psn = first_psn - 9;
        break;
      default:
        psn = expected_ + 3;
        break;
    }
    packet_header h = header(a.opcode, psn);
    if (is_read(h) && a.psn == psn_class::expected) h.dma_length = 100;
    if (kind == request_kind::write && !h.shape().last) h.dma_length = 3 * mtu;
    if (!a.from_peer) {
      h.source_lid = other;
      h.qkey = qkey + 1;
    }
    return h;
  }

  void expect_psn(std::uint32_t psn, ibv_qp_state state) {
    ibv_qp_attr a{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(c_, qp_, &a, ~0, &init), 0);
    EXPECT_EQ(a.rq_psn, psn & wire::psn_mask);
    EXPECT_EQ(a.qp_state, state);
  }
  void expect_unchanged() {
    if (setting_.hears() && setting_.type != IBV_QPT_UD) return expect_psn(expected_, setting_.state);
    EXPECT_EQ(p_.state(qp_), setting_.state);
  }
  void expect_answer(const std::vector<packet_header>& got, std::uint8_t opcode, std::uint32_t psn, std::uint8_t syndrome) {
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].opcode, setting_.bits() | opcode);
    EXPECT_EQ(got[0].psn, psn & wire::psn_mask);
    EXPECT_EQ(got[0].syndrome, syndrome);
  }
  void expect_executed(const request_arrival& a, const packet_header& h, const std::vector<packet_header>& answers,
                       bool written) {
    const request_kind kind = kind_of(a.opcode);
    if (h.shape().invalidate) {  // of no key: that is found when all of it was executed
      EXPECT_TRUE(answers.empty());
      EXPECT_EQ(p_.state(qp_), IBV_QPS_ERR);
      return;
    }
    expect_psn(h.psn + 1, setting_.state);
    EXPECT_TRUE(written || !h.shape().reth || kind != request_kind::write);
    if (!setting_.answers()) {
      EXPECT_TRUE(answers.empty());
      return;
    }
    const std::uint8_t opcode = kind == request_kind::read     ? wire::read_only
                                : kind == request_kind::atomic ? wire::atomic_acknowledge
                                                               : wire::acknowledge;
    expect_answer(answers, opcode, h.psn, wire::ack_no_credits);
  }

  process_context p_;
  cpu& c_;
  node& n_;
  forger& wire_;
  const setting setting_;
  qp_options options_;
  region there_;
  region receives_;
  ibv_qp* qp_ = nullptr;
  ibv_ah* ah_ = nullptr;
  ibv_srq* srq_ = nullptr;  // XRC
  std::uint32_t srqn_ = 0;
  std::uint32_t target_ = 0;
  std::uint32_t expected_ = first_psn;
  bool fresh_ = false;  // as prepared
  request_arrival prepared_;
  unsigned seed_ = 0;
  std::uint64_t cells_ = 0;
  unsigned used_ = 0;
};

std::vector<psn_class> classes_of(const setting& s, std::uint8_t opcode) {
  if (s.type == IBV_QPT_UD) return {psn_class::expected};
  if (s.type == IBV_QPT_UC) return {psn_class::expected, psn_class::older, psn_class::ahead};
  std::vector<psn_class> all{psn_class::expected, psn_class::older, psn_class::ahead, psn_class::noticed};
  const request_kind kind = kind_of(opcode);
  if (kind == request_kind::read || kind == request_kind::atomic) all.push_back(psn_class::executed);
  return all;
}

std::vector<std::uint8_t> messages_of(const setting& s) {
  if (s.type == IBV_QPT_UD) return {HCA_INBOUND_NONE};
  return {HCA_INBOUND_NONE, wire::send_first, wire::write_first};
}

void check_all(const setting& s, unsigned answers) {
  EXPECT_EQ(run_forged(world::two_nodes(),
                       [&](cpu& c, node& n, forger& f) {
                         bench b(c, n, f, s);
                         if (!s.hears()) b.stay_deaf();
                         for (const bool from_peer : {true, false}) {
                           for (const std::uint8_t opcode : request_opcodes()) {
                             request_arrival a{.started = s.state != IBV_QPS_RESET && s.state != IBV_QPS_ERR,
                                               .from_peer = from_peer,
                                               .opcode = opcode};
                             if (!s.hears() || !of_transport(opcode, s.transport())) {
                               b.check(a);
                               continue;
                             }
                             for (const std::uint8_t inbound : messages_of(s)) {
                               for (const psn_class psn : classes_of(s, opcode)) {
                                 a.inbound = inbound;
                                 a.psn = psn;
                                 b.check(a);
                                 if (::testing::Test::HasFatalFailure()) return;
                               }
                             }
                           }
                         }
                         EXPECT_EQ(b.used(), answers) << "not every answer was met";
                         EXPECT_GE(b.cells(), 60U);
                       }),
            "");
}

template <class... Answers>
constexpr unsigned set_of(Answers... a) {
  return ((1U << static_cast<unsigned>(a)) | ...);
}
using enum request_answer;
constexpr unsigned none = set_of(drop);
constexpr unsigned reliable =
    set_of(drop, drop_foreign, drop_unknown, execute, refuse, acknowledge, repeat_read, repeat_atomic, ask_again, wait);
constexpr unsigned unreliable = set_of(drop, drop_foreign, execute, begin, skip);
constexpr unsigned datagram = set_of(drop, drop_foreign, execute);

TEST(answers, rc_in_reset) {
  check_all({IBV_QPT_RC, IBV_QPS_RESET}, none);
}
TEST(answers, rc_in_init) {
  check_all({IBV_QPT_RC, IBV_QPS_INIT}, none);
}
TEST(answers, rc_in_rtr) {
  check_all({IBV_QPT_RC, IBV_QPS_RTR}, reliable);
}
TEST(answers, rc_in_rts) {
  check_all({IBV_QPT_RC, IBV_QPS_RTS}, reliable);
}
TEST(answers, rc_in_sqd) {
  check_all({IBV_QPT_RC, IBV_QPS_SQD}, reliable);
}
TEST(answers, rc_in_error) {
  check_all({IBV_QPT_RC, IBV_QPS_ERR}, none);
}
TEST(answers, xrc_target_in_reset) {
  check_all({IBV_QPT_XRC_RECV, IBV_QPS_RESET}, none);
}
TEST(answers, xrc_target_in_init) {
  check_all({IBV_QPT_XRC_RECV, IBV_QPS_INIT}, none);
}
TEST(answers, xrc_target_in_rtr) {
  check_all({IBV_QPT_XRC_RECV, IBV_QPS_RTR}, reliable);
}
TEST(answers, xrc_target_in_rts) {
  check_all({IBV_QPT_XRC_RECV, IBV_QPS_RTS}, reliable);
}
TEST(answers, xrc_target_in_error) {
  check_all({IBV_QPT_XRC_RECV, IBV_QPS_ERR}, none);
}
// It only sends: requests are not for it, of whatever transport.
TEST(answers, xrc_initiator_in_rts) {
  check_all({IBV_QPT_XRC_SEND, IBV_QPS_RTS}, none);
}
TEST(answers, uc_in_init) {
  check_all({IBV_QPT_UC, IBV_QPS_INIT}, none);
}
TEST(answers, uc_in_rtr) {
  check_all({IBV_QPT_UC, IBV_QPS_RTR}, unreliable);
}
TEST(answers, uc_in_rts) {
  check_all({IBV_QPT_UC, IBV_QPS_RTS}, unreliable);
}
TEST(answers, uc_in_sqd) {
  check_all({IBV_QPT_UC, IBV_QPS_SQD}, unreliable);
}
TEST(answers, uc_in_sqe) {
  check_all({IBV_QPT_UC, IBV_QPS_SQE}, unreliable);
}
TEST(answers, uc_in_error) {
  check_all({IBV_QPT_UC, IBV_QPS_ERR}, none);
}
TEST(answers, ud_in_init) {
  check_all({IBV_QPT_UD, IBV_QPS_INIT}, none);
}
TEST(answers, ud_in_rtr) {
  check_all({IBV_QPT_UD, IBV_QPS_RTR}, datagram);
}
TEST(answers, ud_in_rts) {
  check_all({IBV_QPT_UD, IBV_QPS_RTS}, datagram);
}
TEST(answers, ud_in_sqd) {
  check_all({IBV_QPT_UD, IBV_QPS_SQD}, datagram);
}
TEST(answers, ud_in_sqe) {
  check_all({IBV_QPT_UD, IBV_QPS_SQE}, datagram);
}
TEST(answers, ud_in_error) {
  check_all({IBV_QPT_UD, IBV_QPS_ERR}, none);
}

}  // namespace
}  // namespace hcasim::kit
