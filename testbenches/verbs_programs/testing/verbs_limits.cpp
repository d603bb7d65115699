// Objects in use, sizes beyond the device's, and features that the device lacks.
#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {

// A parent domain keeps its PD and its thread domain, and goes after all objects made with it.
void parent_domains() {
  const opened o = open();
  ibv_td_init_attr plain{};
  ibv_td* const td = ibv_alloc_td(o.context, &plain);
  REQUIRE(td);
  ibv_parent_domain_init_attr attr{};
  attr.pd = o.pd;
  attr.td = td;
  ibv_pd* const parent = ibv_alloc_parent_domain(o.context, &attr);
  ibv_pd* const second = ibv_alloc_parent_domain(o.context, &attr);
  REQUIRE(parent && second && ibv_dealloc_td(td) == EBUSY && ibv_dealloc_pd(o.pd) == EBUSY);
  REQUIRE(ibv_dealloc_pd(second) == 0 && ibv_dealloc_td(td) == EBUSY);

  ibv_cq* const cq = ibv_create_cq(o.context, 16, nullptr, nullptr, 0);
  REQUIRE(cq);
  ibv_qp* const qp = datagram_qp({o.context, parent}, cq);
  ibv_mr* const mr = ibv_reg_mr(parent, buffer, sizeof buffer, 0);
  REQUIRE(mr && ibv_dealloc_pd(parent) == EBUSY);
  REQUIRE(ibv_destroy_qp(qp) == 0 && ibv_dealloc_pd(parent) == EBUSY);
  REQUIRE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, o.pd, nullptr, 0, 0) == 0);
  REQUIRE(ibv_dealloc_pd(parent) == 0 && ibv_dealloc_td(td) == 0);
  REQUIRE(ibv_dealloc_pd(o.pd) == EBUSY);
  REQUIRE(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(o.pd) == 0);
}

void too_much() {
  const looped l;
  ibv_device_attr a{};
  REQUIRE(ibv_query_device(l.o.context, &a) == 0);
  const auto deepest = static_cast<std::uint32_t>(a.max_qp_wr);
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = l.cq;
  init.pd = l.o.pd;
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.qp_type = IBV_QPT_RC;
  const auto makes = [&](std::uint32_t sends, std::uint32_t receives) {
    init.cap = {sends, receives, 1, 1, 0};
    ibv_qp* const qp = ibv_create_qp_ex(l.o.context, &init);
    REQUIRE(!qp || (init.cap.max_send_wr <= deepest && init.cap.max_recv_wr <= deepest));
    return qp && ibv_destroy_qp(qp) == 0;
  };
  REQUIRE(makes(deepest, deepest));
  REQUIRE(!makes(deepest + 1, 1) && errno == EINVAL);
  REQUIRE(!makes(1, deepest + 1) && errno == EINVAL);

  init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.qp_type = IBV_QPT_UD;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  REQUIRE(makes(8, 8));
  init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
  REQUIRE(!makes(8, 8) && errno == EOPNOTSUPP);
  init.qp_type = IBV_QPT_UC;
  REQUIRE(makes(8, 8));
  init.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
  REQUIRE(!makes(8, 8) && errno == EOPNOTSUPP);

  ibv_qp_attr other{};
  other.alt_port_num = 1;
  other.alt_ah_attr.dlid = other.alt_ah_attr.port_num = 1;
  REQUIRE(ibv_modify_qp(l.qp, &other, IBV_QP_ALT_PATH) == EINVAL);
}

}  // namespace misuse
