#include "testbenches/verbs_programs/simulator/serve.h"

#include <cerrno>

namespace hcasim::applications {
namespace {

handler_table make_table() {
  handler_table t{};
  add_time_requests(t);
  add_context_requests(t);
  add_device_requests(t);
  add_memory_requests(t);
  add_completion_requests(t);
  add_queue_requests(t);
  add_group_requests(t);
  add_connection_requests(t);
  add_timer_requests(t);
  return t;
}

bool destroys(channel::request_id id) {
  switch (id) {
    case channel::request_id::close_device:
    case channel::request_id::dealloc_pd:
    case channel::request_id::rereg_mr:
    case channel::request_id::dereg_mr:
    case channel::request_id::dealloc_mw:
    case channel::request_id::free_dm:
    case channel::request_id::destroy_channel:
    case channel::request_id::destroy_cq:
    case channel::request_id::resize_cq:
    case channel::request_id::destroy_qp:
    case channel::request_id::destroy_srq:
    case channel::request_id::destroy_ah:
    case channel::request_id::close_xrcd:
      return true;
    default:
      return false;
  }
}

}  // namespace

int serve(caller& k, std::uint32_t id, const std::byte* arguments, std::byte* answer) {
  static const handler_table table = make_table();
  ++k.who.stats.requests;
  if (id >= table.size() || !table[id]) {
    ++k.who.stats.refused;
    return EOPNOTSUPP;
  }
  if (id != static_cast<std::uint32_t>(channel::request_id::poll_cq)) k.found_empty.clear();
  if (id != static_cast<std::uint32_t>(channel::request_id::spin)) k.unproven = 0;
  if (id <= static_cast<std::uint32_t>(channel::request_id::thread_ends)) return table[id](k, arguments, answer);
  if (id == static_cast<std::uint32_t>(channel::request_id::poll_cq)) return table[id](k, arguments, answer);
  const client::use use(k.who, destroys(static_cast<channel::request_id>(id)));
  return table[id](k, arguments, answer);
}

}  // namespace hcasim::applications
