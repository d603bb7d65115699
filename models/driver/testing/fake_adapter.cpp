#include "models/driver/testing/fake_adapter.h"

#include <algorithm>

#include "tlm/base/delegate.h"

namespace hcasim::testing {

fake_adapter::fake_adapter(const sc_core::sc_module_name& n, host& h, const fw_limits& limits)
    : unit(n),
      host_(h),
      limits_(limits),
      firmware_(fw_size() / 8 + 1),
      arena_(fw_memory_needed(&limits) / 8 + 64),
      cq_pi_(1ULL << limits.log_cqs) {
  hal_.memory = &h.memory_bytes();
  registers.register_nb_transport_fw(this, &fake_adapter::access);
  h.mmio.bind(registers);
  memory.bind(h.memory);
  interrupts.bind(h.interrupts);
}

tlm::tlm_sync_enum fake_adapter::access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const ps t = from_delay(delay);
  const std::uint64_t offset = p.get_address() - bar;
  auto* data = p.get_data_ptr();
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  if (p.is_read()) {
    const std::uint32_t value = offset == HCA_REG_ID ? static_cast<std::uint32_t>(HCA_DEVICE_ID) : ready_ ? 1U : 0U;
    std::memcpy(data, &value, std::min<std::size_t>(4, p.get_data_length()));
  } else if (offset >= HCA_BAR_UAR) {
    const auto* from = reinterpret_cast<const std::byte*>(data);
    uar_writes.push_back({offset - HCA_BAR_UAR, {from, from + p.get_data_length()}, t});
  } else if (offset >= HCA_BAR_MSIX) {
    std::memcpy(reinterpret_cast<char*>(msix) + (offset - HCA_BAR_MSIX), data, p.get_data_length());
  } else {
    std::uint64_t value = 0;
    std::memcpy(&value, data, p.get_data_length());
    control_write(offset, value, t);
  }
  return tlm::TLM_COMPLETED;
}

void fake_adapter::control_write(std::uint64_t offset, std::uint64_t value, ps t) {
  if (offset == HCA_REG_CMDQ_BASE) ring_ = value;
  if (offset == HCA_REG_CMDQ_SIZE) {
    log_ = static_cast<std::uint32_t>(value);
    fw_reset(reinterpret_cast<firmware*>(firmware_.data()), &hal_, &limits_, arena_.data());
    ready_ = true;
  }
  if (offset != HCA_REG_CMDQ_BELL) return;
  pi_ = static_cast<std::uint32_t>(value);
  most_outstanding = std::max(most_outstanding, pi_ - ci_);
  if (busy_ || !answers) return;
  busy_ = true;
  queue_.at(t + command_time, call<&fake_adapter::execute_next>(this));
}

void fake_adapter::execute_next() {
  const std::uint64_t at = ring_ + (ci_ & ((1U << log_) - 1)) * sizeof(hca_command);
  hca_command c{};
  host_.memory_bytes().read_at(now(), at, std::as_writable_bytes(std::span(&c, 1)));
  sc_assert(c.owner == HCA_OWNER_DEVICE);
  codes.push_back(c.opcode);
  commands.push_back(c);
  if (c.opcode == HCA_CMD_INIT) areas_ = host_.memory_bytes().get<hca_init>(c.in_address);
  if (refuse_with != HCA_OK && c.opcode == refuse_code) {
    c.status = refuse_with;
  } else {
    fw_execute(reinterpret_cast<firmware*>(firmware_.data()), &c);
    fw_tidy(reinterpret_cast<firmware*>(firmware_.data()));
    if (c.opcode == HCA_CMD_CREATE_CQ && c.status == HCA_OK) cq_pi_[c.result[0]] = 0;
  }
  c.owner = HCA_OWNER_SOFTWARE;
  dma_write(at, std::as_bytes(std::span(&c, 1)));
  busy_ = ++ci_ != pi_;
  if (busy_) {
    queue_.at(now() + command_time, call<&fake_adapter::execute_next>(this));
  }
}

::fw_usage fake_adapter::usage() const {
  ::fw_usage u{};
  fw_query_usage(reinterpret_cast<const firmware*>(firmware_.data()), &u);
  return u;
}

std::uint64_t fake_adapter::locate(const hca_buffer& b, std::uint64_t offset) const {
  if (b.page_shift == 0) return b.pages + offset;
  std::uint64_t node = b.pages;
  for (unsigned level = b.levels; level-- > 0;) {
    const std::uint64_t at = offset >> (b.page_shift + level * HCA_PTE_BITS) & (HCA_PTE_PER_NODE - 1);
    node = hca_pte_address(host_.memory_bytes().get<hca_pte>(node + at * 8));
  }
  return node + (offset & ((1ULL << b.page_shift) - 1));
}

