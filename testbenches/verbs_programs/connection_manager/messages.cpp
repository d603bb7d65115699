// Messages between managers: sending, their effects at the destination, and the events that programs get.
#include <algorithm>
#include <cerrno>

#include "testbenches/verbs_programs/connection_manager/answers.h"
#include "testbenches/verbs_programs/connection_manager/manager.h"

namespace hcasim::applications::cm {
namespace {

// Shows the peer's offer: this side may send as many READs as the peer can answer.
rdma_ucm_conn_param connection_of(const offer& o) {
  rdma_ucm_conn_param p{};
  p.qp_num = o.qp_num;
  p.responder_resources = o.initiator_depth;
  p.initiator_depth = o.responder_resources;
  p.flow_control = o.flow_control;
  p.retry_count = o.retry_count;
  p.rnr_retry_count = o.rnr_retry_count;
  p.srq = o.srq;
  return p;
}

}  // namespace

manager::message manager::about(const identifier& id, message_kind kind) const {
  message m;
  m.kind = kind;
  m.from = id.number;
  m.to = id.peer;
  m.source = id.source;
  m.destination = id.destination;
  m.space = id.space;
  m.qp_type = id.qp_type;
  return m;
}

void manager::send(message m) {
  network_.later(config_.management, [this, m] { deliver(m); });
}

// A passive identifier gets no event before its program accepts: the program has no name for the identifier yet.
void manager::tell(identifier& id, event e) {
  if (id.uid == 0 && id.passive && e.fresh == 0) return;
  e.about = id.number;
  if (!e.member) e.uid = id.uid;
  id.of->events.push_back(e);
  id.of->pending(1);
}

event manager::told(const identifier& id, happened what, const message& m) const {
  event e{what};
  const std::size_t room = private_room(m.kind, m.space);
  const auto copy = [&](auto& to) {
    std::copy_n(m.private_data.begin(), room, std::begin(to.private_data));
    to.private_data_len = static_cast<std::uint8_t>(room);
  };
  if (!id.datagram()) {
    e.param.conn = connection_of(m.with);
    copy(e.param.conn);
    return e;
  }
  rdma_ucm_ud_param& p = e.param.ud;
  p.qp_num = m.with.qp_num;
  p.qkey = m.with.qkey;
  put_route(p.ah_attr, m.source.node, network_);
  copy(p);
  return e;
}

identifier* manager::addressee_of(const message& m) {
  if (m.to) return at(m.to);
  // The sender of this message did not know the other side's number yet.
  const auto its = [&m](const auto& numbered) { return numbered.second.peer == m.from; };
  const auto found = std::find_if(identifiers_.begin(), identifiers_.end(), its);
  return found == identifiers_.end() ? nullptr : &found->second;
}

void manager::deliver(const message& m) {
  if (m.kind == message_kind::request || m.kind == message_kind::lookup) return deliver_request(m);
  identifier* const id = addressee_of(m);
  const auto becomes = [id](id_event e) {
    if (!id || !possible(id->state, e)) return false;
    id->state = step(id->state, e);
    return true;
  };
  switch (m.kind) {
    case message_kind::reply:
      if (!becomes(id_event::receive_reply)) return;
      id->peer = m.from;
      id->peers = m.with;
      id->own.responder_resources = m.with.initiator_depth;
      id->own.initiator_depth = m.with.responder_resources;
      id->own.rnr_retry_count = m.with.rnr_retry_count;
      return tell(*id, told(*id, happened::connect_response, m));
    case message_kind::ready:
      if (becomes(id_event::receive_ready)) tell(*id, {happened::established});
      return;
    case message_kind::rejection: {
      const bool connected = id && id->state.life == id_life::connected;
      if (!becomes(id_event::receive_rejection)) return;
      if (connected) return tell(*id, {happened::disconnected});  // RTU and REJ have crossed
      event e = told(*id, happened::rejected, m);
      e.status = m.reason;
      return tell(*id, e);
    }
    case message_kind::disconnect:
      if (becomes(id_event::receive_disconnect)) return tell(*id, {happened::disconnected});
      if (!id) refuse(m);
      return;
    case message_kind::disconnect_reply:
      if (becomes(id_event::receive_disconnect_reply)) tell(*id, {happened::disconnected});
      return;
    case message_kind::answer: {
      if (m.reason != service_found) {
        if (becomes(id_event::give_up)) tell(*id, {happened::unreachable, m.reason});
        return;
      }
      if (!becomes(id_event::receive_answer)) return;
      id->peers = m.with;
      return tell(*id, told(*id, happened::established, m));
    }
    default:
      return;
  }
}

identifier* manager::listener_of(const message& m) {
  for (auto& [number, id] : identifiers_) {
    if (id.state.life == id_life::listening && id.of->node == m.destination.node && id.space == m.space &&
        id.source.port == m.destination.port) {
      return &id;
    }
  }
  return nullptr;
}

void manager::deliver_request(const message& m) {
  identifier* const l = listener_of(m);
  if (!l) return refuse(m);
  if (l->backlog == 0) return come_again(m);
  identifier& id = make(*l->of, m.space, m.qp_type == xrc_initiator_qp ? xrc_target_qp : m.qp_type);
  id.source = {m.destination.family, l->of->node, l->source.port};
  id.destination = m.source;
  id.peer = m.from;
  id.peers = m.with;
  id.own.responder_resources = m.with.initiator_depth;
  id.own.initiator_depth = m.with.responder_resources;
  id.own.retry_count = m.with.retry_count;
  id.own.rnr_retry_count = m.with.rnr_retry_count;
  id.passive = true;
  id.listener = l->number;
  --l->backlog;
  id.state = step(id.state, id_event::receive_request);
  event e = told(id, happened::connect_request, m);
  e.fresh = id.number;
  tell(*l, e);
}

// Sends the request again as after a time-out: the specification has no answer that means "not now".
void manager::come_again(message m) {
  constexpr int most = 15;
  if (++m.again <= most) {
    network_.later(config_.request_retry, [this, m] { deliver(m); });
    return;
  }
  identifier* const asking = at(m.from);
  if (!asking || !possible(asking->state, id_event::give_up)) return;
  asking->state = step(asking->state, id_event::give_up);
  tell(*asking, {happened::unreachable, -ETIMEDOUT});
}

// Refuses a message that has no listener.
void manager::refuse(const message& m) {
  message back;
  back.to = m.from;
  back.space = m.space;
  back.source = m.destination;
  switch (m.kind) {
    case message_kind::request:
      back.kind = message_kind::rejection;
      back.reason = invalid_service;
      break;
    case message_kind::lookup:
      back.kind = message_kind::answer;
      back.reason = service_unsupported;
      break;
    default:
      back.kind = message_kind::disconnect_reply;
      break;
  }
  send(back);
}

}  // namespace hcasim::applications::cm
