// Device, context, protection and thread domains, address handles.
#include <arpa/inet.h>
#include <endian.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "testbenches/verbs_programs/channel/qp_attributes.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"

namespace hcasim::preload {
namespace {

int attributes(ibv_context* context, channel::device_attributes& out) {
  const int error = call(channel::query_device{name_of(context)});
  if (!error) std::memcpy(&out, data().data(), sizeof out);
  return error;
}

void show(const channel::device_attributes& in, ibv_device_attr& a) {
  a = {};
  std::copy(std::begin(in.fw_ver), std::end(in.fw_ver), a.fw_ver);
  a.node_guid = a.sys_image_guid = htobe64(in.node_guid);
  a.max_mr_size = in.max_mr_size;
  a.page_size_cap = in.page_size_cap;
  a.vendor_id = in.vendor_id;
  a.vendor_part_id = in.vendor_part_id;
  a.hw_ver = in.hw_ver;
  a.device_cap_flags = in.device_cap_flags;
  a.atomic_cap = static_cast<ibv_atomic_cap>(in.atomic_cap);
  a.max_qp = in.max_qp;
  a.max_qp_wr = in.max_qp_wr;
  a.max_sge = a.max_sge_rd = in.max_sge;
  a.max_cq = in.max_cq;
  a.max_cqe = in.max_cqe;
  a.max_mr = in.max_mr;
  a.max_mw = in.max_mw;
  a.max_pd = in.max_pd;
  a.max_ah = in.max_ah;
  a.max_mcast_grp = in.max_mcast_grp;
  a.max_mcast_qp_attach = in.max_mcast_qp_attach;
  a.max_total_mcast_qp_attach = in.max_total_mcast_qp_attach;
  a.max_srq = in.max_srq;
  a.max_srq_wr = in.max_srq_wr;
  a.max_srq_sge = in.max_srq_sge;
  a.max_qp_rd_atom = in.max_qp_rd_atom;
  a.max_qp_init_rd_atom = in.max_qp_init_rd_atom;
  a.max_res_rd_atom = in.max_qp_rd_atom * in.max_qp;
  a.max_pkeys = 1;
  a.phys_port_cnt = static_cast<std::uint8_t>(in.phys_port_cnt);
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr, size_t size) {
  if (input && input->comp_mask) return EINVAL;
  if (size < sizeof attr->orig_attr) return EOPNOTSUPP;
  channel::device_attributes in;
  if (const int error = attributes(context, in)) return error;
  ibv_device_attr_ex all{};
  show(in, all.orig_attr);
  all.odp_caps.general_caps = in.odp_general_caps;
  if (in.odp_general_caps) {
    constexpr std::uint32_t connected = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
    all.odp_caps.per_transport_caps.rc_odp_caps =
        connected | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
    all.xrc_odp_caps = all.odp_caps.per_transport_caps.rc_odp_caps;
    all.odp_caps.per_transport_caps.uc_odp_caps = connected;
    all.odp_caps.per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
  }
  all.device_cap_flags_ex = in.device_cap_flags;
  all.cq_mod_caps = {UINT16_MAX, UINT16_MAX};
  all.max_dm_size = in.max_dm_size;
  all.completion_timestamp_mask = ~std::uint64_t{0};
  all.hca_core_clock = channel::clock_khz;
  all.phys_port_cnt_ex = static_cast<std::uint32_t>(in.phys_port_cnt);
  std::memcpy(static_cast<void*>(attr), &all, std::min(size, sizeof all));
  return 0;
}

// Returns ticks in the place of nanoseconds, as other makers' adapters do.
int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  if (values->comp_mask != IBV_VALUES_MASK_RAW_CLOCK) return EINVAL;
  channel::query_clock::answer out{};
  const int error = call(channel::query_clock{name_of(context)}, out);
  values->raw_clock = {0, static_cast<long>(out.ticks)};
  return error;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, size_t size) {
  channel::query_port::answer in{};
  if (const int error = call(channel::query_port{name_of(context), port}, in)) return error;
  ibv_port_attr a{};
  a.state = static_cast<ibv_port_state>(in.state);
  a.max_mtu = static_cast<ibv_mtu>(in.max_mtu);
  a.active_mtu = static_cast<ibv_mtu>(in.active_mtu);
  a.gid_tbl_len = static_cast<int>(in.gids);
  a.max_msg_sz = 1U << 31;
  a.pkey_tbl_len = 1;
  a.lid = static_cast<std::uint16_t>(in.lid);
  a.max_vl_num = 1;
  a.active_width = static_cast<std::uint8_t>(in.width);
  a.active_speed = static_cast<std::uint8_t>(std::min(in.speed, 255U));
  constexpr std::uint8_t link_up = 5;
  a.phys_state = link_up;
  a.link_layer = in.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  if (in.ethernet) a.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  std::memcpy(static_cast<void*>(attr), &a, std::min(size, sizeof a));
  return 0;
}

int query_gid(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid& gid, std::uint32_t& type) {
  channel::query_gid::answer in{};
  if (const int error = call(channel::query_gid{name_of(context), port, index}, in)) return error;
  std::memcpy(gid.raw, in.gid, sizeof gid.raw);
  type = in.type;
  return 0;
}

bool has_port(ibv_context* context, std::uint32_t port) {
  return port >= 1 && port <= of_context(context)->ports;
}

int query_gid_entry(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& e) {
  constexpr std::uint32_t loopback_interface = 1;  // programs' addresses lie there
  e = {};
  if (const int error = query_gid(context, port, index, e.gid, e.gid_type)) return error;
  e.gid_index = index;
  e.port_num = port;
  e.ndev_ifindex = of_context(context)->ethernet ? loopback_interface : 0;
  return 0;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr) {
  if (!attr || attr->comp_mask) return refused<ibv_td>(EINVAL);
  auto* t = made<td_object>();
  t->td.context = context;
  return &t->td;
}

int dealloc_td(ibv_td* td) {
  if (of<td_object>(td)->users > 0) return EBUSY;
  std::free(of<td_object>(td));
  return 0;
}

// Makes a parent domain. Its allocators are only advice: the driver allocates the queues.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) {
  constexpr std::uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if (!attr || !attr->pd || (attr->comp_mask & ~known)) return refused<ibv_pd>(EINVAL);
  auto* p = made<pd_object>();
  p->pd.context = context;
  p->pd.handle = attr->pd->handle;
  p->parent = of<pd_object>(attr->pd);
  p->name = p->parent->name;
  p->home = context;
  p->td = of<td_object>(attr->td);
  ++p->parent->users;
  if (p->td) ++p->td->users;
  return &p->pd;
}

