#include "models/adapter/command_unit/command_unit.h"

#include <cstring>

#include "tlm/adapter_clock.h"

namespace hcasim {

command_unit::command_unit(const sc_core::sc_module_name& name, const command_unit_config& config, const fw_limits& limits)
    : unit(name), config_(config), clock_(config.clock), limits_(limits), hal_{this}, core_(256 << 10, [this] { run(); }) {
  registers.on<&command_unit::on_register>(this);
  arena_ = lazy_array<std::uint64_t>(fw_memory_needed(&limits_) / sizeof(std::uint64_t) + 1);
  state_.resize(fw_size() / sizeof(std::uint64_t) + 1);
  firmware_ = reinterpret_cast<firmware*>(state_.data());
  describe();
}

tlm::tlm_sync_enum command_unit::on_register(register_access& r, tlm::tlm_phase, ps& t) {
  if (!r.write) {
    switch (r.offset) {
      case HCA_REG_ID:
        r.value = HCA_DEVICE_ID;
        break;
      case HCA_REG_STATUS:
        r.value = status_;
        break;
      case HCA_REG_CMDQ_BASE:
        r.value = queue_base_;
        break;
      case HCA_REG_CMDQ_SIZE:
        r.value = queue_log_;
        break;
      case HCA_REG_CLOCK:
        r.value = adapter_clock(t);
        break;
      default:
        r.value = 0;
        break;
    }
    return tlm::TLM_COMPLETED;
  }
  switch (r.offset) {
    case HCA_REG_CMDQ_BASE:
      if (!reset_asked_) queue_base_ = r.value;
      break;
    case HCA_REG_CMDQ_SIZE:
      if (reset_asked_) break;
      queue_log_ = static_cast<std::uint32_t>(r.value) & 15;
      pi_ = ci_ = 0;
      fw_reset(firmware_, &hal_, &limits_, arena_.data());
      status_ = HCA_STATUS_READY;
      break;
    case HCA_REG_CMDQ_BELL:
      // No more than a ring full of commands can be outstanding; anything else is a stale or wild value.
      if (static_cast<std::uint32_t>(r.value) - ci_ <= (1U << queue_log_)) pi_ = static_cast<std::uint32_t>(r.value);
      queue_level_.set(pi_ - ci_, t);
      queue_probe_.set(pi_ - ci_, t);
      core_.wake_at(t);
      break;
    default:
      break;
  }
  return tlm::TLM_COMPLETED;
}

void command_unit::run() {
  for (;;) {
    while (!reset_asked_ && (status_ != HCA_STATUS_READY || (ci_ == pi_ && down_ == told_down_))) core_.wait();
    t_ = now();
    if (reset_asked_) {
      come_to_rest();
    } else if (down_ != told_down_) {
      const unsigned port = down_[0] != told_down_[0] ? 0 : 1;
      told_down_[port] = down_[port];
      event(HCA_EVENT_PORT, port << 1 | (down_[port] ? 0U : 1U));
    } else if (!execute_next()) {
      status_ = HCA_STATUS_FATAL;
    }
  }
}

void command_unit::reset() {
  reset_asked_ = true;
  status_ = HCA_STATUS_FATAL;
  hangs_ = false;
  core_.wake();
}

void command_unit::port_changed(unsigned port, bool up) {
  down_.set(port, !up);
  core_.wake();
}

void command_unit::inject(std::size_t, const fault_request&) {
  hangs_ = true;
}

void command_unit::come_to_rest() {
  fw_quiesce(firmware_);
  while (!group_lids_.empty()) set_group_lid(group_lids_.back().first, group_lids_.back().second, false);
  dma_fence();
  completion_control c;
  c.op = completion_op::reset;
  call(completion, c);
  queue_base_ = queue_log_ = pi_ = ci_ = 0;
  queue_level_.set(0, t_);
  queue_probe_.set(0, t_);
  busy_probe_.set(0, t_);
  write_failed_ = false;
  told_down_.reset();
  ++resets_;
  reset_asked_ = false;
  status_ = HCA_STATUS_RESET;
  if (on_rest_) on_rest_();
}

bool command_unit::execute_next() {
  const std::uint32_t slot = ci_ & ((1U << queue_log_) - 1);
  const std::uint64_t at = queue_base_ + std::uint64_t{slot} * sizeof(hca_command);
  const ps begin = t_;
  begun_ = begin;
  hca_command c;
  if (dma_read(at, &c, sizeof c) != 0) return false;
  opcode_ = c.opcode;
  busy_probe_.set(1, t_);
  opcode_probe_.set(c.opcode, t_);
  fw_execute(firmware_, &c);
  c.owner = HCA_OWNER_SOFTWARE;
  ++commands_;
  advance();
  if (c.status != HCA_OK) ++failed_;
  dma_fence();
  if (dma_write(at, &c, sizeof c) != 0) return false;
  if (c.event) event(HCA_EVENT_COMMAND, slot);
  ++ci_;
  command_time_.add(t_ - begin);
  executing_ += t_ - begin;
  status_probe_.set(c.status, t_);
  busy_probe_.set(0, t_);
  queue_level_.set(pi_ - ci_, t_);
  queue_probe_.set(pi_ - ci_, t_);
  const ps answered = t_;
  fw_tidy(firmware_);
  if (t_ > answered && t_ > now()) core_.wait_until(t_);
  return true;
}

fw_usage command_unit::usage() const {
  fw_usage u{};
  if (status_ != HCA_STATUS_RESET) fw_query_usage(firmware_, &u);
  return u;
}

}  // namespace hcasim
