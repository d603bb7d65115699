#include "models/machine/peer_device/peer_device.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tlm/access.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

constexpr std::uint64_t host_page = 4096;

const peer_device_config& checked(const peer_device_config& c) {
  if (!std::has_single_bit(c.page_bytes()) || c.page_bytes() < host_page)
    throw std::invalid_argument("peer_device: page must be a power of two from 4 KiB on");
  if (!std::has_single_bit(c.copy_burst)) throw std::invalid_argument("peer_device: copy_burst must be a power of two");
  if (c.memory % c.page_bytes() != 0) throw std::invalid_argument("peer_device: memory must be whole pages");
  return c;
}

}  // namespace

peer_device::peer_device(const sc_core::sc_module_name& name, const peer_device_config& config)
    : unit(name),
      config_(checked(config)),
      memory_(config.memory),
      read_pipe_(config.read_slots, config.read_latency, config.read_rate),
      copy_slots_(queue_, config.copy_outstanding) {
  bar.register_nb_transport_fw(this, &peer_device::access);
  bar.register_transport_dbg(this, &peer_device::debug);
  pcie.register_nb_transport_bw(this, &peer_device::answered);
  describe();
}

peer_device::~peer_device() = default;

// ---- the BAR

bool peer_device::move(tlm::tlm_generic_payload& p) {
  auto* const data = reinterpret_cast<std::byte*>(p.get_data_ptr());
  if (!memory_.inside(p.get_address(), p.get_data_length())) return false;
  if (p.is_write()) {
    memory_.write(p.get_address(), {data, p.get_data_length()});
  } else {
    memory_.read(p.get_address(), {data, p.get_data_length()});
  }
  return true;
}

tlm::tlm_sync_enum peer_device::access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const std::uint64_t offset = p.get_address();
  const std::uint64_t bytes = p.get_data_length();
  if (offset >= PEER_BAR_REGISTERS) {
    access_register(p);
    return tlm::TLM_COMPLETED;
  }
  const ps t = from_delay(delay);
  if (!move(p)) {
    ++outside_;
    p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  if (monitor_) [[unlikely]] {
    monitor_->peer_access(p.is_write(), offset, bytes, t);
  }
  access_probe_.pulse(p.is_write() ? 1 : 2, t, 1_ns);
  offset_probe_.set(offset, t);
  ps end;
  if (p.is_write()) {
    const ps work = config_.write_rate.time_for(bytes);
    end = write_port_.start(t, work) + work + config_.write_latency;
    ++writes_;
    write_bytes_ += bytes;
    write_time_.add(end - t);
  } else {
    const read_pipe::times r = read_pipe_.take(t, bytes);
    end = r.end;
    if (r.begin > t) ++read_waits_;
    ++reads_;
    read_bytes_ += bytes;
    read_time_.add(end - t);
  }
  delay = to_delay(end);
  return tlm::TLM_COMPLETED;
}

unsigned peer_device::debug(tlm::tlm_generic_payload& p) {
  return move(p) ? p.get_data_length() : 0;
}

