#include "models/driver/device/device.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "models/driver/device/access.h"
#include "models/driver/on_demand/lent_pages.h"

namespace hcasim::driver {

device::device(host& machine, const adapter_place& at, const driver_config& config)
    : machine_(machine),
      at_(at),
      config_(config),
      dma_(machine, at.iommu, at.requester,
           {config.ats, config.ats_pages, config.first_vector + config.completion_vectors + 1, config.log_page_requests},
           counters_),
      commands_(dma_, at.bar, config_, counters_),
      events_(machine, dma_, at.bar, config_, commands_, counters_),
      pager_(machine, *this),
      peers_(*this, config_) {
  if (config.first_vector + config.completion_vectors + 1 >= host::vectors)
    throw std::invalid_argument("driver: first_vector leaves too few of the host's interrupt vectors, in all " +
                                std::to_string(host::vectors) + ", for completion_vectors, events and the IOMMU");
  counters_.list(list_);
}

device::~device() {
  for (process* p : processes_) {  // could not be closed, and its memory may be gone
    p->lost = true;
    p->life = ~0U;
    delete p;
  }
}

int device::open(cpu& c) {
  opening_done_.sleep_until(c, [this] { return !opening_ && (!failed_ || given_up_ || !opened_); });
  if (given_up_) return ENODEV;
  if (opened_) return 0;
  opening_ = true;
  const int error = bring_up(c);
  opened_ = error == 0;
  opening_ = false;
  if (opened_) look_later();
  opening_done_.wake();
  return error;
}

int device::bring_up(cpu& c) {
  step_ = "finding it";
  if (read_register<std::uint32_t>(c, at_.bar + HCA_REG_ID) != HCA_DEVICE_ID) return ENODEV;
  if (read_register<std::uint32_t>(c, at_.bar + HCA_REG_STATUS) == HCA_STATUS_FATAL) return ENODEV;
  step_ = "mapping memory for it (iommu, host.memory)";
  if (!opened_) {
    if (const int error = dma_.open(c)) return error;
  }
  write_register(c, at_.config_space + PCI_COMMAND, std::uint32_t{PCI_BUS_MASTER});
  if (opened_) {
    if (const int error = dma_.renew(c)) return error;
  }
  step_ = "its first commands (driver.command_timeout, hca.command_unit)";
  if (const int error = commands_.open(c)) return error;
  if (read_register<std::uint32_t>(c, at_.bar + HCA_REG_STATUS) != HCA_STATUS_READY) return ENODEV;
  command_result r = execute(c, {.code = HCA_CMD_QUERY_DEVICE, .out = out_bytes(info_)});
  if (r.error) return r.error;
  step_ = "giving it tables (driver.log_qps, log_cqs, log_mrs, table_bytes, extent_lines; host.memory)";
  if (const int error = give_tables(c)) return error;
  if (config_.reserved_lkey) {
    r = execute(c, {.code = HCA_CMD_RESERVE_LKEY});
    if (r.error) return r.error;
    reserved_lkey_ = r.value;
  }
  step_ = "making event queues (driver.completion_vectors, driver.log_eq_entries, hca.completion.event_queues)";
  const int error = events_.open(c, {[this](std::uint32_t cqn) { on_completion(cqn); },
                                     [this](std::uint32_t type, std::uint32_t number) { on_async(type, number); },
                                     [this](const hca_eqe& e) { on_page_fault(e); }});
  if (!error && !opened_ && dma_.takes_page_requests()) {
    dma_.serve_pages(c, [this](const iommu_page_request& page) { pager_.page_request(page); });
  }
  return error;
}

namespace {

// Returns the address of each page of the ICM areas, in the order of the map. The areas lie in contiguous memory.
std::vector<std::uint64_t> icm_pages(const hca_init& a) {
  constexpr std::uint64_t page = 1 << HCA_ICM_PAGE_SHIFT;
  const std::pair<std::uint64_t, std::uint64_t> areas[] = {{a.qpc_base, sizeof(hca_qpc) << a.log_qps},
                                                           {a.cqc_base, sizeof(hca_cqc) << a.log_cqs},
                                                           {a.mrc_base, sizeof(hca_mrc) << a.log_mrs},
                                                           {a.extent_base, std::uint64_t{a.extent_lines} * 64},
                                                           {a.table_base, a.table_bytes}};
  std::vector<std::uint64_t> out;
  for (const auto& [base, bytes] : areas) {
    for (std::uint64_t at = 0; at < bytes; at += page) out.push_back(base + at);
  }
  return out;
}

}  // namespace

int device::give_tables(cpu& c) {
  constexpr std::uint64_t page = 4096;
  areas_.log_qps = HCA_U8(std::min(config_.log_qps, info_.log_max_qps));
  areas_.log_cqs = HCA_U8(std::min(config_.log_cqs, info_.log_max_cqs));
  areas_.log_mrs = HCA_U8(std::min(config_.log_mrs, info_.log_max_mrs));
  // Content of an earlier life must not be found: cleared pages, and no codes.
  auto memory = area_memory_.begin();
  bool all = true;
  const auto area = [&](std::uint64_t bytes) {
    std::uint64_t& at = *memory++;
    bytes = align_up(bytes, page);
    if (at == 0) at = dma_.allocate(bytes, page);
    if (at == 0) {
      all = false;
      return at;
    }
    machine_.memory_bytes().discard(at, bytes);
    return dma_.address(at);
  };
  areas_.qpc_base = area(sizeof(hca_qpc) << areas_.log_qps);
  areas_.cqc_base = area(sizeof(hca_cqc) << areas_.log_cqs);
  areas_.mrc_base = area(sizeof(hca_mrc) << areas_.log_mrs);
  areas_.table_bytes = align_down(config_.table_bytes, page);
  areas_.table_base = area(areas_.table_bytes);
  areas_.extent_lines = config_.extent_lines;
  areas_.extent_base = area(std::uint64_t{config_.extent_lines} * 64);
  if ((info_.flags & HCA_DEVICE_ICM_MAP) != 0) areas_.map_base = area(icm_pages(areas_).size() * sizeof(std::uint64_t));
  if (!all) return ENOMEM;
  if (areas_.map_base != 0) {
    std::uint64_t entry = area_memory_.back();
    for (const std::uint64_t place : icm_pages(areas_)) {
      const std::uint64_t present = place | HCA_ICM_PRESENT;
      c.store(entry, std::as_bytes(std::span(&present, 1)));
      entry += sizeof present;
    }
  }
  return execute(c, {.code = HCA_CMD_INIT, .in = in_bytes(areas_)}).error;
}

command_result device::execute(cpu& c, const command& what) {
  const command_result r = commands_.execute(c, what);
  if (commands_.dead()) fail("a command was not answered within driver.command_timeout");
  return r;
}

bool device::take_device_memory(std::uint64_t bytes, std::uint64_t& offset) {
  const std::size_t total = info_.device_memory >> host_page_shift;
  const std::uint64_t pages = ceil_div(bytes, host_page);
  device_pages_.resize(total);
  for (std::size_t first = 0, run = 0, i = 0; i < total; ++i) {
    run = device_pages_[i] ? 0 : run + 1;
    if (run == 1) first = i;
    if (run < pages) continue;
    for (std::size_t k = first; k <= i; ++k) device_pages_[k] = true;
    offset = first << host_page_shift;
    return true;
  }
  return false;
}

void device::put_device_memory(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += host_page) device_pages_[(offset + at) >> host_page_shift] = false;
}

