// Requests to the connection manager.
#include <array>

#include "testbenches/verbs_programs/connection_manager/commands.h"
#include "testbenches/verbs_programs/simulator/handler.h"
#include "testbenches/verbs_programs/simulator/tokens.h"

namespace hcasim::applications {
namespace {

int open_connections(caller& k, const channel::open_connections&, channel::made& out) {
  std::vector<descriptor> with = k.descriptors(1);
  if (with.size() != 1) return EINVAL;
  client& p = k.who;
  out.object = p.connection_files.add(&p.connections.open(p.number, count_in(std::move(with[0]), p.sleeping)));
  return 0;
}

int close_connections(caller& k, const channel::close_connections& in, channel::nothing&) {
  cm::file* const f = k.who.connection_files.find(in.file);
  if (!f) return EINVAL;
  k.who.connection_files.remove(in.file);
  k.who.connections.close(*f);
  return 0;
}

int manage_connections(caller& k, const channel::manage_connections& in, channel::manage_connections::answer& out) {
  cm::file* const f = k.who.connection_files.find(in.file);
  if (!f || in.written > k.data.size() || in.option > k.data.size() - in.written) return EINVAL;
  const std::vector<std::byte> data(k.data.begin(), k.data.begin() + in.written + in.option);
  const auto written = std::span(data).first(in.written);
  k.who.where.device().enter_kernel(k.c);
  k.c.sync();
  std::array<std::byte, cm::most_answer_bytes> answer;
  const cm::command_result r = cm::execute(
      k.who.connections, *f, {written, std::span(data).subspan(in.written), k.who.connection_files.find(in.other)}, answer);
  std::copy_n(answer.begin(), r.bytes, k.data.begin());
  out = {r.address, static_cast<std::uint32_t>(r.bytes)};
  return r.error;
}

}  // namespace

void add_connection_requests(handler_table& t) {
  add<channel::open_connections, open_connections>(t);
  add<channel::close_connections, close_connections>(t);
  add<channel::manage_connections, manage_connections>(t);
}

}  // namespace hcasim::applications
