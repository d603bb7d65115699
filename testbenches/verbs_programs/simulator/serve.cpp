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

}  // namespace

int serve(caller& k, std::uint32_t id, const std::byte* arguments, std::byte* answer) {
  static const handler_table table = make_table();
  ++k.who.stats.requests;
  if (id >= table.size() || !table[id].serve) {
    ++k.who.stats.refused;
    return EOPNOTSUPP;
  }
  const request_handler& handler = table[id];
  const bool polls = id == static_cast<std::uint32_t>(channel::request_id::poll_cq);
  if (!polls) k.found_empty.clear();
  if (id != static_cast<std::uint32_t>(channel::request_id::spin)) k.unproven = 0;
  const bool uses_driver = id > static_cast<std::uint32_t>(channel::request_id::thread_ends) && !polls;
  if (!uses_driver) return handler.serve(k, arguments, answer);
  const arrivals::present present(k.who.in_driver, k.c, handler.claims_of(arguments));
  return handler.serve(k, arguments, answer);
}

}  // namespace hcasim::applications
