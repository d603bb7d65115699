// XRC: a request names the SRQ that it is for. It must be one of the domain of the QP; then the request has its PD, and a
// receive of it completes to its CQ [H8, H9].
#include "models/responder/responder.h"

namespace hcasim {

// The context of the QP is let go meanwhile; ctx.failed: it could not be had again.
task<bool> responder::find_domain(connection& c, context_request& ctx, std::uint32_t srqn, domain& out, ps& t) {
  const connection* const s = connections_.find(srqn);
  if (!s || !s->shared || asked_to_stop(s->state)) co_return false;
  const std::uint32_t xrcd = ctx.as<const hca_qpc>().xrcd;
  const std::uint16_t function = ctx.as<const hca_qpc>().function;
  ctx.dirty = true;
  qpc.release(ctx);
  context_request shared;
  shared.index = srqn;
  shared.operation = c.operation;
  co_await qpc.request(shared, t);
  bool found = false;
  if (!shared.failed) {
    const auto& q = shared.as<const hca_qpc>();
    found = q.transport == HCA_TRANSPORT_SRQ && q.xrcd != 0 && q.xrcd == xrcd && q.function == function;
    out = {q.pd, q.recv_cqn};
    qpc.release(shared);
  }
  co_await qpc.request(ctx, t);
  if (ctx.failed) lose(c, t);
  co_return found;
}

// The context of the QP becomes that of a message to the SRQ; all packets of one name the same [H10].
task<bool> responder::enter_domain(connection& c, context_request& ctx, const packet_header& h, ps& t) {
  const auto& before = ctx.as<const hca_qpc>();
  if (before.inbound != HCA_INBOUND_NONE || before.in_wqe_held) {
    const connection* const s = connections_.find(h.srqn);
    co_return before.srqn == h.srqn&& s && s->shared && !asked_to_stop(s->state);
  }
  domain of;
  const bool found = co_await find_domain(c, ctx, h.srqn, of, t);
  if (!found || ctx.failed) co_return false;
  auto& q = ctx.as<hca_qpc>();
  q.srqn = h.srqn;
  q.pd = of.pd;
  q.recv_cqn = of.cqn;
  co_return true;
}

}  // namespace hcasim
