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

bool destroys(channel::what w) {
  switch (w) {
    case channel::what::close_device:
    case channel::what::dealloc_pd:
    case channel::what::rereg_mr:
    case channel::what::dereg_mr:
    case channel::what::dealloc_mw:
    case channel::what::free_dm:
    case channel::what::destroy_channel:
    case channel::what::destroy_cq:
    case channel::what::resize_cq:
    case channel::what::destroy_qp:
    case channel::what::destroy_srq:
    case channel::what::destroy_ah:
    case channel::what::close_xrcd:
      return true;
    default:
      return false;
  }
}

}  // namespace

int serve(caller& k, std::uint32_t what, const std::byte* arguments, std::byte* answer) {
  static const handler_table table = make_table();
  ++k.who.stats.requests;
  if (what >= table.size() || !table[what]) {
    ++k.who.stats.refused;
    return EOPNOTSUPP;
  }
  if (what != static_cast<std::uint32_t>(channel::what::poll_cq)) k.found_empty.clear();
  if (what != static_cast<std::uint32_t>(channel::what::spin)) k.unproven = 0;
  if (what <= static_cast<std::uint32_t>(channel::what::thread_ends)) return table[what](k, arguments, answer);
  if (what == static_cast<std::uint32_t>(channel::what::poll_cq)) return table[what](k, arguments, answer);
  const client::use use(k.who, destroys(static_cast<channel::what>(what)));
  return table[what](k, arguments, answer);
}

}  // namespace hcasim::applications
