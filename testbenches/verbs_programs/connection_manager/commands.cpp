#include "testbenches/verbs_programs/connection_manager/commands.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "testbenches/verbs_programs/connection_manager/answers.h"

namespace hcasim::applications::cm {
namespace {

// One command at work.
struct work {
  manager& m;
  file& f;
  const command& c;
  std::span<const std::byte> in;
  std::size_t room;  // for the answer
  std::span<std::byte, most_answer_bytes> answer;
  command_result result;

  template <class Answer>
  int put(std::uint64_t address, const Answer& a) {
    if (room < sizeof a) return ENOSPC;
    return put_part(address, &a, sizeof a);
  }
  int put_part(std::uint64_t address, const void* a, std::size_t bytes) {
    std::memcpy(answer.data(), a, bytes);
    result.address = address;
    result.bytes = bytes;
    return 0;
  }
};

// A part that a program left out is zero.
template <class Command>
Command taken(std::span<const std::byte> in) {
  Command out{};
  std::memcpy(&out, in.data(), std::min(in.size(), sizeof out));
  return out;
}

using handler = int (*)(work&);

template <class Command, int (*Do)(work&, const Command&)>
int plain(work& w) {
  return Do(w, taken<Command>(w.in));
}
template <class Command, int (*Do)(work&, const Command&, identifier&)>
int of_identifier(work& w) {
  const auto in = taken<Command>(w.in);
  identifier* id = nullptr;
  if (const int error = w.m.find(w.f, in.id, id)) return error;
  return Do(w, in, *id);
}

int create_id(work& w, const rdma_ucm_create_id& in) {
  if (w.room < sizeof(rdma_ucm_create_id_resp)) return ENOSPC;
  rdma_ucm_create_id_resp out{};
  if (const int error = w.m.create(w.f, in.uid, in.ps, in.qp_type, out.id)) return error;
  return w.put(in.response, out);
}

int destroy_id(work& w, const rdma_ucm_destroy_id& in, identifier& id) {
  if (w.room < sizeof(rdma_ucm_destroy_id_resp)) return ENOSPC;
  return w.put(in.response, rdma_ucm_destroy_id_resp{w.m.destroy(id)});
}

int migrate_id(work& w, const rdma_ucm_migrate_id& in) {
  if (w.room < sizeof(rdma_ucm_migrate_resp)) return ENOSPC;
  if (!w.c.other) return EINVAL;
  identifier* id = nullptr;
  if (const int error = w.m.find(*w.c.other, in.id, id)) return error;
  return w.put(in.response, rdma_ucm_migrate_resp{w.m.migrate(*id, w.f)});
}

template <class Address>
std::optional<endpoint> address_in(const work& w, const Address& a, std::size_t bytes) {
  return read_address(&a, std::min(bytes, sizeof a), w.f.node, w.m.net());
}

int bind_ip(work& w, const rdma_ucm_bind_ip& in, identifier& id) {
  const auto e = address_in(w, in.addr, sizeof in.addr);
  return e ? w.m.bind(id, *e) : EINVAL;
}

int bind(work& w, const rdma_ucm_bind& in, identifier& id) {
  const auto e = address_in(w, in.addr, in.addr_size);
  return e && !in.reserved ? w.m.bind(id, *e) : EINVAL;
}

int resolve(work& w, identifier& id, std::optional<endpoint> from, std::optional<endpoint> to) {
  return to ? w.m.find_address(id, from.value_or(endpoint{}), *to) : EINVAL;
}
int resolve_ip(work& w, const rdma_ucm_resolve_ip& in, identifier& id) {
  return resolve(w, id, address_in(w, in.src_addr, sizeof in.src_addr), address_in(w, in.dst_addr, sizeof in.dst_addr));
}
int resolve_address(work& w, const rdma_ucm_resolve_addr& in, identifier& id) {
  if (in.reserved) return EINVAL;
  const auto from = in.src_size ? address_in(w, in.src_addr, in.src_size) : endpoint{};
  return from ? resolve(w, id, from, address_in(w, in.dst_addr, in.dst_size)) : EINVAL;
}

int resolve_route(work& w, const rdma_ucm_resolve_route&, identifier& id) {
  return w.m.find_route(id);
}

int query_route(work& w, const rdma_ucm_query& in, identifier& id) {
  return w.put(in.response, route_of(id, w.m.net()));
}

int query(work& w, const rdma_ucm_query& in, identifier& id) {
  switch (in.option) {
    case RDMA_USER_CM_QUERY_ADDR:
      return w.put(in.response, addresses_of(id, w.m.net()));
    case RDMA_USER_CM_QUERY_GID:
      return w.put(in.response, gids_of(id, w.m.net()));
    case RDMA_USER_CM_QUERY_PATH: {
      if (w.room < sizeof(rdma_ucm_query_path_resp)) return ENOSPC;
      const path_answer out = paths_of(id, w.m.net());
      const bool whole = out.paths != 0 && w.room >= sizeof out;
      return w.put_part(in.response, &out, whole ? sizeof out : sizeof(rdma_ucm_query_path_resp));
    }
    default:
      return ENOSYS;
  }
}

int connect(work& w, const rdma_ucm_connect& in, identifier& id) {
  return in.conn_param.valid ? w.m.connect(id, in.conn_param) : EINVAL;
}

int listen(work& w, const rdma_ucm_listen& in, identifier& id) {
  return w.m.listen(id, in.backlog);
}

int accept(work& w, const rdma_ucm_accept& in, identifier& id) {
  return w.m.accept(id, in.uid, in.conn_param);
}

int reject(work& w, const rdma_ucm_reject& in, identifier& id) {
  const std::uint16_t reason = in.reason ? std::uint16_t{in.reason} : std::uint16_t{by_consumer};
  if (reason != by_consumer && reason != vendor_option) return EINVAL;
  return w.m.reject(id, reason, std::span(in.private_data).first(in.private_data_len));
}

int disconnect(work& w, const rdma_ucm_disconnect&, identifier& id) {
  return w.m.disconnect(id);
}

int init_qp_attr(work& w, const rdma_ucm_init_qp_attr& in, identifier& id) {
  ib_uverbs_qp_attr out{};
  if (const int error = qp_attributes_of(id, in.qp_state, w.m.net(), out)) return error;
  return w.put(in.response, out);
}

// Takes an event. An older program has room for a shorter struct.
int get_event(work& w, const rdma_ucm_get_event& in) {
  constexpr std::size_t least = offsetof(rdma_ucm_event_resp, reserved);
  if (w.room < least) return ENOSPC;
  rdma_ucm_event_resp out{};
  if (!w.m.take_event(w.f, out)) return EAGAIN;
  return w.put_part(in.response, &out, std::min(w.room, sizeof out));
}

int set_option(work& w, const rdma_ucm_set_option& in, identifier& id) {
  const auto flag = [&](auto& to) {
    int value = 0;
    if (w.c.option.size() != sizeof value) return EINVAL;
    std::memcpy(&value, w.c.option.data(), sizeof value);
    to = value != 0;
    return 0;
  };
  if (in.level != RDMA_OPTION_ID) return ENOSYS;
  bool ignored = false;
  switch (in.optname) {
    case RDMA_OPTION_ID_TOS:
      return w.c.option.size() == 1 ? 0 : EINVAL;
    case RDMA_OPTION_ID_REUSEADDR:
      return flag(id.reuse_port);
    case RDMA_OPTION_ID_AFONLY:
      return id.state.life == id_life::idle || id.state.life == id_life::bound ? flag(ignored) : EINVAL;
    case RDMA_OPTION_ID_ACK_TIMEOUT: {
      constexpr std::uint8_t most = 31;
      if (w.c.option.size() != 1 || id.datagram()) return EINVAL;
      id.ack_timeout = std::to_integer<std::uint8_t>(w.c.option[0]) & most;
      return 0;
    }
    default:
      return ENOSYS;
  }
}

int notify(work& w, const rdma_ucm_notify& in, identifier& id) {
  constexpr std::uint32_t communication_established = 4;  // enum ib_event_type
  return in.event == communication_established ? w.m.establish(id) : 0;
}

template <class Join>
int join(work& w, const Join& in, identifier& id, std::optional<endpoint> to) {
  rdma_ucm_create_id_resp out{};
  if (w.room < sizeof out) return ENOSPC;
  if (!to) return EINVAL;
  if (const int error = w.m.join(id, in.uid, *to, out.id)) return error;
  return w.put(in.response, out);
}
int join_ip(work& w, const rdma_ucm_join_ip_mcast& in, identifier& id) {
  return join(w, in, id, address_in(w, in.addr, sizeof in.addr));
}
// Joins a group. A member that only sends is treated as any other member.
int join_group(work& w, const rdma_ucm_join_mcast& in, identifier& id) {
  if (in.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return EINVAL;
  return join(w, in, id, address_in(w, in.addr, in.addr_size));
}
int leave_group(work& w, const rdma_ucm_destroy_id& in) {
  rdma_ucm_destroy_id_resp out{};
  if (w.room < sizeof out) return ENOSPC;
  if (const int error = w.m.leave(w.f, in.id, out.events_reported)) return error;
  return w.put(in.response, out);
}
int unknown(work&) {
  return ENOSYS;
}

// In the order of RDMA_USER_CM_CMD_*.
constexpr std::array<handler, 23> handlers{
    plain<rdma_ucm_create_id, create_id>,
    of_identifier<rdma_ucm_destroy_id, destroy_id>,
    of_identifier<rdma_ucm_bind_ip, bind_ip>,
    of_identifier<rdma_ucm_resolve_ip, resolve_ip>,
    of_identifier<rdma_ucm_resolve_route, resolve_route>,
    of_identifier<rdma_ucm_query, query_route>,
    of_identifier<rdma_ucm_connect, connect>,
    of_identifier<rdma_ucm_listen, listen>,
    of_identifier<rdma_ucm_accept, accept>,
    of_identifier<rdma_ucm_reject, reject>,
    of_identifier<rdma_ucm_disconnect, disconnect>,
    of_identifier<rdma_ucm_init_qp_attr, init_qp_attr>,
    plain<rdma_ucm_get_event, get_event>,
    unknown,  // GET_OPTION
    of_identifier<rdma_ucm_set_option, set_option>,
    of_identifier<rdma_ucm_notify, notify>,
    of_identifier<rdma_ucm_join_ip_mcast, join_ip>,
    plain<rdma_ucm_destroy_id, leave_group>,
    plain<rdma_ucm_migrate_id, migrate_id>,
    of_identifier<rdma_ucm_query, query>,
    of_identifier<rdma_ucm_bind, bind>,
    of_identifier<rdma_ucm_resolve_addr, resolve_address>,
    of_identifier<rdma_ucm_join_mcast, join_group>,
};

}  // namespace

command_result execute(manager& m, file& f, const command& c, std::span<std::byte, most_answer_bytes> answer) {
  rdma_ucm_cmd_hdr header{};
  if (c.written.size() < sizeof header) return {EINVAL};
  std::memcpy(&header, c.written.data(), sizeof header);
  if (header.cmd >= handlers.size() || header.in + sizeof header > c.written.size()) return {EINVAL};
  work w{m, f, c, c.written.subspan(sizeof header, header.in), header.out, answer, {}};
  w.result.error = handlers[header.cmd](w);
  return w.result;
}

}  // namespace hcasim::applications::cm
