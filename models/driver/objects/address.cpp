// Addresses: GIDs, address handles, and the ways of connected QPs.
#include "models/driver/objects/address.h"

#include <bit>
#include <cstring>

#include "models/driver/device/device.h"

namespace hcasim::driver {

using namespace verbs;

namespace {

bool names_group(const ibv_ah_attr& a) {
  hca_gid to{};
  std::memcpy(to.byte, a.grh.dgid.raw, sizeof to.byte);
  return a.is_global && hca_gid_is_group(&to);
}

bool from_port(const ibv_ah_attr& a) {
  return !a.is_global || a.grh.sgid_index == 0;
}

}  // namespace

bool address_ok(const device& d, const ibv_ah_attr& a) {
  if (!d.has_port(a.port_num) || a.sl > 15 || a.dlid == 0) return false;
  return names_group(a) == (hca_lid_is_group(a.dlid) != 0) && from_port(a);
}

bool peer_ok(const device& d, const ibv_ah_attr& a) {
  return d.has_port(a.port_num) && !names_group(a) && !hca_lid_is_group(a.dlid) && from_port(a);
}

hca_route route_to(const ibv_ah_attr& a) {
  hca_route r{};
  if (!a.is_global) return r;
  std::memcpy(r.dgid.byte, a.grh.dgid.raw, sizeof r.dgid.byte);
  r.flow = flow_of(a.grh);
  r.hop_limit = a.grh.hop_limit;
  r.global = 1;
  return r;
}

ibv_ah_attr address_of(std::uint8_t port, std::uint16_t lid, std::uint8_t service_level, const hca_route& r) {
  ibv_ah_attr a{lid, service_level, port};
  if (r.global == 0) return a;
  a.is_global = 1;
  std::memcpy(a.grh.dgid.raw, r.dgid.byte, sizeof r.dgid.byte);
  a.grh.flow_label = r.flow & 0xfffff;
  a.grh.traffic_class = static_cast<std::uint8_t>(r.flow >> 20);
  a.grh.hop_limit = r.hop_limit;
  return a;
}

namespace {

ibv_gid own_gid(const device& d, unsigned port) {
  const hca_gid of_port = hca_port_gid(d.lid_of(port));
  ibv_gid gid;
  std::memcpy(gid.raw, of_port.byte, sizeof gid.raw);
  return gid;
}

std::uint32_t from_big_endian(std::uint32_t v) {
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap32(v);
}

}  // namespace
}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

int ibv_query_gid(cpu& c, ibv_context* context, std::uint8_t port_num, int index, ibv_gid* gid) {
  if (!context->device->has_port(port_num) || index != 0) return EINVAL;
  context->device->enter_kernel(c);
  *gid = own_gid(*context->device, port_num);
  return 0;
}

ibv_ah* ibv_create_ah(cpu& c, ibv_pd* domain, ibv_ah_attr* attr) {
  auto& pd = static_cast<protection_domain&>(*domain);
  process& p = of(pd.context);
  p.device->enter_kernel(c);
  if (!address_ok(*p.device, *attr)) return refuse(EINVAL);
  auto* ah = new address_handle;
  ah->context = pd.context;
  ah->pd = domain;
  ah->attr = *attr;
  ah->handle = p.ahs.add(ah);
  ++pd.users;
  return ah;
}

int ibv_destroy_ah(cpu& c, ibv_ah* handle) {
  process& p = of(handle->context);
  p.device->enter_kernel(c);
  address_handle* ah = p.ahs.find(handle->handle);
  if (!ah) return ENOENT;
  --static_cast<protection_domain*>(ah->pd)->users;
  p.ahs.remove(ah->handle);
  delete ah;
  return 0;
}

int ibv_init_ah_from_wc(cpu& c, ibv_context* context, std::uint8_t port_num, const ibv_wc* wc, const ibv_grh* grh,
                        ibv_ah_attr* attr) {
  *attr = {wc->slid, wc->sl, port_num};
  if (!(wc->wc_flags & IBV_WC_GRH)) return 0;
  ibv_gid own;
  if (const int error = ibv_query_gid(c, context, port_num, 0, &own)) return error;
  if (std::memcmp(grh->dgid.raw, own.raw, sizeof own.raw) != 0) return EINVAL;
  const std::uint32_t flow = from_big_endian(grh->version_tclass_flow);
  attr->is_global = 1;
  attr->grh = {grh->sgid, flow & 0xfffff, 0, grh->hop_limit, static_cast<std::uint8_t>(flow >> 20)};
  return 0;
}

}  // namespace hcasim::verbs
