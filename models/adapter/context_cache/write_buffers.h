// Evicted entries on their way to ICM. Each lies in a write buffer until its write has landed.
#pragma once

#include <vector>

#include "models/adapter/context_cache/cache_lines.h"
#include "models/adapter/context_cache/entry_transfers.h"
#include "models/adapter/context_cache/pending_requests.h"
#include "models/adapter/context_cache/second_level.h"
#include "tlm/base/process.h"
#include "tlm/base/wait.h"

namespace hcasim {

class write_buffers {
 public:
  struct entry {
    dma_request write;
    std::uint32_t index = 0;
    entry_part part;
    std::vector<std::byte> bytes;  // of the part
    fifo<pending_request> waiting;
  };

  struct parts {
    cache_lines& lines;
    second_level& second;
    entry_transfers& icm;
    pending_requests& pending;
  };

  write_buffers(std::uint32_t buffers, const parts& with, context_cache_counters& counters)
      : parts_(with), counters_(counters), buffers_(queue_, buffers) {}

  // Copies the entry of a line that makes room; null = ICM has its bytes.
  entry* evict(std::size_t slot);
  // Suspends until a buffer is free.
  [[nodiscard]] auto take() { return buffers_.take(); }
  // Writes an entry, for which a buffer was taken.
  process write(entry& e, ps t);
  // Returns the entry of an index; null = it is not on its way.
  [[nodiscard]] entry* of(std::uint32_t index) const;

  [[nodiscard]] bool empty() const { return writing_.empty(); }
  [[nodiscard]] const credits& buffers() const { return buffers_; }

 private:
  event_queue& queue_ = event_queue::instance();
  const parts parts_;
  context_cache_counters& counters_;
  credits buffers_;
  std::vector<entry*> writing_;
  pool<entry> pool_;
};

}  // namespace hcasim
