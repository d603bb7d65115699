#include "testbenches/kit/windows.h"

namespace hcasim::kit {
namespace {

ibv_wc not_posted() {
  ibv_wc none{};
  none.status = IBV_WC_GENERAL_ERR;
  return none;
}

ibv_send_wr bare(ibv_wr_opcode opcode, const change_options& o) {
  ibv_send_wr wr{};
  wr.wr_id = o.id;
  wr.opcode = opcode;
  wr.send_flags = o.flags;
  return wr;
}

int post_one(cpu& c, ibv_qp* qp, ibv_send_wr& wr) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(c, qp, &wr, &bad);
}

}  // namespace

int post_bind(cpu& c, ibv_qp* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& what, const change_options& o) {
  ibv_send_wr wr = bare(IBV_WR_BIND_MW, o);
  wr.bind_mw.mw = mw;
  wr.bind_mw.rkey = rkey;
  wr.bind_mw.bind_info = what;
  return post_one(c, qp, wr);
}

int post_local_inv(cpu& c, ibv_qp* qp, std::uint32_t rkey, const change_options& o) {
  ibv_send_wr wr = bare(IBV_WR_LOCAL_INV, o);
  wr.invalidate_rkey = rkey;
  return post_one(c, qp, wr);
}

int post_reg_mr(cpu& c, ibv_qp* qp, ibv_mr* mr, std::uint32_t key, unsigned access, const change_options& o) {
  ibv_send_wr wr = bare(IBV_WR_REG_MR, o);
  wr.reg_mr.mr = mr;
  wr.reg_mr.key = key;
  wr.reg_mr.access = access;
  return post_one(c, qp, wr);
}

ibv_wc wait_for(cpu& c, ibv_qp* qp, const change_options& o) {
  while (const auto wc = next_completion(c, qp->send_cq)) {
    const bool receive = wc->status == IBV_WC_SUCCESS && (wc->opcode & IBV_WC_RECV);
    if (wc->qp_num == qp->qp_num && wc->wr_id == o.id && !receive) return *wc;
    if (o.others) o.others->push_back(*wc);
  }
  return not_posted();
}

ibv_wc bind_type_1(cpu& c, ibv_qp* qp, ibv_mw* mw, const ibv_mw_bind_info& what, const change_options& o) {
  ibv_mw_bind request{.wr_id = o.id, .send_flags = o.flags, .bind_info = what};
  const std::uint32_t before = mw->rkey;
  if (ibv_bind_mw(c, qp, mw, &request) != 0) return not_posted();
  const ibv_wc wc = wait_for(c, qp, o);
  if (wc.status != IBV_WC_SUCCESS) mw->rkey = before;
  return wc;
}

ibv_wc bind(cpu& c, ibv_qp* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& what, const change_options& o) {
  if (post_bind(c, qp, mw, rkey, what, o) != 0) return not_posted();
  const ibv_wc wc = wait_for(c, qp, o);
  if (wc.status == IBV_WC_SUCCESS) mw->rkey = (mw->rkey & ~0xffU) | (rkey & 0xffU);
  return wc;
}

ibv_wc local_inv(cpu& c, ibv_qp* qp, std::uint32_t rkey, const change_options& o) {
  return post_local_inv(c, qp, rkey, o) == 0 ? wait_for(c, qp, o) : not_posted();
}

ibv_wc reg_mr(cpu& c, ibv_qp* qp, ibv_mr* mr, std::uint32_t key, unsigned access, const change_options& o) {
  if (post_reg_mr(c, qp, mr, key, access, o) != 0) return not_posted();
  const ibv_wc wc = wait_for(c, qp, o);
  if (wc.status == IBV_WC_SUCCESS) mr->lkey = mr->rkey = (mr->lkey & ~0xffU) | (key & 0xffU);
  return wc;
}

}  // namespace hcasim::kit
