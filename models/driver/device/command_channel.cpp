#include "models/driver/device/command_channel.h"

#include "models/driver/device/access.h"
#include "models/driver/device/status.h"

namespace hcasim::driver {

command_channel::command_channel(dma_map& dma, std::uint64_t bar, const driver_config& config, driver_statistics& stats)
    : dma_(dma),
      bar_(bar),
      config_(config),
      stats_(stats),
      mailboxes_(dma),
      mask_((1U << config.log_command_slots) - 1),
      busy_(1ULL << config.log_command_slots) {}

int command_channel::open(cpu& c) {
  dead_ = false;
  produced_ = 0;
  busy_.assign(busy_.size(), false);
  stats_.commands_in_flight.set(0, now());
  for (const mailbox& m : std::exchange(kept_, {})) mailboxes_.put(m.address, m.bytes);
  if (ring_ == 0) ring_ = dma_.allocate((mask_ + 1ULL) * sizeof(hca_command), 4096);
  if (ring_ == 0) return ENOMEM;
  write_register(c, bar_ + HCA_REG_CMDQ_BASE, dma_.address(ring_));
  write_register(c, bar_ + HCA_REG_CMDQ_SIZE, config_.log_command_slots);
  return 0;
}

std::uint32_t command_channel::take() {
  busy_[produced_ & mask_] = true;
  stats_.commands_in_flight.add(1, now());
  return produced_++;
}

// The indices go out in the order of time, so that the doorbell value of one never covers an entry not yet filled.
bool command_channel::acquire(cpu& c, std::uint32_t& index) {
  c.sync();
  if (waiting_.empty() && next_is_free()) {
    index = take();
    return !dead_;
  }
  waiter me;
  waiting_.push_back(&me);
  while (!me.served) sc_core::wait(me.turn);
  index = me.index;
  return !dead_;
}

void command_channel::release(std::uint32_t index) {
  busy_[index & mask_] = false;
  stats_.commands_in_flight.add(-1, now());
  while (!waiting_.empty() && next_is_free()) {
    waiter& w = *waiting_.front();
    waiting_.pop_front();
    w.index = take();
    w.served = true;
    hcasim::wake(w.turn);
  }
}

void command_channel::die() {
  dead_ = true;
  for (waiter* w : waiting_) {
    w->served = true;
    hcasim::wake(w->turn);
  }
  waiting_.clear();
}

bool command_channel::wait(cpu& c, std::uint64_t entry_address, std::uint32_t token, std::uint64_t watch, hca_command& answer) {
  const ps deadline = c.time() + config_.command_timeout;
  for (;;) {
    const bool written = c.time() < deadline && c.wait_write(watch, deadline - c.time());
    answer = load<hca_command>(c, entry_address);
    const bool done = answer.owner == HCA_OWNER_SOFTWARE && answer.token == token;
    if (done || !written || dead_) {
      c.unwatch(watch);
      return done;
    }
  }
}

command_result command_channel::execute(cpu& c, const command& what) {
  if (dead_) return {EIO, HCA_OK, 0, 0};
  ++inside_;
  const command_result r = give(c, what);
  if (--inside_ == 0) left_.wake();
  return r;
}

void command_channel::put_back(const mailbox& in, const mailbox& out) {
  for (const mailbox& m : {in, out}) {
    if (m.address == 0) continue;
    if (dead_) {
      kept_.push_back(m);
    } else {
      mailboxes_.put(m.address, m.bytes);
    }
  }
}

command_result command_channel::give(cpu& c, const command& what) {
  ++stats_.commands;

  hca_command entry{};
  entry.opcode = static_cast<std::uint16_t>(what.code);
  entry.owner = HCA_OWNER_DEVICE;
  entry.object = what.object;
  entry.modifier = what.modifier;
  entry.function = what.function;
  entry.in_bytes = static_cast<std::uint32_t>(what.in.size() + what.list.size());
  entry.out_bytes = static_cast<std::uint32_t>(what.out.size());
  mailbox in{0, entry.in_bytes};
  mailbox out{0, entry.out_bytes};
  const bool must = takes_away(what.code);
  if (in.bytes) in.address = mailboxes_.get(in.bytes, must);
  if (out.bytes) out.address = mailboxes_.get(out.bytes, must);
  if ((in.bytes && !in.address) || (out.bytes && !out.address)) {
    put_back(in, out);
    return {ENOMEM, HCA_OK, 0, 0};
  }
  if (in.bytes) {
    entry.in_address = dma_.address(in.address);
    c.store(in.address, what.in);
    if (!what.list.empty()) c.store(in.address + what.in.size(), what.list);
  }
  if (out.bytes) entry.out_address = dma_.address(out.address);

  std::uint32_t index = 0;
  if (!acquire(c, index)) {
    put_back(in, out);
    return {EIO, HCA_OK, 0, 0};
  }
  entry.token = index;
  const std::uint64_t address = ring_ + std::uint64_t{index & mask_} * sizeof(hca_command);
  const std::uint64_t watch = c.watch(address, sizeof(hca_command));
  store(c, address, entry);
  write_register(c, bar_ + HCA_REG_CMDQ_BELL, index + 1);
  const ps rung = c.time();

  hca_command answer;
  if (!wait(c, address, index, watch, answer)) {
    ++stats_.command_errors;
    const int error = dead_ ? EIO : ETIMEDOUT;
    die();
    put_back(in, out);
    return {error, HCA_OK, 0, 0};
  }
  stats_.command_time.add(c.time() - rung);
  const command_result result{to_errno(answer.status), answer.status, answer.result[0], answer.result[1]};
  if (result.error) ++stats_.command_errors;
  if (out.bytes && !result.error) c.load(out.address, what.out);
  put_back(in, out);
  if (!dead_) release(index);
  return result;
}

}  // namespace hcasim::driver
