#include "models/adapter/device_memory/device_memory.h"

#include <cstring>

#include "firmware/abi/registers.h"

namespace hcasim {

device_memory::device_memory(const sc_core::sc_module_name& name, const device_memory_config& config, const clock_domain& clock)
    : unit(name), config_(config), clock_(clock), bytes_(config.size) {
  dma.on<&device_memory::on_dma>(this);
  window.on<&device_memory::on_window>(this);
  stats_.add("reads", "1", "reads by the adapter", reads_);
  stats_.add("writes", "1", "writes by the adapter", writes_);
  stats_.add("atomics", "1", "atomics by the adapter", atomics_);
  stats_.add("window_reads", "1", "reads by software", window_reads_);
  stats_.add("window_writes", "1", "writes by software", window_writes_);
  stats_.add("outside", "1", "accesses beyond the memory", outside_);
  stats_.busy_time("busy", "time the port was in use", port_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("offset", 32, offset_probe_);
}

tlm::tlm_sync_enum device_memory::on_dma(dma_request& r, tlm::tlm_phase, ps& t) {
  const std::uint64_t offset = r.address - HCA_DM_BASE;
  const ps cycles = clock_.cycles(static_cast<double>(ceil_div(r.bytes, config_.bytes_per_cycle)));
  t = port_.start(t, cycles) + clock_.cycles(config_.latency) + cycles;
  valid_probe_.pulse(1, t, clock_.period());
  offset_probe_.set(offset, t);
  if (!inside(offset, r.bytes)) {
    ++outside_;
    r.failed = true;
    return tlm::TLM_COMPLETED;
  }
  std::byte* const at = bytes_.data() + offset;
  if (r.op == dma_op::read) {
    ++reads_;
    std::memcpy(r.data, at, r.bytes);
  } else if (r.op == dma_op::write) {
    ++writes_;
    std::memcpy(at, r.data, r.bytes);
  } else {
    ++atomics_;
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    std::memcpy(r.data, &value, sizeof value);
    if (r.op == dma_op::fetch_add) {
      value += r.operand;
    } else if (value == r.compare) {
      value = r.operand;
    }
    std::memcpy(at, &value, sizeof value);
  }
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum device_memory::on_window(register_access& r, tlm::tlm_phase, ps& t) {
  const std::uint64_t offset = r.offset - HCA_BAR_DM;
  t = port_.start(t, clock_.period()) + clock_.cycles(config_.latency);
  ++(r.write ? window_writes_ : window_reads_);
  if (!inside(offset, r.bytes)) {
    ++outside_;
    r.value = ~std::uint64_t{0};
    return tlm::TLM_COMPLETED;
  }
  if (r.write) {
    std::memcpy(bytes_.data() + offset, &r.value, r.bytes);
  } else {
    r.value = 0;
    std::memcpy(&r.value, bytes_.data() + offset, r.bytes);
  }
  return tlm::TLM_COMPLETED;
}

}  // namespace hcasim
