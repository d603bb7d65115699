// The attributes of ibv_modify_qp against the table of the Linux core's verbs layer (ib_modify_qp_is_ok), and against the masks
// that programs really set.
#include "models/driver/verbs/qp_transition.h"

#include <gtest/gtest.h>

#include <string_view>

namespace hcasim::driver {
namespace {

using namespace verbs;

// The attributes behind IBV_QP_STATE, one letter each, in the order of their bits.
constexpr std::string_view letters = "CNakpqVMtrwsxLnSdPcD";

int bits(std::string_view names) {
  int mask = 0;
  for (const char name : names) {
    const std::size_t at = letters.find(name);
    EXPECT_NE(at, std::string_view::npos) << name;
    mask |= 1 << (at + 1);
  }
  return mask;
}

static_assert(letters.size() == 20);

constexpr ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};

struct row {
  ibv_qp_state from, to;
  struct {
    std::string_view required, optional;
  } of[5];
};

// C current state, N notice of SQD, a access, k P_Key, p port, q Q_Key, V address vector, M path MTU, t timeout, r retries,
// w RNR retries, s PSN of receives, x READs out, L alternate path, n RNR timer, S PSN of sends, d READs in, P migration,
// c capacities, D destination.
constexpr row rows[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, {{"akp", ""}, {"akp", ""}, {"kpq", ""}, {"akp", ""}, {"akp", ""}}},
    {IBV_QPS_INIT, IBV_QPS_INIT, {{"", "akp"}, {"", "akp"}, {"", "kpq"}, {"", "akp"}, {"", "akp"}}},
    {IBV_QPS_INIT, IBV_QPS_RTR, {{"VMDsdn", "Lak"}, {"VMDs", "Lak"}, {"", "kq"}, {"VMDs", "Lak"}, {"VMDsdn", "Lak"}}},
    {IBV_QPS_RTR, IBV_QPS_RTS, {{"trwSx", "CLanP"}, {"S", "CLaP"}, {"S", "Cq"}, {"trwSx", "CLaP"}, {"tS", "CLanP"}}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {{"", "CaLPn"}, {"", "CaLP"}, {"", "Cq"}, {"", "CaLP"}, {"", "CaLPn"}}},
    {IBV_QPS_RTS, IBV_QPS_SQD, {{"", "N"}, {"", "N"}, {"", "N"}, {"", "N"}, {"", "N"}}},
    {IBV_QPS_SQD, IBV_QPS_RTS, {{"", "CLanP"}, {"", "CLaP"}, {"", "Cq"}, {"", "CLaP"}, {"", "CLanP"}}},
    {IBV_QPS_SQD, IBV_QPS_SQD, {{"", "pVtrwxdLaknP"}, {"", "VLakP"}, {"", "kq"}, {"", "pVtrwxLakP"}, {"", "pVtdLaknP"}}},
    {IBV_QPS_SQE, IBV_QPS_RTS, {{"", ""}, {"", "Ca"}, {"", "Cq"}, {"", ""}, {"", ""}}},
};

bool valid(ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET) return true;
  if (to == IBV_QPS_ERR) return from != IBV_QPS_RESET;
  for (const row& r : rows) {
    if (r.from == from && r.to == to) return true;
  }
  return false;
}

// From each state to each, for each type: without any one of what is required it is refused, with any one of what is optional
// it is taken, with any other it is refused.
TEST(QpTransition, EveryAttributeOfEveryChange) {
  for (int f = IBV_QPS_RESET; f <= IBV_QPS_ERR; ++f) {
    for (int t = IBV_QPS_RESET; t <= IBV_QPS_ERR; ++t) {
      const auto from = static_cast<ibv_qp_state>(f);
      const auto to = static_cast<ibv_qp_state>(t);
      for (std::size_t type = 0; type < std::size(types); ++type) {
        int required = 0;
        int optional = 0;
        for (const row& r : rows) {
          if (r.from != from || r.to != to) continue;
          required = bits(r.of[type].required);
          optional = bits(r.of[type].optional);
        }
        const auto ok = [&](int mask) { return transition_ok(types[type], from, to, mask | IBV_QP_STATE); };
        ASSERT_EQ(ok(required), valid(from, to)) << f << " to " << t << " of type " << types[type];
        if (!valid(from, to)) continue;
        const bool may_name_state = from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD || from == IBV_QPS_SQE;
        for (int bit = 1; bit <= 25; ++bit) {
          const int b = 1 << bit;
          const bool named = b != IBV_QP_CUR_STATE || may_name_state;
          ASSERT_EQ(ok(required ^ b), !(required & b) && (optional & b) && named)
              << f << " to " << t << " of type " << types[type] << ", attribute " << bit;
        }
        ASSERT_EQ(ok(required | optional), !(optional & IBV_QP_CUR_STATE) || may_name_state);
      }
    }
  }
}

// One mask for all connected QPs is what perftest, rdma-core's examples and most libraries set: what an XRC QP lacks is taken
// out before the table is asked.
TEST(QpTransition, MasksOfPrograms) {
  constexpr int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  constexpr int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  constexpr int rtr_rc = rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int rts_rc =
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  const auto ok = [](ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
    return transition_ok(type, from, to, applicable_attributes(type, mask));
  };
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    EXPECT_TRUE(ok(type, IBV_QPS_RESET, IBV_QPS_INIT, init));
    EXPECT_TRUE(ok(type, IBV_QPS_INIT, IBV_QPS_RTR, rtr_rc)) << type;
    EXPECT_TRUE(ok(type, IBV_QPS_RTR, IBV_QPS_RTS, rts_rc)) << type;
  }
  EXPECT_TRUE(ok(IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, rtr));
  EXPECT_TRUE(ok(IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN));
  EXPECT_FALSE(ok(IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR, rtr)) << "it responds";
  EXPECT_FALSE(ok(IBV_QPT_XRC_SEND, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)) << "it retries";
  EXPECT_TRUE(ok(IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, rtr));
  EXPECT_FALSE(ok(IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, rtr_rc)) << "UC has no such attributes, and nothing takes them out";
  EXPECT_TRUE(ok(IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
  EXPECT_FALSE(ok(IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, init));
  EXPECT_FALSE(ok(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_CUR_STATE));
}

}  // namespace
}  // namespace hcasim::driver
