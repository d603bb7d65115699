#include "models/adapter/responder/xrc_domains.h"

namespace hcasim {

// The domain of an SRQ does not change in its life, so it is looked up once.
task<bool> xrc_domains::find(receive_qp& c, context_request& ctx, std::uint32_t srqn, xrc_domain& out, ps& t) {
  shared_queue* const s = records_.live_srq(srqn);
  if (!s) co_return false;
  if (s->domain.life != s->life) {
    ctx.dirty = true;
    qpc_.release(ctx);
    co_await look_up(*s, c, t);
    co_await qpc_.request(ctx, t);
    if (ctx.failed) {
      errors_.report_unreadable(c, t);
      co_return false;
    }
  }
  out = s->domain;
  const auto& q = ctx.as<const hca_qpc>();
  const bool same = out.xrcd != 0 && out.xrcd == q.xrcd && out.function == q.function;
  const bool found = same && records_.live_srq(srqn) && out.life == s->life;
  co_return found;
}

task<> xrc_domains::look_up(shared_queue& s, const receive_qp& c, ps& t) {
  const std::uint32_t life = s.life;
  context_request shared;
  shared.index = s.number;
  shared.operation = c.operation;
  co_await qpc_.request(shared, t);
  if (shared.failed) co_return;
  const auto& q = shared.as<const hca_qpc>();
  const std::uint32_t xrcd = q.transport == HCA_TRANSPORT_SRQ ? q.xrcd : 0;
  if (s.life == life) s.domain = {q.pd, q.recv_cqn, xrcd, q.function, life};
  qpc_.release(shared);
}

task<bool> xrc_domains::enter(receive_qp& c, context_request& ctx, std::uint32_t srqn, ps& t) {
  const auto& before = ctx.as<const hca_qpc>();
  if (before.inbound != HCA_INBOUND_NONE || before.in_wqe_held) {
    co_return before.srqn == srqn && !records_.srq_ended(c, before);
  }
  xrc_domain of;
  const bool found = co_await find(c, ctx, srqn, of, t);
  if (!found || ctx.failed) co_return false;
  auto& q = ctx.as<hca_qpc>();
  q.srqn = srqn;
  q.pd = of.pd;
  q.recv_cqn = of.cqn;
  c.srq_life = of.life;
  co_return true;
}

}  // namespace hcasim
