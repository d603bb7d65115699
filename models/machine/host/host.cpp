#include "models/machine/host/host.h"

#include <algorithm>
#include <cstring>

#include "tlm/access.h"
#include "tlm/base/border.h"
#include "tlm/base/delegate.h"

namespace hcasim {

host::host(const sc_core::sc_module_name& n, const host_config& config, std::uint64_t seed)
    : unit(n), config_(config), seed_(seed) {
  memory.register_nb_transport_fw(this, &host::memory_access);
  memory.register_transport_dbg(this, &host::memory_debug);
  interrupts.register_nb_transport_fw(this, &host::interrupt);
  own(memory);
  own(interrupts);
  if (config.last_level_cache.size != 0) last_level_cache_.emplace(config.last_level_cache);
  mmio.register_nb_transport_bw(this, &host::mmio_response);
  describe();
}

host::~host() = default;

void host::inject(std::size_t, const fault_request& r) {
  ++exhausted_;
  memory_.set_exhausted(true);
  queue_.at(now() + (r.length > 0_ps ? r.length : 100_us), call<&host::end_exhaustion>(this));
}

void host::end_exhaustion() {
  memory_.set_exhausted(--exhausted_ != 0);
}

void host::run(const std::string& name, std::function<void(cpu&)> program) {
  sc_core::sc_spawn_options options;
  options.set_stack_size(static_cast<int>(config_.stack));
  sc_core::sc_spawn(
      [this, body = std::move(program)] {
        threads_probe_.set(++threads_running_, now());
        cpu c(*this);
        body(c);
        c.sync();
        threads_probe_.set(--threads_running_, now());
      },
      sc_core::sc_gen_unique_name((std::string(basename()) + "_" + name).c_str()), &options);
}

tlm::tlm_sync_enum host::memory_access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  if (from_delay(delay) <= now()) {
    delay = to_delay(move_burst(p), false);
    return tlm::TLM_COMPLETED;
  }
  coming& c = coming_.get();
  c = {this, &p};
  queue_.at(from_delay(delay), call_holder<&coming::self, &host::arrive>(c));
  return tlm::TLM_ACCEPTED;
}

void host::arrive(coming& c) {
  tlm::tlm_generic_payload& p = *c.payload;
  coming_.put(c);
  answer_burst(p);
}

void host::answer_burst(tlm::tlm_generic_payload& p) {
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(move_burst(p));
  memory->nb_transport_bw(p, phase, delay);
}

// The bytes move now; returns when the first data of a read is there, or a write is acknowledged.
ps host::move_burst(tlm::tlm_generic_payload& p) {
  const ps t = now();
  const std::uint64_t bytes = p.get_data_length();
  auto* data = reinterpret_cast<std::byte*>(p.get_data_ptr());
  if (p.get_byte_enable_ptr()) {
    p.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    return t;
  }
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  const ps occupied = config_.memory_bandwidth.time_for(bytes);
  const ps begin = memory_port_.start(t, occupied);
  if (monitor_) [[unlikely]] {
    monitor_->dma(p.is_write(), p.get_address(), bytes, t);
  }
  if (const auto* e = p.get_extension<pcie_extension>(); e && e->check_bits) [[unlikely]] {
    const std::uint64_t words = bytes / physical_memory::code_word;
    p.is_write() ? memory_.put_code(p.get_address(), {e->check_bits, words})
                 : memory_.get_code(p.get_address(), {e->check_bits, words});
  }
  if (p.is_read()) {
    ++dma_reads_;
    dma_read_bytes_ += bytes;
    dma_read_probe_.pulse(1, begin, occupied);
    memory_.read_at(t, p.get_address(), {data, bytes});
    const bool from_dram = last_level_cache_ && !last_level_cache_->dma_read(p.get_address(), bytes);
    return begin + config_.memory_read_latency + (from_dram ? config_.last_level_cache.dram_latency : 0_ps);
  }
  if (p.is_write()) {
    ++dma_writes_;
    dma_write_bytes_ += bytes;
    dma_write_probe_.pulse(1, begin, occupied);
    memory_.write_at(t, p.get_address(), {data, bytes});
    if (last_level_cache_) last_level_cache_->dma_write(p.get_address(), bytes);
    landed(p.get_address(), bytes, t);
    return begin + config_.memory_write_latency;
  }
  return t;
}

unsigned host::memory_debug(tlm::tlm_generic_payload& p) {
  auto* data = reinterpret_cast<std::byte*>(p.get_data_ptr());
  if (p.is_read()) {
    memory_.read(p.get_address(), {data, p.get_data_length()});
  } else if (p.is_write()) {
    memory_.write(p.get_address(), {data, p.get_data_length()});
  }
  return p.get_data_length();
}

tlm::tlm_sync_enum host::interrupt(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  std::uint32_t vector = 0;
  if (p.is_write() && p.get_data_length() == sizeof vector) std::memcpy(&vector, p.get_data_ptr(), sizeof vector);
  if (!p.is_write() || p.get_data_length() != sizeof vector || vector >= vectors) {
    ++stray_interrupts_;
    return tlm::TLM_COMPLETED;
  }
  const ps t = from_delay(delay);
  ++interrupts_;
  vector_probe_.set(vector, t);
  raise(vector, t);
  return tlm::TLM_COMPLETED;
}

void host::raise(unsigned vector) {
  raise(vector, now());
}

