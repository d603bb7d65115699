// Multicast groups of QPs [H6].
#include <algorithm>
#include <cstring>

#include "models/driver/device/device.h"
#include "models/driver/verbs/verbs_observer.h"

namespace hcasim::driver {

using namespace verbs;

namespace {

auto at(queue_pair& qp, const ibv_gid& gid, std::uint16_t lid) {
  return std::find_if(qp.groups.begin(), qp.groups.end(), [&](const group_name& g) {
    return g.lid == lid && std::memcmp(g.gid.raw, gid.raw, sizeof gid.raw) == 0;
  });
}

bool name_group(const queue_pair& qp, const ibv_gid& gid, std::uint16_t lid, std::uint8_t port, hca_group_name& name) {
  name = {};
  name.port = HCA_U8(port - 1U);
  std::memcpy(name.gid.byte, gid.raw, sizeof gid.raw);
  name.lid = lid;
  return qp.qp_type == IBV_QPT_UD && hca_gid_is_group(&name.gid) && hca_lid_is_group(lid);
}

int detach(cpu& c, queue_pair& qp, const ibv_gid& gid, std::uint16_t lid) {
  hca_group_name name;
  const auto attached = at(qp, gid, lid);
  if (attached == qp.groups.end() || !name_group(qp, gid, lid, attached->port, name)) return EINVAL;
  const command_result r = run(c, qp.context, {.code = HCA_CMD_DETACH, .object = qp.qp_num, .in = in_bytes(name)});
  if (r.error && !of(qp.context).lost) return r.error;
  qp.groups.erase(at(qp, gid, lid));
  return 0;
}

}  // namespace

void leave_groups(cpu& c, queue_pair& qp) {
  while (!qp.groups.empty()) {
    const group_name last = qp.groups.back();
    if (detach(c, qp, last.gid, last.lid) != 0) return;
  }
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

int ibv_attach_mcast(cpu& c, ibv_qp* handle, const ibv_gid* gid, std::uint16_t lid) {
  auto& qp = static_cast<queue_pair&>(*handle);
  qp.context->device->enter_kernel(c);
  hca_group_name name;
  if (!name_group(qp, *gid, lid, qp.limits.port, name)) return EINVAL;
  if (at(qp, *gid, lid) != qp.groups.end()) return 0;
  const command_result r = run(c, qp.context, {.code = HCA_CMD_ATTACH, .object = qp.qp_num, .in = in_bytes(name)});
  if (r.error) return r.error;
  qp.groups.push_back({*gid, lid, qp.limits.port});
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->joined(qp, *gid, lid);
  return 0;
}

int ibv_detach_mcast(cpu& c, ibv_qp* handle, const ibv_gid* gid, std::uint16_t lid) {
  auto& qp = static_cast<queue_pair&>(*handle);
  qp.context->device->enter_kernel(c);
  return detach(c, qp, *gid, lid);
}

}  // namespace hcasim::verbs
