// Registers and the command queue.
#include <algorithm>
#include <cstring>

#include "models/machine/iommu/iommu.h"

namespace hcasim {

tlm::tlm_sync_enum iommu::from_cpu(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const std::uint64_t offset = p.get_address() - base_;
  if (offset >= IOMMU_REGISTERS) return mmio->nb_transport_fw(p, phase, delay);
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const unsigned bytes = p.get_data_length();
  if (bytes > 8 || offset % 4 != 0) {
    p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  std::uint64_t value = 0;
  if (p.is_write()) {
    std::memcpy(&value, p.get_data_ptr(), bytes);
    delay += to_sc(config_.register_latency);
    write_register(static_cast<std::uint32_t>(offset), value);
  } else {
    value = read_register(static_cast<std::uint32_t>(offset));
    std::memcpy(p.get_data_ptr(), &value, bytes);
    delay += to_sc(2 * config_.register_latency);
  }
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum iommu::to_cpu(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const auto* extension = p.get_extension<pcie_extension>();
  if (!extension || extension->message == pcie_message::none) return cpu->nb_transport_bw(p, phase, delay);
  if (phase == tlm::BEGIN_RESP) p.release();
  return tlm::TLM_ACCEPTED;
}

unsigned iommu::cpu_debug(tlm::tlm_generic_payload& p) {
  return p.get_address() - base_ < IOMMU_REGISTERS ? 0 : mmio->transport_dbg(p);
}

void iommu::write_register(std::uint32_t offset, std::uint64_t value) {
  switch (offset) {
    case IOMMU_REG_CONTROL:
      translating_ = (value & 1) != 0;
      break;
    case IOMMU_REG_CONTEXTS:
      contexts_ = value;
      break;
    case IOMMU_REG_QUEUE:
      queue_base_ = value;
      break;
    case IOMMU_REG_QUEUE_SIZE:
      queue_log_ = static_cast<std::uint32_t>(value) & 15;
      head_ = tail_ = 0;
      break;
    case IOMMU_REG_TAIL:
      // No more than a queue full of commands can be outstanding; anything else is a stale or wild value.
      if (static_cast<std::uint32_t>(value) - head_ > 1U << queue_log_) break;
      tail_ = static_cast<std::uint32_t>(value);
      if (!executing_) execute_commands();
      break;
    default:
      page_requests_.write_register(offset, value);
      break;
  }
}

std::uint64_t iommu::read_register(std::uint32_t offset) const {
  switch (offset) {
    case IOMMU_REG_ID:
      return IOMMU_ID;
    case IOMMU_REG_CONTROL:
      return translating_;
    case IOMMU_REG_CONTEXTS:
      return contexts_;
    case IOMMU_REG_QUEUE:
      return queue_base_;
    case IOMMU_REG_QUEUE_SIZE:
      return queue_log_;
    case IOMMU_REG_FAULTS:
      return fault_log_.faults.value();
    case IOMMU_REG_FAULT_ADDRESS:
      return fault_log_.address;
    case IOMMU_REG_FAULT_INFO:
      return fault_log_.info;
    default:
      return page_requests_.read_register(offset);
  }
}

void iommu::invalidate(requester& r, std::uint64_t first, std::uint64_t last) {
  ++invalidations_;
  dropped_ += tlb_.drop(r.id, first, last);
  for (page_cache& n : nodes_) dropped_ += n.drop(r.id, first, last);
  for (walk* w : active_) {
    if (w->from != &r || w->poisoned || w->address > last || w->address + 0xfff < first) continue;
    w->poisoned = true;
    ++poisoned_;
  }
}

process iommu::execute_commands() {
  executing_ = true;
  while (head_ != tail_) {
    iommu_command c{};
    ps t = now();
    const std::uint64_t at = queue_base_ + (head_ & ((1U << queue_log_) - 1)) * sizeof c;
    const bool reached = tables_.access(false, at, &c, sizeof c, t);
    co_await later{queue_, t};
    ++head_;
    ++commands_;
    if (!reached) continue;
    requester& r = requesters_[c.requester % IOMMU_CONTEXTS];
    switch (c.code) {
      case IOMMU_CMD_INVALIDATE:
        invalidate(r, c.address, c.bytes == 0 ? ~std::uint64_t{0} : c.address + c.bytes - 1);
        break;
      case IOMMU_CMD_INVALIDATE_CONTEXT:
        ++r.generation;
        r.state = context_state::unknown;
        invalidate(r, 0, ~std::uint64_t{0});
        device_invalidations_.free_lost(r.id);
        break;
      case IOMMU_CMD_INVALIDATE_DEVICE:
        while (device_invalidations_.full()) co_await device_invalidations_.changed();
        device_invalidations_.begin(r.id, c.address);
        break;
      case IOMMU_CMD_PAGE_RESPONSE:
        page_requests_.respond(r.id, static_cast<std::uint16_t>(c.value % ats_groups), static_cast<std::uint8_t>(c.bytes));
        break;
      case IOMMU_CMD_WAIT: {
        const ps begin = now();
        while (device_invalidations_.any()) co_await device_invalidations_.changed();
        if (device_invalidations_.take_timeout()) c.value |= IOMMU_WAIT_TIMEOUT;
        drain_before_ = sequence_;
        if (older_than(drain_before_)) co_await drained{draining_};
        invalidation_time_.add(now() - begin);
        t = now();
        tables_.access(true, c.address, &c.value, sizeof c.value, t);
        co_await later{queue_, t};
        break;
      }
      default:
        break;
    }
  }
  executing_ = false;
}

}  // namespace hcasim