void dealloc_parent_domain(pd_object* p) {
  --p->parent->users;
  if (p->td) --p->td->users;
}

}  // namespace

void hold(ibv_pd* pd) {
  if (pd && of<pd_object>(pd)->parent) ++of<pd_object>(pd)->users;
}
void let_go(ibv_pd* pd) {
  if (pd && of<pd_object>(pd)->parent) --of<pd_object>(pd)->users;
}

void add_device_operations(context_object& c) {
  c.verbs.query_device_ex = query_device_ex;
  c.verbs.query_port = query_port;
  c.verbs.query_rt_values = query_rt_values;
  c.verbs.alloc_td = alloc_td;
  c.verbs.dealloc_td = dealloc_td;
  c.verbs.alloc_parent_domain = alloc_parent_domain;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_device** ibv_get_device_list(int* num_devices) {
  if (!mine()) return HCASIM_REAL(ibv_get_device_list)(num_devices);
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  if (!list) return refused<ibv_device*>(ENOMEM);
  list[0] = only_device();
  if (num_devices) *num_devices = 1;
  return list;
}

HCASIM_PUBLIC void ibv_free_device_list(ibv_device** list) {
  if (!mine()) return HCASIM_REAL(ibv_free_device_list)(list);
  std::free(list);
}

HCASIM_PUBLIC const char* ibv_get_device_name(ibv_device* device) {
  return device ? device->name : nullptr;
}

HCASIM_PUBLIC int ibv_get_device_index(ibv_device* device) {
  if (!mine()) return HCASIM_REAL(ibv_get_device_index)(device);
  return 0;
}

HCASIM_PUBLIC __be64 ibv_get_device_guid(ibv_device* device) {
  if (!mine()) return HCASIM_REAL(ibv_get_device_guid)(device);
  ibv_context* c = ibv_open_device(device);
  channel::device_attributes a{};
  if (!c) return 0;
  attributes(c, a);
  ibv_close_device(c);
  return htobe64(a.node_guid);
}

HCASIM_PUBLIC int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_query_device)(context, attr);
  channel::device_attributes in;
  if (const int error = attributes(context, in)) return error;
  show(in, *attr);
  return 0;
}

