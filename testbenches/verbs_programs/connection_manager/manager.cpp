#include "testbenches/verbs_programs/connection_manager/manager.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hcasim::applications::cm {
namespace {

offer offer_of(const rdma_ucm_conn_param& p, std::uint32_t first_psn) {
  constexpr std::uint8_t most_retries = 7;
  constexpr std::uint32_t qpn_mask = 0xff'ffff;
  return {p.qp_num & qpn_mask,
          p.qkey,
          first_psn,
          p.responder_resources,
          p.initiator_depth,
          p.flow_control,
          std::min(p.retry_count, most_retries),
          std::min(p.rnr_retry_count, most_retries),
          p.srq};
}

}  // namespace

std::size_t private_room(message_kind kind, std::uint16_t space) {
  const std::size_t header = space == RDMA_PS_IB ? 0 : 36;
  switch (kind) {
    case message_kind::request:
      return 92 - header;
    case message_kind::lookup:
      return 216 - header;
    case message_kind::reply:
      return 196;
    case message_kind::rejection:
      return 148;
    case message_kind::answer:
      return 136;
    default:
      return 0;
  }
}

file& manager::open(std::uint32_t node, std::function<void(int)> pending) {
  return files_.emplace_back(file{node, std::move(pending), {}});
}

void manager::close(file& f) {
  const auto its = [&f](const auto& numbered) { return numbered.second.of == &f; };
  for (;;) {
    const auto one = std::find_if(identifiers_.begin(), identifiers_.end(), its);
    if (one == identifiers_.end()) break;
    destroy(one->second);  // may destroy further identifiers
  }
  files_.remove_if([&f](const file& x) { return &x == &f; });
}

int manager::find(file& f, std::uint32_t number, identifier*& out) {
  out = at(number);
  if (!out) return ENOENT;
  return out->of == &f ? 0 : EINVAL;
}

identifier* manager::at(std::uint32_t number) {
  const auto found = identifiers_.find(number);
  return found == identifiers_.end() ? nullptr : &found->second;
}

identifier& manager::make(file& f, std::uint16_t space, std::uint8_t qp_type) {
  identifier& id = identifiers_[++made_];
  id.number = made_;
  id.of = &f;
  id.space = space;
  id.qp_type = qp_type;
  id.own.first_psn = id.number * 0x9e'3779U & 0xff'ffff;
  if (qp_type == datagram_qp) id.state.marks = {id_mark::datagram};
  return id;
}

int manager::create(file& f, std::uint64_t uid, std::uint16_t space, std::uint8_t qp_type, std::uint32_t& number) {
  switch (space) {
    case RDMA_PS_TCP:
      qp_type = reliable_qp;
      break;
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
      qp_type = datagram_qp;
      break;
    case RDMA_PS_IB:
      if ((qp_type < reliable_qp || qp_type > datagram_qp) && qp_type != xrc_initiator_qp && qp_type != xrc_target_qp)
        return EINVAL;
      break;
    default:
      return EINVAL;
  }
  identifier& id = make(f, space, qp_type);
  id.uid = uid;
  number = id.number;
  return 0;
}

std::uint32_t manager::destroy(identifier& id) {
  if (const auto last_words = farewell_of(id.state)) {
    message m = about(id, last_words->kind);
    m.reason = last_words->reason;
    send(m);
  }
  give_back_backlog(id);
  std::vector<std::uint32_t> joined;
  for (const auto& [number, m] : members_) {
    if (m.of == id.number) joined.push_back(number);
  }
  for (const std::uint32_t number : joined) end(number);
  std::vector<std::uint32_t> unseen;  // requests whose events are dropped
  int fewer = 0;
  id.of->events.remove_if([&](const event& e) {
    if (e.about != id.number) return false;
    if (e.fresh) unseen.push_back(e.fresh);
    --fewer;
    return true;
  });
  if (fewer) id.of->pending(fewer);
  const std::uint32_t reported = id.events_reported;
  identifiers_.erase(id.number);
  for (const std::uint32_t n : unseen) {
    if (identifier* const one = at(n)) destroy(*one);
  }
  return reported;
}

