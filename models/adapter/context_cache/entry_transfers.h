// The area of ICM behind a context cache, and the DMA of its entries.
#pragma once

#include <algorithm>

#include "models/adapter/context_cache/context_cache_statistics.h"
#include "tlm/context.h"
#include "tlm/dma.h"

namespace hcasim {

// Resumes at `when`; with `later` not before the call that started the process has returned.
struct after_transfer {
  ps when;
  bool later;
  bool await_ready() const { return !later && when <= now(); }
  void await_suspend(std::coroutine_handle<> h) const { event_queue::instance().at(std::max(when, now()), resume(h)); }
  void await_resume() const {}
};

// Bytes of an entry.
struct entry_part {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

class entry_transfers {
 public:
  entry_transfers(initiator_socket<dma_request>& dma, std::uint32_t entry_bytes, context_cache_counters& counters)
      : dma_(dma), bytes_(entry_bytes), counters_(counters) {}

  void set(std::uint64_t base, std::uint64_t entries) {
    base_ = base;
    entries_ = std::min<std::uint64_t>(entries, ~std::uint32_t{0});
  }
  [[nodiscard]] std::uint64_t count() const { return entries_; }
  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
  [[nodiscard]] std::string target() const { return dma_.target(); }

  // Answers a fetch that gets no entry.
  void fail(context_request& r) {
    r.failed = true;
    r.entry = nullptr;
    r.area_entries = entries_;
    ++counters_.failed;
  }

  // Reads an entry or writes a part of one: `co_await icm.read(...)` goes on when the bytes have moved.
  [[nodiscard]] auto read(dma_request& d, std::uint32_t index, std::byte* to, ps& t) {
    fill(d, dma_op::read, index, {0, bytes_}, to);
    return dma_.request(d, t);
  }
  [[nodiscard]] auto write(dma_request& d, std::uint32_t index, const entry_part& part, std::byte* from, ps& t) {
    fill(d, dma_op::write, index, part, from);
    ++counters_.written_back;
    return dma_.request(d, t);
  }

 private:
  void fill(dma_request& d, dma_op op, std::uint32_t index, const entry_part& part, std::byte* data) const {
    d.op = op;
    d.source = dma_source::context;
    d.failed = false;
    d.bytes = part.bytes;
    d.address = base_ + std::uint64_t{index} * bytes_ + part.offset;
    d.data = data;
  }

  initiator_socket<dma_request>& dma_;
  const std::uint32_t bytes_;
  context_cache_counters& counters_;
  std::uint64_t base_ = 0;
  std::uint64_t entries_ = 0;
};

}  // namespace hcasim
