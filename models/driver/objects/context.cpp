#include <algorithm>
#include <cstdio>

#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/objects/address_space.h"
#include "models/driver/objects/queue_limits.h"

namespace hcasim::verbs {

using namespace driver;

ibv_context* ibv_open_device(cpu& c, device& d, virtual_memory& memory) {
  if (!d.opened() || d.dead()) return refuse(ENODEV);
  process* p = d.attach(c, memory);
  if (!p) errno = ENOMEM;
  return p;
}

ibv_context* hcax_open_function(cpu& c, device& d, virtual_memory& memory, std::uint16_t function) {
  if (function >= d.info().functions) return refuse(EINVAL);
  ibv_context* context = ibv_open_device(c, d, memory);
  if (context) of(context).function = function;
  return context;
}

namespace {

// Destroys all remaining objects of a table; objects remove themselves from it.
template <class T, class Destroy>
int clear(handle_table<T>& table, Destroy destroy) {
  for (std::size_t i = 0; i < table.slots().size(); ++i) {
    if (T* object = table.slots()[i]) {
      if (const int error = destroy(object)) return error;
    }
  }
  return 0;
}

int close(cpu& c, ibv_context* context) {
  process& p = of(context);
  if (!p.device->may_let_go(c, p)) return EIO;
  // Windows first: they hold the QPs that they are tied to, address spaces and regions.
  int error = clear(p.mws, [&](memory_window* mw) { return ibv_dealloc_mw(c, mw); });
  if (!error) {
    error = clear(p.qps, [&](queue_pair* qp) {
      qp->acknowledged = qp->events;
      leave_groups(c, *qp);
      return ibv_destroy_qp(c, qp);
    });
  }
  if (!error) {
    error = clear(p.srqs, [&](shared_queue* srq) {
      srq->acknowledged = srq->events;
      return ibv_destroy_srq(c, srq);
    });
  }
  if (!error) error = clear(p.xrcds, [&](xrc_opening* x) { return ibv_close_xrcd(c, x); });
  if (!error) error = clear(p.ahs, [&](address_handle* ah) { return ibv_destroy_ah(c, ah); });
  if (!error) error = teardown_all(c, p);
  if (!error) error = clear(p.mrs, [&](memory_region* mr) { return ibv_dereg_mr(c, mr); });
  if (!error) error = clear(p.dms, [&](device_buffer* dm) { return ibv_free_dm(c, dm); });
  if (!error) {
    error = clear(p.cqs, [&](completion_queue* cq) {
      cq->acknowledged = cq->events + cq->async_events;
      return ibv_destroy_cq(c, cq);
    });
  }
  if (!error) error = clear(p.channels, [&](completion_channel* ch) { return ibv_destroy_comp_channel(c, ch); });
  if (!error) error = clear(p.pds, [&](protection_domain* pd) { return ibv_dealloc_pd(c, pd); });
  return error;
}

}  // namespace

// Objects that the adapter cannot give back (tables damaged or out of its reach) need a reset. After the reset the process
// leaves.
int ibv_close_device(cpu& c, ibv_context* context) {
  process& p = of(context);
  device& d = *p.device;
  int error = close(c, context);
  if ((error == EIO || error == EFAULT) && !p.lost) {
    d.fail("a context could not be closed");
    error = close(c, context);
  }
  if (!error) d.detach(&p);
  return error;
}

namespace {

// Returns the number of CQEs that always have room, however the pages of a CQ are scattered.
int max_cqe(const hca_device_info& info) {
  static_assert(HCA_CQE_BYTES == 64);
  return 1 << std::min<unsigned>(HCA_PTE_BITS * info.queue_levels + host_page_shift - 6, 22);
}

}  // namespace

int ibv_query_device(cpu& c, ibv_context* context, ibv_device_attr* attr) {
  const device& d = *context->device;
  d.enter_kernel(c);
  const hca_device_info& info = d.info();
  *attr = {};
  std::snprintf(attr->fw_ver, sizeof attr->fw_ver, "%u.%u.%u", info.firmware_version >> 16, info.firmware_version >> 8 & 0xff,
                info.firmware_version & 0xff);
  attr->node_guid = hca_port_guid(info.port_lid);
  attr->vendor_id = d.config().vendor_id;
  attr->vendor_part_id = d.config().vendor_part_id;
  attr->hw_ver = 1;
  attr->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
                           IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_XRC | IBV_DEVICE_MEM_MGT_EXTENSIONS |
                           IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  attr->atomic_cap = IBV_ATOMIC_HCA;
  attr->max_mr_size = ~0ULL;
  for (unsigned s = 0; s < 32; ++s) attr->page_size_cap |= static_cast<std::uint64_t>(info.page_shifts >> s & 1) << s;
  attr->max_qp = 1 << d.areas().log_qps;
  attr->max_qp_wr = static_cast<int>(max_queue_requests);
  attr->max_sge = static_cast<int>(info.max_sge);
  attr->max_cq = 1 << d.areas().log_cqs;
  attr->max_cqe = max_cqe(d.info());
  attr->max_mr = (1 << d.areas().log_mrs) - 1;
  attr->max_mw = attr->max_mr;
  attr->max_fast_reg_page_list_len = HCA_PTE_PER_NODE;
  attr->max_pd = 1 << 24;
  attr->max_ah = 1 << 24;
  attr->max_srq = attr->max_qp;
  attr->max_srq_wr = (1 << 15) - 1;
  attr->max_srq_sge = 31;
  attr->max_qp_rd_atom = static_cast<int>(info.max_read_depth);
  attr->max_qp_init_rd_atom = static_cast<int>(info.max_read_depth);
  attr->max_mcast_grp = attr->max_qp - 2;  // a group takes a number of theirs
  attr->max_mcast_qp_attach = HCA_GROUP_MEMBERS;
  attr->max_total_mcast_qp_attach = attr->max_mcast_grp;
  attr->phys_port_cnt = static_cast<int>(hca_device_ports(&info));
  if (d.on_demand_by_iommu()) {
    attr->odp_general_caps = IBV_ODP_SUPPORT;
  } else if (d.on_demand()) {
    attr->odp_general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  }
  return 0;
}

int ibv_query_port(cpu& c, ibv_context* context, std::uint8_t port_num, ibv_port_attr* attr) {
  device& d = *context->device;
  if (!d.has_port(port_num)) return EINVAL;
  d.enter_kernel(c);
  *attr = {d.port_up(port_num) ? IBV_PORT_ACTIVE : IBV_PORT_DOWN, IBV_MTU_4096,
           static_cast<ibv_mtu>(d.info().port_mtu_shift - 7), d.lid_of(port_num)};
  return 0;
}

int hcax_query_clock(cpu& c, ibv_context* context, std::uint64_t* ticks) {
  if (of(context).lost) return EIO;
  *ticks = read_register<std::uint64_t>(c, context->device->bar() + HCA_REG_CLOCK);
  return 0;
}

int ibv_fork_init(ibv_context* context) {
  if (of(context).mrs.live() > 0) return EINVAL;
  of(context).fork_safe = true;
  return 0;
}

ibv_pd* ibv_alloc_pd(cpu& c, ibv_context* context) {
  device& d = *context->device;
  d.enter_kernel(c);
  if (of(context).lost) return refuse(EIO);
  auto* pd = new protection_domain;
  pd->context = context;
  pd->number = d.take_pd();
  pd->handle = of(context).pds.add(pd);
  return pd;
}

int ibv_dealloc_pd(cpu& c, ibv_pd* handle) {
  auto* pd = static_cast<protection_domain*>(handle);
  pd->context->device->enter_kernel(c);
  if (pd->users > 0) return EBUSY;  // [B4.3, C2.3]
  if (const int error = retire_null_regions(c, *pd)) return error;
  if (!of(pd->context).lost) pd->context->device->put_pd(pd->number);
  of(pd->context).pds.remove(pd->handle);
  delete pd;
  return 0;
}

}  // namespace hcasim::verbs