std::uint32_t manager::migrate(identifier& id, file& to) {
  file& from = *id.of;
  int moved = 0;
  for (auto e = from.events.begin(); e != from.events.end();) {
    const auto next = std::next(e);
    if (e->about == id.number && &from != &to) {
      if (identifier* const fresh = at(e->fresh)) fresh->of = &to;
      to.events.splice(to.events.end(), from.events, e);
      ++moved;
    }
    e = next;
  }
  id.of = &to;
  if (moved) {
    from.pending(-moved);
    to.pending(moved);
  }
  return id.events_reported;
}

// A port belongs to one identifier at a time. Identifiers with `reuse_port` share a port as long as none of them listens.
bool manager::take_port(identifier& id) {
  const auto free = [&](std::uint16_t port) {
    return std::none_of(identifiers_.begin(), identifiers_.end(), [&](const auto& other) {
      const identifier& o = other.second;
      const bool shared = id.reuse_port && o.reuse_port && o.state.life != id_life::listening;
      const bool holds =
          o.state.life != id_life::idle && !o.passive;  // a listener shares its port with identifiers that its requests made
      return &o != &id && holds && !shared && o.of->node == id.of->node && o.space == id.space && o.source.port == port;
    });
  };
  if (id.source.port != 0) return free(id.source.port);
  constexpr std::uint16_t first = 32768;
  constexpr std::uint16_t last = 60999;
  std::uint16_t& next = next_port_[{id.of->node, id.space}];
  for (int tries = 0; tries <= last - first; ++tries) {
    next = next < first || next >= last ? first : static_cast<std::uint16_t>(next + 1);
    if (!free(next)) continue;
    id.source.port = next;
    return true;
  }
  return false;
}

int manager::bind(identifier& id, const endpoint& e) {
  if (!possible(id.state, id_event::bind)) return EINVAL;
  if (e.node != any_node && e.node != id.of->node) return EADDRNOTAVAIL;
  id.source = e;
  if (!take_port(id)) {
    id.source = {};
    return EADDRINUSE;
  }
  id.state = step(id.state, id_event::bind);
  return 0;
}

int manager::find_address(identifier& id, const endpoint& from, const endpoint& to) {
  if (id.state.life == id_life::idle) {
    endpoint own = from;
    if (own.family == 0) own = {to.family, any_node, 0};
    if (const int error = bind(id, own)) return error;
  }
  if (!possible(id.state, id_event::find_address)) return EINVAL;
  id.state = step(id.state, id_event::find_address);
  id.destination = to;
  if (id.destination.node == any_node) id.destination.node = id.of->node;
  network_.later(config_.management, [this, number = id.number] {
    identifier* const asking = at(number);
    if (!asking || !possible(asking->state, id_event::address_is_found)) return;
    const bool there = asking->destination.is_group() || asking->destination.node < network_.nodes();
    asking->state = step(asking->state, there ? id_event::address_is_found : id_event::address_is_missing);
    if (there) asking->source.node = asking->of->node;
    tell(*asking, {there ? happened::address_resolved : happened::address_error, there ? 0 : -ETIMEDOUT});
  });
  return 0;
}

int manager::find_route(identifier& id) {
  if (id.destination.is_group() || !possible(id.state, id_event::find_route)) return EINVAL;
  id.state = step(id.state, id_event::find_route);
  network_.later(config_.management, [this, number = id.number] {
    identifier* const asking = at(number);
    if (!asking || !possible(asking->state, id_event::route_is_found)) return;
    asking->state = step(asking->state, id_event::route_is_found);
    tell(*asking, {happened::route_resolved});
  });
  return 0;
}

int manager::listen(identifier& id, std::uint32_t backlog) {
  if (id.state.life == id_life::idle) {
    if (const int error = bind(id, {2, any_node, 0})) return error;
  }
  if (!possible(id.state, id_event::listen)) return EINVAL;
  if (!take_port(id)) return EADDRINUSE;
  constexpr std::uint32_t most = 1024;
  id.backlog = backlog == 0 || backlog > most ? most : backlog;
  id.state = step(id.state, id_event::listen);
  return 0;
}