void device::enter_kernel(cpu& c) const {
  c.system_call();
  c.spend(config_.kernel_verb);
}

process* device::attach(cpu& c, virtual_memory& memory) {
  const std::uint32_t uar = uars_.take();
  if (uar >= HCA_UAR_COUNT) {
    uars_.put(uar);
    return nullptr;
  }
  enter_kernel(c);
  auto* p = new process({this, &memory, static_cast<int>(config_.completion_vectors)}, machine_.memory_bytes(), counters_);
  p->life = life_;
  p->uar_number = uar;
  p->uar = at_.bar + HCA_BAR_UAR + std::uint64_t{uar} * HCA_UAR_PAGE;
  processes_.push_back(p);
  return p;
}

void device::detach(process* p) {
  if (!p->lost) uars_.put(p->uar_number);
  if (p->lent) p->lent->leave();
  std::erase(processes_, p);
  delete p;
}

void device::on_completion(std::uint32_t cqn) {
  completion_queue* cq = cqs_.find(cqn);
  if (!cq || !cq->channel) return;
  auto& channel = static_cast<completion_channel&>(*cq->channel);
  channel.pending.push_back(cq);
  channel.ready.wake();
  if (channel.notify) channel.notify(1);
}

void device::on_page_fault(const hca_eqe& e) {
  pager_.fault(e.number, e.va, e.length, (e.flags & HCA_FAULT_WRITE) != 0);
}

