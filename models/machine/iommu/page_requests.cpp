#include "models/machine/iommu/page_requests.h"

#include "tlm/ats.h"
#include "tlm/base/delegate.h"

namespace hcasim {

void page_requests::take(std::uint32_t requester, std::uint64_t address, std::uint32_t group, std::uint32_t flags) {
  const bool enabled = (size_ & 0x80000000U) != 0;
  const std::uint32_t size = 1U << (size_ & 15);
  if (!enabled || tail_ - head_ >= size) {
    ++overflows;
    if (!(flags & ats_page_last)) return;
    const auto code = enabled ? ats_response::success : ats_response::failure;
    return respond(requester, static_cast<std::uint16_t>(group), static_cast<std::uint8_t>(code));
  }
  ++requests;
  iommu_page_request entry{requester, group, address & ~std::uint64_t{0xfff}, flags, {}};
  ps t = now();
  tables_.access(true, base_ + (tail_ & (size - 1)) * sizeof entry, &entry, sizeof entry, t);
  const bool was_empty = tail_++ == head_;
  show();
  if (was_empty) queue_.at(t, call<&page_requests::raise>(this));
}

void page_requests::respond(std::uint32_t requester, std::uint16_t group, std::uint8_t code) {
  ++responses;
  messages_.send(requester, pcie_message::page_response, group, code, 0);
}

void page_requests::raise() {
  tlm::tlm_generic_payload p;
  std::uint32_t vector = vector_;
  set_access(p, tlm::TLM_WRITE_COMMAND, msi_window, &vector, sizeof vector);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  interrupts_->nb_transport_fw(p, phase, delay);
}

void page_requests::show() {
  queued.set(tail_ - head_, now());
  shown.set(tail_ - head_, now());
}

void page_requests::write_register(std::uint32_t offset, std::uint64_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  switch (offset) {
    case IOMMU_REG_PAGES:
      base_ = value;
      break;
    case IOMMU_REG_PAGES_SIZE:
      size_ = word;
      head_ = tail_ = 0;
      break;
    case IOMMU_REG_PAGES_HEAD:
      if (word - head_ > tail_ - head_) break;  // a wild value
      head_ = word;
      show();
      break;
    case IOMMU_REG_PAGES_VECTOR:
      vector_ = word;
      break;
    default:
      break;
  }
}

std::uint64_t page_requests::read_register(std::uint32_t offset) const {
  switch (offset) {
    case IOMMU_REG_PAGES:
      return base_;
    case IOMMU_REG_PAGES_SIZE:
      return size_;
    case IOMMU_REG_PAGES_HEAD:
      return head_;
    case IOMMU_REG_PAGES_TAIL:
      return tail_;
    case IOMMU_REG_PAGES_VECTOR:
      return vector_;
    default:
      return 0;
  }
}

}  // namespace hcasim
