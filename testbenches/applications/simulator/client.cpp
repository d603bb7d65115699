#include "testbenches/applications/simulator/client.h"

#include <algorithm>
#include <cerrno>

namespace hcasim::applications {

using namespace verbs;

client::client(node& n, std::uint32_t node_number, outside_memory& bytes, activity& a, waiting& w, cm::manager& m,
               client_statistics& counters, const time_config& time, bit_rate rate, std::uint64_t seed)
    : where(n),
      number(node_number),
      changes(a),
      sleeping(w),
      connections(m),
      stats(counters),
      config(time),
      link_rate(rate),
      memory(n.host.memory_bytes(), seed),
      queues(n.host.memory_bytes(), seed + 1) {
  memory.set_source(bytes);
  memory.set_pin_limit(time.locked_memory);
}

int client::route_outside(ibv_ah_attr& to) const {
  if (!gids || to.is_global == 0) return 0;
  gid named{};
  for (unsigned i = 0; i < 8; ++i) {
    named.prefix = named.prefix << 8 | to.grh.dgid.raw[i];
    named.interface = named.interface << 8 | to.grh.dgid.raw[8 + i];
  }
  to.dlid = gids->lid_of(named);
  to.is_global = 0;
  return to.dlid == 0 ? ENETUNREACH : 0;
}

int client::close(cpu& c, ibv_context* context) {
  const auto its = [context](const auto& object) { return object.context == context; };
  cqs.each([&](ibv_cq& cq) {
    if (!its(cq)) return;
    for (const auto& run : driver::of(&cq).buffer.runs()) where.host.unwatch_pages(run.physical, run.bytes);
  });
  qps.each([&](const ibv_qp& qp) {
    const bool counted = qp.qp_type == IBV_QPT_XRC_RECV || (qp.state != IBV_QPS_RESET && qp.state != IBV_QPS_INIT);
    if (its(qp) && counted) --connected;
  });
  pds.remove_if(its);
  mrs.remove_if(its);
  mws.remove_if(its);
  dms.remove_if(its);
  channels.remove_if(its);
  cqs.remove_if(its);
  qps.remove_if(its);
  srqs.remove_if(its);
  ahs.remove_if(its);
  xrcds.remove_if(its);
  contexts.remove_if([context](const ibv_context& x) { return &x == context; });
  std::erase_if(openings, [this](const auto& o) { return !contexts.find(o.first); });
  return ibv_close_device(c, context);
}

void client::close_all(cpu& c) {
  connection_files.remove_if([this](cm::file& f) {
    connections.close(f);
    return true;
  });
  timer_files.remove_if([](timer_file& t) {
    t.close();
    return true;
  });
  std::vector<ibv_context*> open;
  contexts.each([&](ibv_context& x) {
    if (std::find(open.begin(), open.end(), &x) == open.end()) open.push_back(&x);
  });
  for (ibv_context* x : open) close(c, x);
  memory.lose(c, 0, ~std::uint64_t{0});
}

}  // namespace hcasim::applications