namespace {

int qp_event(std::uint32_t type) {
  switch (type) {
    case HCA_EVENT_QP_FATAL:
      return verbs::IBV_EVENT_QP_FATAL;
    case HCA_EVENT_QP_REQUEST:
      return verbs::IBV_EVENT_QP_REQ_ERR;
    case HCA_EVENT_QP_ACCESS:
      return verbs::IBV_EVENT_QP_ACCESS_ERR;
    case HCA_EVENT_SQ_DRAINED:
      return verbs::IBV_EVENT_SQ_DRAINED;
    case HCA_EVENT_QP_LAST_WQE:
      return verbs::IBV_EVENT_QP_LAST_WQE_REACHED;
    default:
      return -1;
  }
}

}  // namespace

void device::raise(process& p, const verbs::ibv_async_event& event) {
  p.async_events.push_back(event);
  p.async_ready.wake();
  if (p.async_notify) p.async_notify(1);
}

void device::raise(queue_pair& qp, verbs::ibv_event_type type) {
  verbs::ibv_async_event event{};
  event.event_type = type;
  event.element.qp = &qp;
  raise(of(qp.context), event);
}

void device::on_async(std::uint32_t type, std::uint32_t number) {
  verbs::ibv_async_event event{};
  process* to = nullptr;
  if (type == HCA_EVENT_CQ_OVERFLOW || type == HCA_EVENT_CQ_ERROR) {
    completion_queue* cq = cqs_.find(number);
    if (!cq) return;
    event.event_type = verbs::IBV_EVENT_CQ_ERR;
    event.element.cq = cq;
    to = &of(cq->context);
  } else if (const int of_qp = qp_event(type); of_qp >= 0) {
    queue_pair* qp = qps_.find(number);
    if (!qp) return;
    const auto what = static_cast<verbs::ibv_event_type>(of_qp);
    if (!qp->target) return raise(*qp, what);
    for (queue_pair* each : qp->target->handles) raise(*each, what);
    return;
  } else if (type == HCA_EVENT_SRQ_LIMIT || type == HCA_EVENT_SRQ_ERROR) {
    shared_queue* srq = srqs_.find(number);
    if (!srq) return;
    event.event_type = type == HCA_EVENT_SRQ_LIMIT ? verbs::IBV_EVENT_SRQ_LIMIT_REACHED : verbs::IBV_EVENT_SRQ_ERR;
    event.element.srq = srq;
    to = &of(srq->context);
  } else if (type == HCA_EVENT_PORT) {
    return tell_port((number >> 1) + 1, (number & 1) != 0);
  } else {
    return fail("it reported a fatal error");
  }
  raise(*to, event);
}

}  // namespace hcasim::driver