HCASIM_PUBLIC int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_query_port)(context, port, attr);
  // Programs built before the extended struct know only the part before port_cap_flags2.
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr), offsetof(ibv_port_attr, port_cap_flags2));
}

HCASIM_PUBLIC int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (!mine()) return HCASIM_REAL(ibv_query_gid)(context, port, index, gid);
  std::uint32_t type = 0;
  const int error = query_gid(context, port, static_cast<std::uint32_t>(index), *gid, type);
  errno = error ? error : errno;
  return error ? -1 : 0;
}

HCASIM_PUBLIC int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                                    std::uint32_t flags, size_t size) {
  if (!mine()) return HCASIM_REAL(_ibv_query_gid_ex)(context, port, index, entry, flags, size);
  if (flags) return EINVAL;
  ibv_gid_entry e;
  if (const int error = query_gid_entry(context, port, index, e)) return error;
  std::memcpy(static_cast<void*>(entry), &e, std::min(size, sizeof e));
  return 0;
}

HCASIM_PUBLIC ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t most, std::uint32_t flags,
                                           size_t size) {
  if (!mine()) return HCASIM_REAL(_ibv_query_gid_table)(context, entries, most, flags, size);
  if (flags) return -EINVAL;
  std::size_t found = 0;
  channel::query_port::answer port{};
  for (std::uint32_t number = 1; has_port(context, number); ++number) {
    if (const int error = call(channel::query_port{name_of(context), number}, port)) return -error;
    if (most - found < port.gids) return -EINVAL;
    for (std::uint32_t i = 0; i < port.gids; ++i, ++found) {
      ibv_gid_entry e;
      if (const int error = query_gid_entry(context, number, i, e)) return -error;
      std::memcpy(reinterpret_cast<char*>(entries) + found * size, &e, std::min(size, sizeof e));
    }
  }
  return static_cast<ssize_t>(found);
}

// A call of IBVERBS_PRIVATE_34; ibv_devinfo makes it.
HCASIM_PUBLIC int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, unsigned* type) {
  using function = int(ibv_context*, std::uint8_t, unsigned, unsigned*);
  if (!mine()) return next(static_cast<function*>(nullptr), "ibv_query_gid_type")(context, port, index, type);
  ibv_gid gid;
  std::uint32_t as_extended = 0;
  const int error = query_gid(context, port, index, gid, as_extended);
  *type = as_extended == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;  // one number for InfiniBand and RoCEv1
  return error;
}

HCASIM_PUBLIC int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  if (!mine()) return HCASIM_REAL(ibv_query_pkey)(context, port, index, pkey);
  if (!has_port(context, port) || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = 0xffff;
  return 0;
}

