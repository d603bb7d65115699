// XRC: a request names the SRQ that it is for. It must be one of the domain of the QP; then the request has its PD, and a
// receive of it completes to its CQ [H8, H9].
#include "models/adapter/responder/responder.h"

namespace hcasim {

responder::connection* responder::live_srq(std::uint32_t srqn) {
  connection* const s = connections_.find(srqn);
  return s && s->shared && !asked_to_stop(s->state) ? s : nullptr;
}

// Forgets the SRQ of a target: another SRQ may have its number, and another CQ that of its CQ.
bool responder::srq_ended(const connection& c, const hca_qpc& q) {
  const connection* const s = live_srq(q.srqn);
  return !s || s->life != c.srq_life;
}

// The domain of an SRQ does not change in its life, so it is looked up once. The context of the QP is let go meanwhile;
// ctx.failed: it could not be had again.
task<bool> responder::find_domain(connection& c, context_request& ctx, std::uint32_t srqn, domain& out, ps& t) {
  connection* const s = live_srq(srqn);
  if (!s) co_return false;
  if (s->domain_of.life != s->life) {
    ctx.dirty = true;
    qpc.release(ctx);
    co_await look_up_domain(*s, c, t);
    co_await qpc.request(ctx, t);
    if (ctx.failed) {
      lose(c, t);
      co_return false;
    }
  }
  out = s->domain_of;
  const auto& q = ctx.as<const hca_qpc>();
  const bool same = out.xrcd != 0 && out.xrcd == q.xrcd && out.function == q.function;
  const bool found = same && live_srq(srqn) && out.life == s->life;
  co_return found;
}

task<> responder::look_up_domain(connection& s, const connection& c, ps& t) {
  const std::uint32_t life = s.life;
  context_request shared;
  shared.index = s.qpn;
  shared.operation = c.operation;
  co_await qpc.request(shared, t);
  if (shared.failed) co_return;
  const auto& q = shared.as<const hca_qpc>();
  const std::uint32_t xrcd = q.transport == HCA_TRANSPORT_SRQ ? q.xrcd : 0;
  if (s.life == life) s.domain_of = {q.pd, q.recv_cqn, xrcd, q.function, life};
  qpc.release(shared);
}

// The context of the QP becomes that of a message to the SRQ; all packets of one name the same [H10].
task<bool> responder::enter_domain(connection& c, context_request& ctx, const packet_header& h, ps& t) {
  const auto& before = ctx.as<const hca_qpc>();
  if (before.inbound != HCA_INBOUND_NONE || before.in_wqe_held) co_return before.srqn == h.srqn && !srq_ended(c, before);
  domain of;
  const bool found = co_await find_domain(c, ctx, h.srqn, of, t);
  if (!found || ctx.failed) co_return false;
  auto& q = ctx.as<hca_qpc>();
  q.srqn = h.srqn;
  q.pd = of.pd;
  q.recv_cqn = of.cqn;
  c.srq_life = of.life;
  co_return true;
}

}  // namespace hcasim