void fake_adapter::dma_write(std::uint64_t address, std::span<const std::byte> bytes) {
  tlm::tlm_generic_payload p;
  p.set_command(tlm::TLM_WRITE_COMMAND);
  p.set_address(address);
  p.set_data_ptr(reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data())));
  p.set_data_length(static_cast<unsigned>(bytes.size()));
  p.set_byte_enable_ptr(nullptr);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  memory->nb_transport_fw(p, phase, delay);
}

void fake_adapter::complete(std::uint32_t cqn, hca_cqe e) {
  const hca_cqc c = cqc(cqn);
  const unsigned log = c.buffer.log_bytes - 6U;
  const std::uint32_t pi = cq_pi_[cqn]++;
  e.owner = ((pi >> log) & 1) ? 0 : 1;
  dma_write(locate(c.buffer, (pi & ((1U << log) - 1)) * 64ULL), std::as_bytes(std::span(&e, 1)));
}

void fake_adapter::event(std::uint32_t eqn, std::uint32_t type, std::uint32_t number) {
  const hca_eqc& q = hal_.eqs[eqn];
  const unsigned log = q.buffer.log_bytes - 5U;
  const std::uint32_t pi = eq_pi_[eqn]++;
  hca_eqe e{};
  e.type = type;
  e.number = number;
  e.owner = ((pi >> log) & 1) ? 0 : 1;
  dma_write(locate(q.buffer, (pi & ((1U << log) - 1)) * 32ULL), std::as_bytes(std::span(&e, 1)));

  std::uint32_t data = msix[q.vector].data;
  tlm::tlm_generic_payload p;
  p.set_command(tlm::TLM_WRITE_COMMAND);
  p.set_address(msix[q.vector].address);
  p.set_data_ptr(reinterpret_cast<unsigned char*>(&data));
  p.set_data_length(4);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  interrupts->nb_transport_fw(p, phase, delay);
}

}  // namespace hcasim::testing

// The firmware's hardware: no caches, nothing in flight, host memory at once.
extern "C" {

int hal_dma_read(hal* h, uint64_t address, void* to, uint32_t bytes) {
  h->memory->read_at(hcasim::now(), address, {static_cast<std::byte*>(to), bytes});
  return 0;
}
int hal_dma_write(hal* h, uint64_t address, const void* from, uint32_t bytes) {
  h->memory->write_at(hcasim::now(), address, {static_cast<const std::byte*>(from), bytes});
  return 0;
}
void hal_dma_fence(hal*) {}
void hal_cache_drop(hal*, enum hal_cache, uint32_t) {}
void hal_qpc_take(hal*, uint32_t) {}
void hal_qpc_give(hal*, uint32_t) {}
void hal_cqc_take(hal*, uint32_t) {}
void hal_cqc_give(hal*, uint32_t) {}
void hal_translation_drop(hal*, uint32_t, uint64_t, uint64_t) {}
void hal_key_drain(hal*, uint32_t) {}
void hal_key_lock(hal*, uint32_t) {}
void hal_key_unlock(hal*, uint32_t) {}
void hal_window_close(hal*, uint32_t) {}
void hal_window_unbind(hal*, uint32_t, uint32_t) {}
void hal_set_area(hal*, enum hal_cache, uint64_t, uint64_t) {}
void hal_set_map(hal*, uint64_t) {}
void hal_set_tables(hal*, uint64_t, uint64_t) {}
void hal_qp_control(hal*, uint32_t, enum hal_qp_op) {}
void hal_qp_start(hal*, uint32_t, uint32_t, bool) {}
void hal_cq_page(hal*, uint32_t, uint32_t) {}
void hal_group(hal*, uint32_t, uint32_t) {}
void hal_group_lid(hal*, uint32_t, uint32_t, bool) {}
void hal_set_eq(hal* h, uint32_t eqn, const hca_eqc* eqc) {
  h->open[eqn] = eqc != nullptr;
  if (eqc) h->eqs[eqn] = *eqc;
}
void hal_event(hal*, uint32_t, uint32_t) {}
void hal_pages(hal*, uint32_t, uint64_t, uint64_t, enum hal_pages) {}
void hal_work(hal*, enum hal_work, uint32_t) {}
}