HCASIM_PUBLIC int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  if (!mine()) return HCASIM_REAL(ibv_get_pkey_index)(context, port, pkey);
  return has_port(context, port) && pkey == 0xffff ? 0 : -1;
}

// The device has no files in sysfs.
HCASIM_PUBLIC int ibv_read_sysfs_file(const char* folder, const char* file, char* out, size_t size) {
  if (!mine()) return HCASIM_REAL(ibv_read_sysfs_file)(folder, file, out, size);
  const char* text = nullptr;
  if (std::strcmp(file, "board_id") == 0) text = "HCASIM";
  if (std::strcmp(file, "class/misc/rdma_cm/abi_version") == 0) text = "4";
  if (!text || size == 0) return -1;
  return std::snprintf(out, size, "%s", text);
}

HCASIM_PUBLIC int ibv_fork_init() {
  if (!mine()) return HCASIM_REAL(ibv_fork_init)();
  return 0;
}

HCASIM_PUBLIC ibv_fork_status ibv_is_fork_initialized() {
  if (!mine()) return HCASIM_REAL(ibv_is_fork_initialized)();
  return IBV_FORK_UNNEEDED;
}

HCASIM_PUBLIC ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (!mine()) return HCASIM_REAL(ibv_alloc_pd)(context);
  channel::made out{};
  if (const int error = call(channel::alloc_pd{name_of(context)}, out)) return refused<ibv_pd>(error);
  return made_pd(context, out.object);
}

HCASIM_PUBLIC int ibv_dealloc_pd(ibv_pd* pd) {
  if (!mine()) return HCASIM_REAL(ibv_dealloc_pd)(pd);
  auto* p = of<pd_object>(pd);
  if (p->users > 0) {
    errno = EBUSY;
    return EBUSY;
  }
  if (p->parent) {
    dealloc_parent_domain(p);
  } else if (const int error = command(channel::dealloc_pd{name_of(pd)})) {
    return error;
  }
  std::free(p);
  return 0;
}

HCASIM_PUBLIC ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_create_ah)(pd, attr);
  channel::made out{};
  if (const int error = call(channel::create_ah{name_of(pd), channel::packed_route(*attr)}, out)) return refused<ibv_ah>(error);
  auto* a = made<ah_object>();
  a->ah.context = pd->context;
  a->ah.pd = a->pd = pd;
  hold(pd);
  a->ah.handle = channel::number_of(out.object);
  a->name = out.object;
  a->home = pd->context;
  return &a->ah;
}

HCASIM_PUBLIC int ibv_destroy_ah(ibv_ah* ah) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_ah)(ah);
  if (const int error = command(channel::destroy_ah{name_of(ah)})) return error;
  let_go(of<ah_object>(ah)->pd);
  std::free(of<ah_object>(ah));
  return 0;
}

HCASIM_PUBLIC int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_init_ah_from_wc)(context, port, wc, grh, attr);
  *attr = {};
  attr->dlid = wc->slid;
  attr->sl = wc->sl;
  attr->src_path_bits = wc->dlid_path_bits;
  attr->port_num = port;
  if (!(wc->wc_flags & IBV_WC_GRH)) return 0;
  ibv_gid own;
  if (ibv_query_gid(context, port, 0, &own) != 0) return -1;
  if (std::memcmp(grh->dgid.raw, own.raw, sizeof own.raw) != 0) {
    errno = EINVAL;
    return -1;
  }
  const std::uint32_t flow = be32toh(grh->version_tclass_flow);
  attr->is_global = 1;
  attr->grh = {grh->sgid, flow & 0xfffff, 0, grh->hop_limit, static_cast<std::uint8_t>(flow >> 20)};
  return 0;
}

HCASIM_PUBLIC ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  if (!mine()) return HCASIM_REAL(ibv_create_ah_from_wc)(pd, wc, grh, port);
  ibv_ah_attr attr;
  return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) ? nullptr : ibv_create_ah(pd, &attr);
}