void host::raise(unsigned vector, ps t) {
  vector_state& v = vectors_[vector];
  if (v.sleepers.empty()) {
    if (!v.pending) v.raised_at = t;
    v.pending = true;
    return;
  }
  for (cpu* c : v.sleepers) {
    c->interrupted_ = true;
    c->interrupted_at_ = t;
    wake(c->wake_);
  }
  v.sleepers.clear();
}

// A burst covers a page or two: looking only at their buckets keeps the cost apart from the number of watches.
void host::landed(std::uint64_t address, std::uint64_t bytes, ps t) {
  if (bytes == 0) return;
  const std::uint64_t last = address + bytes - 1;
  if (!watched_pages_.empty()) [[unlikely]] {
    tell_watchers(address, last, t);
  }
  if (watches_used_ == 0) return;
  for (std::uint64_t page = address / virtual_memory::page; page <= last / virtual_memory::page; ++page) {
    for (const std::size_t i : watch_filter_[page % watch_buckets]) {
      watch_entry& w = watches_[i];
      if (w.landed || last < w.first || address > w.last) continue;
      w.landed = true;
      w.landed_at = t;
      if (w.sleeper) wake(*w.sleeper);
    }
  }
}

void host::tell_watchers(std::uint64_t first, std::uint64_t last, ps t) {
  for (std::uint64_t page = first / virtual_memory::page; page <= last / virtual_memory::page; ++page) {
    if (const auto it = watched_pages_.find(page); it != watched_pages_.end()) it->second->landed(t);
  }
}

void host::watch_pages(std::uint64_t physical, std::uint64_t bytes, page_watcher& w) {
  for (std::uint64_t at = 0; at < bytes; at += virtual_memory::page)
    watched_pages_[(physical + at) / virtual_memory::page] = &w;
}

void host::unwatch_pages(std::uint64_t physical, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += virtual_memory::page)
    watched_pages_.erase((physical + at) / virtual_memory::page);
}

void host::rouse() {
  for (watch_entry& w : watches_) {
    if (!w.used || w.landed) continue;
    w.landed = true;
    w.landed_at = now();
    if (w.sleeper) wake(*w.sleeper);
  }
}

std::size_t host::add_watch(std::uint64_t physical, std::uint64_t bytes) {
  std::size_t i = watches_.size();
  if (free_watches_.empty()) {
    watches_.emplace_back();
  } else {
    i = free_watches_.back();
    free_watches_.pop_back();
  }
  watches_[i] = {true, physical, physical + std::max<std::uint64_t>(bytes, 1) - 1, false, 0_ps, nullptr};
  filter_watch(i, true);
  ++watches_used_;
  return i;
}

void host::remove_watch(std::size_t index) {
  if (index >= watches_.size() || !watches_[index].used) return;
  filter_watch(index, false);
  watches_[index].used = false;
  free_watches_.push_back(index);
  --watches_used_;
}

void host::filter_watch(std::size_t index, bool add) {
  const watch_entry& w = watches_[index];
  const std::uint64_t first = w.first / virtual_memory::page;
  const std::uint64_t pages = std::min<std::uint64_t>(w.last / virtual_memory::page - first + 1, watch_buckets);
  for (std::uint64_t i = 0; i < pages; ++i) {
    auto& bucket = watch_filter_[(first + i) % watch_buckets];
    if (add) {
      bucket.push_back(index);
    } else {
      std::erase(bucket, index);
    }
  }
}

host::mmio_access& host::new_access(tlm::tlm_command command, std::uint64_t address, std::size_t bytes) {
  sc_assert(bytes <= mmio_bytes);
  mmio_access& a = accesses_.get();
  a.set_mm(this);
  a.acquire();
  set_access(a, command, address, a.data.data(), bytes);
  a.reader = nullptr;
  a.answered = false;
  return a;
}

void host::issue(mmio_access& a, ps t) {
  const bool write = a.is_write();
  if (write) {
    ++mmio_writes_;
    mmio_written_bytes_ += a.get_data_length();
  } else {
    ++mmio_reads_;
  }
  mmio_probe_.pulse(write ? 1 : 2, t, write ? config_.mmio_write_cost : config_.mmio_read_cost);
  if (t <= now()) return leave(a);
  a.self = this;
  queue_.at(t, call_holder<&mmio_access::self, &host::leave>(a));
}

void host::leave(mmio_access& a) {
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  const tlm::tlm_sync_enum status = mmio->nb_transport_fw(a, phase, delay);
  if (status != tlm::TLM_ACCEPTED) taken(a, now());
  if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) {
    mmio_response(a, phase, delay);
  }
}

// The link has taken a write at t: its lines have left the core.
void host::taken(mmio_access& a, ps t) {
  if (a.buffers) std::exchange(a.buffers, nullptr)->leave(a.number, t);
}

tlm::tlm_sync_enum host::mmio_response(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  auto& a = static_cast<mmio_access&>(p);
  if (phase == tlm::END_REQ) {
    taken(a, from_delay(delay));
    return tlm::TLM_ACCEPTED;
  }
  a.answered = true;
  a.answered_at = from_delay(delay);
  if (a.reader) wake(*a.reader);
  a.release();
  return tlm::TLM_COMPLETED;
}

void host::free(tlm::tlm_generic_payload* p) {
  accesses_.put(static_cast<mmio_access&>(*p));
}

}  // namespace hcasim
