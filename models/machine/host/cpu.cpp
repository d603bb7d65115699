#include "models/machine/host/cpu.h"

#include <algorithm>
#include <cstring>

#include "models/machine/host/host.h"
#include "tlm/base/event_alarm.h"

namespace hcasim {
namespace {

constexpr std::uint64_t line = 64;

std::int64_t lines(std::uint64_t address, std::size_t bytes) {
  return bytes == 0 ? 0 : static_cast<std::int64_t>((address + bytes - 1) / line - address / line + 1);
}

ps deadline_after(ps t, ps timeout) {
  return timeout >= never - t ? never : t + timeout;
}

}  // namespace

cpu::cpu(host& h) : host_(h), alarm_(call<&cpu::on_alarm>(this)) {
  if (const std::uint32_t limit = h.config_.combining_buffers) buffers_ = std::make_shared<combining_buffers>(limit);
}

cpu::~cpu() {
  if (buffers_) buffers_->await(nullptr);
}

void cpu::sync() {
  if (ahead_ <= 0_ps) return;
  const sc_core::sc_time t = to_sc(ahead_);
  ahead_ = 0_ps;
  sc_core::wait(t);
  host_.queue_.caught_up();
  count_event();
}

// Synchronises if another process may act before the local time: otherwise the bytes of a load cannot change.
void cpu::catch_up() {
  if (ahead_ <= 0_ps) return;
  if (ahead_ > host_.config_.run_ahead || sc_core::sc_time_to_pending_activity() <= to_sc(ahead_)) sync();
}

void cpu::sleep(ps deadline) {
  if (deadline > now()) {
    alarm_.set(deadline);
    sc_core::wait(wake_);
    alarm_.clear();
  }
  ++host_.thread_waits_;
  count_event();
}

void cpu::load(std::uint64_t physical, std::span<std::byte> to) {
  catch_up();
  host_.memory_.read_at(time(), physical, to);
  if (auto& c = host_.last_level_cache_; c && !c->core(physical, to.size())) spend(host_.config_.last_level_cache.dram_latency);
  spend(host_.config_.load_cost * lines(physical, to.size()));
}

void cpu::store(std::uint64_t physical, std::span<const std::byte> from) {
  host_.memory_.store_at(time(), now(), physical, from);
  if (auto& c = host_.last_level_cache_) c->core(physical, from.size());
  spend(host_.config_.store_cost * lines(physical, from.size()));
}

void cpu::mmio_write(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation) {
  spend(host_.config_.mmio_write_cost);
  write_register(address, from, operation);
}

void cpu::combined_write(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation) {
  spend(host_.config_.combined_line_cost * lines(address, from.size()));
  write_register(address, from, operation);
}

void cpu::write_register(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation) {
  const auto wanted = static_cast<std::uint64_t>(lines(address, from.size()));
  if (buffers_) await_buffers(wanted);
  host::mmio_access& a = host_.new_access(tlm::TLM_WRITE_COMMAND, address, from.size());
  a.extension.operation = operation;
  std::memcpy(a.data.data(), from.data(), from.size());
  if (buffers_) {
    a.buffers = buffers_;
    a.number = buffers_->add(wanted);
  }
  host_.issue(a, time());
}

void cpu::await_buffers(std::uint64_t wanted) {
  while (!buffers_->fits(wanted, time())) {
    if (buffers_->oldest_leaves() == never) sync();
    buffers_->await(&wake_);
    while (buffers_->oldest_leaves() == never) sc_core::wait(wake_);
    buffers_->await(nullptr);
    if (buffers_->oldest_leaves() > time()) spend(buffers_->oldest_leaves() - time());
  }
}

void cpu::mmio_read(std::uint64_t address, std::span<std::byte> to) {
  spend(host_.config_.mmio_read_cost);
  const ps begin = time();
  host::mmio_access& a = host_.new_access(tlm::TLM_READ_COMMAND, address, to.size());
  a.extension.operation = 0;
  a.acquire();
  a.reader = &wake_;
  host_.issue(a, begin);
  while (!a.answered) sc_core::wait(wake_);
  ahead_ = std::max(a.answered_at - now(), 0_ps);
  // No device answered: the root complex gives all ones.
  if (a.is_response_ok()) {
    std::memcpy(to.data(), a.data.data(), to.size());
  } else {
    std::memset(to.data(), 0xff, to.size());
  }
  a.release();
  host_.mmio_read_time_.add(time() - begin);
}

std::uint64_t cpu::watch(std::uint64_t physical, std::uint64_t bytes) {
  return host_.add_watch(physical, bytes);
}

void cpu::unwatch(std::uint64_t watch) {
  host_.remove_watch(static_cast<std::size_t>(watch));
}

bool cpu::wait_write(std::uint64_t watch, ps timeout) {
  const ps begin = time();
  const ps deadline = deadline_after(begin, timeout);
  const auto index = static_cast<std::size_t>(watch);
  if (!host_.watches_[index].landed && deadline > now()) {
    host_.watches_[index].sleeper = &wake_;
    sleep(deadline);
    host_.watches_[index].sleeper = nullptr;
  }
  host::watch_entry& w = host_.watches_[index];
  if (!w.landed) {
    ahead_ = std::max(deadline - now(), 0_ps);
    return false;
  }
  w.landed = false;
  const ps interval = host_.config_.poll_interval;
  const std::int64_t turns = w.landed_at <= begin ? 0 : (w.landed_at - begin + interval - 1_ps) / interval;
  ahead_ = begin + turns * interval + host_.config_.poll_cost - now();
  ++host_.watch_hits_;
  return true;
}

bool cpu::wait_interrupt(unsigned vector, ps timeout) {
  const ps begin = time();
  const ps deadline = deadline_after(begin, timeout);
  host::vector_state& v = host_.vectors_.at(vector);
  if (v.pending) {
    interrupted_ = true;
    interrupted_at_ = v.raised_at;
    v.pending = false;
  } else {
    interrupted_ = false;
    v.sleepers.push_back(this);
    if (deadline > now()) sleep(deadline);
    if (!interrupted_) {
      std::erase(v.sleepers, this);
      ahead_ = std::max(deadline - now(), 0_ps);
      return false;
    }
  }
  const ps handled = interrupted_at_ + host_.config_.interrupt_latency;
  ahead_ = (handled <= begin ? begin : handled + host_.config_.wake_up_cost) - now();
  return true;
}

void cpu::system_call() {
  ++host_.system_calls_;
  spend(host_.config_.system_call_cost);
}

void cpu::copy(std::uint64_t bytes) {
  spend(host_.config_.copy_rate.time_for(bytes));
}

void cpu::pin_pages(std::uint64_t pages) {
  spend(host_.config_.pin_page_cost * static_cast<std::int64_t>(pages));
}

}  // namespace hcasim
