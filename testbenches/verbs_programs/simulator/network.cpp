#include "testbenches/verbs_programs/simulator/network.h"

#include <iterator>

namespace hcasim::applications {
namespace {

struct rate_code {
  std::uint8_t code;  // enum ib_rate
  double gbps;
};

// Returns the code of the slowest usual rate that is not below `rate`.
std::uint8_t code_of(bit_rate rate) {
  constexpr rate_code codes[] = {{2, 2.5},  {5, 5},    {3, 10},   {11, 14},  {6, 20},   {15, 25},
                                 {4, 30},   {7, 40},   {12, 56},  {8, 60},   {9, 80},   {16, 100},
                                 {13, 112}, {10, 120}, {14, 168}, {17, 200}, {18, 300}, {20, 400}};
  for (const rate_code& c : codes) {
    if (c.gbps >= rate.gbps() * 0.999) return c.code;
  }
  return std::end(codes)[-1].code;
}

}  // namespace

cm::port system_network::port_of(std::uint32_t node) const {
  if (node >= system_.nodes()) return {};
  const hca_device_info& info = system_.at(node).device().info();
  return {hca_port_guid(info.port_lid), info.port_lid, static_cast<std::uint8_t>(info.port_mtu_shift - 7),
          code_of(system_.config().link.rate), system_.config().nodes[node].hca.port.link_layer == link_layer_kind::ethernet};
}

void system_network::later(ps delay, std::function<void()> what) {
  due& d = waiting_.emplace_back(due{*this, std::move(what)});
  d.place = std::prev(waiting_.end());
  constexpr auto run = [](void* p) {
    due& it = *static_cast<due*>(p);
    const std::function<void()> now_due = std::move(it.what);
    it.of.waiting_.erase(it.place);
    now_due();
  };
  event_queue::instance().at(now() + delay, {run, &d});
}

}  // namespace hcasim::applications
