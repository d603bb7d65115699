// XRC: domains, which processes of a host may share, and target QPs that several have opened [H11].
#include <algorithm>

#include "models/driver/device/device.h"

namespace hcasim::driver {

std::shared_ptr<xrc_domain> device::find_domain(std::uint64_t file) const {
  const auto it = std::find_if(domains_.begin(), domains_.end(), [&](const auto& d) { return d->file == file; });
  return file != 0 && it != domains_.end() ? *it : nullptr;
}

std::shared_ptr<xrc_domain> device::make_domain(std::uint64_t file) {
  auto d = std::make_shared<xrc_domain>();
  d->number = xrcds_.take();
  d->file = file;
  domains_.push_back(d);
  return d;
}

void device::drop_domain(const xrc_domain& domain) {
  if (std::erase_if(domains_, [&](const auto& d) { return d.get() == &domain; }) != 0) xrcds_.put(domain.number);
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

ibv_xrcd* ibv_open_xrcd(cpu& c, ibv_context* context, const ibv_xrcd_init_attr* attr) {
  device& d = *context->device;
  d.enter_kernel(c);
  if (of(context).lost) return refuse(EIO);
  std::shared_ptr<xrc_domain> domain = d.find_domain(attr->file);
  if (domain && attr->exclusive) return refuse(EINVAL);
  if (!domain && !attr->create) return refuse(EAGAIN);
  if (!domain) domain = d.make_domain(attr->file);
  auto* x = new xrc_opening;
  x->context = context;
  x->domain = domain;
  ++domain->openings;
  x->handle = of(context).xrcds.add(x);
  return x;
}

int ibv_close_xrcd(cpu& c, ibv_xrcd* handle) {
  auto* x = static_cast<xrc_opening*>(handle);
  device& d = *x->context->device;
  d.enter_kernel(c);
  if (x->users > 0) return EBUSY;
  if (--x->domain->openings == 0) d.drop_domain(*x->domain);
  of(x->context).xrcds.remove(x->handle);
  delete x;
  return 0;
}

ibv_qp* ibv_open_qp(cpu& c, ibv_context* context, const ibv_qp_open_attr* attr) {
  device& d = *context->device;
  d.enter_kernel(c);
  auto* xrcd = static_cast<xrc_opening*>(attr->xrcd);
  if (!xrcd || xrcd->context != context || attr->qp_num > HCA_QPN_ANY) return refuse(EINVAL);
  queue_pair* const made = d.qps().find(attr->qp_num);
  if (!made || !made->target || made->xrcd->domain != xrcd->domain) return refuse(EINVAL);
  auto* qp = new queue_pair();
  qp->context = context;
  qp->qp_context = attr->qp_context;
  qp->qp_type = IBV_QPT_XRC_RECV;
  qp->qp_num = attr->qp_num;
  qp->state = made->state;
  qp->limits = made->limits;
  qp->xrcd = xrcd;
  qp->target = made->target;
  enter(*qp);
  return qp;
}

}  // namespace hcasim::verbs