int manager::connect(identifier& id, const rdma_ucm_conn_param& with) {
  if (!possible(id.state, id_event::send_request)) return EINVAL;
  const message_kind kind = id.datagram() ? message_kind::lookup : message_kind::request;
  if (with.private_data_len > private_room(kind, id.space)) return EINVAL;
  id.own = offer_of(with, id.own.first_psn);
  id.state = step(id.state, id_event::send_request);
  message m = about(id, kind);
  m.with = id.own;
  std::copy_n(std::begin(with.private_data), with.private_data_len, m.private_data.begin());
  send(m);
  return 0;
}

// A request that its program cannot accept is rejected, as by the kernel: the peer would wait for ever.
int manager::accept(identifier& id, std::uint64_t uid, const rdma_ucm_conn_param& with) {
  const int error = reply(id, uid, with);
  if (error) (void)reject(id, by_consumer, {});
  return error;
}

int manager::reply(identifier& id, std::uint64_t uid, const rdma_ucm_conn_param& with) {
  if (!with.valid) {
    if (!possible(id.state, id_event::send_ready)) return EINVAL;
    id.state = step(id.state, id_event::send_ready);
    send(about(id, message_kind::ready));
    return 0;
  }
  const id_event answer = id.datagram() ? id_event::send_answer : id_event::send_reply;
  const message_kind kind = id.datagram() ? message_kind::answer : message_kind::reply;
  if (!possible(id.state, answer) || with.private_data_len > private_room(kind, id.space)) return EINVAL;
  id.own = offer_of(with, id.own.first_psn);
  if (id.datagram() && id.own.qkey == 0) id.own.qkey = default_qkey;
  id.uid = uid;
  id.state = step(id.state, answer);
  give_back_backlog(id);
  message m = about(id, kind);
  m.with = id.own;
  m.reason = service_found;
  std::copy_n(std::begin(with.private_data), with.private_data_len, m.private_data.begin());
  send(m);
  return 0;
}

int manager::reject(identifier& id, std::uint16_t reason, std::span<const std::uint8_t> private_data) {
  if (!possible(id.state, id_event::send_rejection)) return EINVAL;
  const message_kind kind = id.datagram() ? message_kind::answer : message_kind::rejection;
  if (private_data.size() > private_room(kind, id.space)) return EINVAL;
  message m = about(id, kind);
  m.reason = id.datagram() ? std::uint16_t{service_rejected} : reason;
  std::copy(private_data.begin(), private_data.end(), m.private_data.begin());
  id.state = step(id.state, id_event::send_rejection);
  give_back_backlog(id);
  send(m);
  return 0;
}

// Asks the peer to disconnect, or answers the peer. A second call succeeds and sends nothing.
int manager::disconnect(identifier& id) {
  if (!has_begun(id.state)) return EINVAL;
  for (const auto& [event, kind] : {std::pair(id_event::send_disconnect, message_kind::disconnect),
                                    std::pair(id_event::send_disconnect_reply, message_kind::disconnect_reply)}) {
    if (!possible(id.state, event)) continue;
    id.state = step(id.state, event);
    send(about(id, kind));
    break;
  }
  return 0;
}

int manager::establish(identifier& id) {
  if (!has_begun(id.state)) return EINVAL;
  if (!possible(id.state, id_event::receive_ready)) return 0;
  id.state = step(id.state, id_event::receive_ready);
  tell(id, {happened::established});
  return 0;
}

void manager::remove_device(std::uint32_t node) {
  for (auto& [number, id] : identifiers_) {
    if (id.source.node != node || std::exchange(id.device_removed, true)) continue;
    tell(id, {happened::device_removed});
  }
}

bool manager::take_event(file& f, rdma_ucm_event_resp& out) {
  if (f.events.empty()) return false;
  const event e = f.events.front();
  f.events.pop_front();
  f.pending(-1);
  const auto member = members_.find(e.member);
  if (member != members_.end()) {
    ++member->second.events_reported;
  } else if (identifier* const id = at(e.about)) {
    ++id->events_reported;
  }
  out = {};
  out.uid = e.uid;
  out.id = e.member ? e.member : e.fresh ? e.fresh : e.about;
  out.event = static_cast<std::uint32_t>(e.what);
  out.status = static_cast<std::uint32_t>(e.status);
  out.param = e.param;
  return true;
}

void manager::give_back_backlog(identifier& id) {
  if (identifier* const l = at(std::exchange(id.listener, 0))) ++l->backlog;
}

}  // namespace hcasim::applications::cm