void peer_device::access_register(tlm::tlm_generic_payload& p) {
  const std::uint64_t offset = p.get_address() - PEER_BAR_REGISTERS;
  const std::size_t bytes = p.get_data_length();
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  if (p.is_write()) {
    peer_copy c{};
    if (offset != PEER_REG_COPY || bytes != sizeof c) {
      p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    std::memcpy(&c, p.get_data_ptr(), sizeof c);
    copies_.push_back(c);
    copy_queue_.set(copies_.size(), now());
    if (copies_.size() == 1) work_off();
    return;
  }
  struct registers {
    std::uint32_t id = PEER_DEVICE_ID;
    std::uint32_t page_shift = 0;
    std::uint64_t memory = 0;
  } r;
  r.page_shift = static_cast<std::uint32_t>(std::countr_zero(config_.page_bytes()));
  r.memory = config_.memory;
  std::memset(p.get_data_ptr(), 0, bytes);
  if (offset < sizeof r) {
    std::memcpy(p.get_data_ptr(), reinterpret_cast<const std::byte*>(&r) + offset,
                std::min<std::size_t>(bytes, sizeof r - offset));
  }
}

// ---- the copy engine

process peer_device::work_off() {
  while (!copies_.empty()) {
    const peer_copy c = copies_.front();
    const ps begin = now();
    const bool to_host = (c.flags & PEER_COPY_TO_HOST) != 0;
    copy_probe_.set(to_host ? 1 : 2, begin);
    copy_failed_ = !memory_.inside(c.offset, c.bytes);
    co_await queue_.until(begin + config_.copy_setup);
    for (std::uint64_t done = 0; done < c.bytes && !copy_failed_;) {
      const std::uint64_t in_burst = config_.copy_burst - (c.address + done) % config_.copy_burst;
      const std::uint64_t n = std::min(in_burst, c.bytes - done);
      co_await copy_slots_.take();
      const ps start = copy_port_.start(now(), config_.copy_rate.time_for(n));
      co_await queue_.until(start);
      issue(to_host, c.address + done, c.offset + done, n);
      done += n;
    }
    while (copying_ != 0) co_await copy_drained_.wait();
    ++(copy_failed_ ? copies_failed_ : copies_done_);
    if (!copy_failed_) (to_host ? copied_to_host_ : copied_from_host_) += c.bytes;
    copy_time_.add(now() - begin);
    copy_probe_.set(0, now());
    failed_before_fence_ |= copy_failed_;
    if (c.fence != 0) send_fence(c);
    copies_.pop_front();
    copy_queue_.set(copies_.size(), now());
  }
}

peer_device::burst& peer_device::new_burst(bool write, std::uint64_t address, std::uint64_t bytes) {
  burst& b = bursts_.get();
  b.set_mm(this);
  b.acquire();
  set_access(b, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, b.data.data(), bytes);
  return b;
}

void peer_device::issue(bool write, std::uint64_t address, std::uint64_t offset, std::uint64_t bytes) {
  burst& b = new_burst(write, address, bytes);
  b.offset = offset;
  if (write) memory_.read(offset, {b.data.data(), static_cast<std::size_t>(bytes)});
  ++copying_;
  send(b);
}

// The fence is posted behind the copied bytes; the device does not wait for it.
void peer_device::send_fence(const peer_copy& c) {
  burst& b = new_burst(true, c.fence, sizeof c.fence_value);
  b.offset = ~std::uint64_t{0};
  const std::uint32_t value = c.fence_value | (std::exchange(failed_before_fence_, false) ? PEER_COPY_FAILED : 0);
  std::memcpy(b.data.data(), &value, sizeof value);
  send(b);
}

void peer_device::send(burst& b) {
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  const tlm::tlm_sync_enum status = pcie->nb_transport_fw(b, phase, delay);
  if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) finish(b, from_delay(delay));
}

tlm::tlm_sync_enum peer_device::answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  finish(static_cast<burst&>(p), from_delay(delay));
  return tlm::TLM_COMPLETED;
}

void peer_device::finish(burst& b, ps t) {
  const bool fence = b.offset == ~std::uint64_t{0};
  if (!fence) {
    if (!b.is_response_ok()) {
      copy_failed_ = true;
    } else if (b.is_read()) {
      memory_.write(b.offset, {b.data.data(), b.get_data_length()});
    }
  }
  b.release();
  if (fence) return;
  // The engine goes on at the time of the answer, which may be ahead of the kernel.
  queue_.at(std::max(t, now()), call<&peer_device::copied>(this));
}

void peer_device::copied() {
  copy_slots_.give();
  if (--copying_ == 0) copy_drained_.wake_all(queue_);
}

void peer_device::free(tlm::tlm_generic_payload* p) {
  bursts_.put(static_cast<burst&>(*p));
}

void peer_device::describe() {
  stats_.add("bar_reads", "1", "bursts that read the memory through the BAR", reads_);
  stats_.add("bar_writes", "1", "bursts that wrote it", writes_);
  stats_.add("bar_read_bytes", "B", "bytes read through the BAR", read_bytes_);
  stats_.add("bar_write_bytes", "B", "bytes written through the BAR", write_bytes_);
  stats_.add("outside", "1", "bursts beyond the memory", outside_);
  stats_.add("read_waits", "1", "reads that waited for a slot", read_waits_);
  stats_.add("bar_read_time", "ps", "from the arrival of a read to its last byte", read_time_);
  stats_.add("bar_write_time", "ps", "from the arrival of a write until it has landed", write_time_);
  stats_.busy_time("read_busy", "time the BAR gave bytes out", read_pipe_);
  stats_.busy_time("slots_busy", "share of `read_slots` in use, times the time", read_pipe_.slots());
  stats_.busy_time("write_busy", "time the BAR took bytes in", write_port_);
  stats_.add("copies", "1", "copies of the copy engine that ended well", copies_done_);
  stats_.add("copies_failed", "1", "copies of which a byte could not be moved", copies_failed_);
  stats_.add("copied_to_host", "B", "bytes copied to host memory", copied_to_host_);
  stats_.add("copied_from_host", "B", "bytes copied from host memory", copied_from_host_);
  stats_.add("copy_time", "ps", "from the turn of a descriptor to its last byte", copy_time_);
  stats_.busy_time("copy_busy", "time the copy engine handed bytes to its link", copy_port_);
  stats_.add("copy_queue", "1", "descriptors not worked off", copy_queue_);
  signals_.add("access", 2, access_probe_, {"idle", "write", "read"});
  signals_.add("offset", 48, offset_probe_);
  signals_.add("copy", 2, copy_probe_, {"idle", "to_host", "from_host"});
}

}  // namespace hcasim
