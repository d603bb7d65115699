// Requests that change protection, one at a time: posted, and waited for. Receive completions and completions of other requests
// that come meanwhile go to `others`.
#pragma once

#include "testbenches/kit/endpoint.h"

namespace hcasim::kit {

struct change_options {
  std::uint64_t id = 0x77;
  unsigned flags = IBV_SEND_SIGNALED;
  std::vector<ibv_wc>* others = nullptr;
};

// 0 or an errno value. Type 2: the window's key becomes its index with the key byte of `rkey`.
int post_bind(cpu& c, ibv_qp* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& what, const change_options& o = {});
int post_local_inv(cpu& c, ibv_qp* qp, std::uint32_t rkey, const change_options& o = {});
int post_reg_mr(cpu& c, ibv_qp* qp, ibv_mr* mr, std::uint32_t key, unsigned access, const change_options& o = {});

// Returns the completion of request `id` of this QP; IBV_WC_GENERAL_ERR when none comes.
ibv_wc wait_for(cpu& c, ibv_qp* qp, const change_options& o);

// IBV_WC_GENERAL_ERR when the request could not be posted. bind and reg_mr set the key of `mw` or `mr` when they succeed.
ibv_wc bind_type_1(cpu& c, ibv_qp* qp, ibv_mw* mw, const ibv_mw_bind_info& what, const change_options& o = {});
ibv_wc bind(cpu& c, ibv_qp* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& what, const change_options& o = {});
ibv_wc local_inv(cpu& c, ibv_qp* qp, std::uint32_t rkey, const change_options& o = {});
ibv_wc reg_mr(cpu& c, ibv_qp* qp, ibv_mr* mr, std::uint32_t key, unsigned access, const change_options& o = {});

}  // namespace hcasim::kit
