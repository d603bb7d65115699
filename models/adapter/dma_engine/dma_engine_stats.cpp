#include "models/adapter/dma_engine/dma_engine.h"

namespace hcasim {

void dma_engine::describe() {
  for (std::size_t i = 0; i < dma_sources; ++i) {
    const std::string source = dma_source_names[i];
    stats_.add(source + "_requests", "1", "requests of source " + source, requests_[i]);
    stats_.add(source + "_bytes", "bytes", "bytes that source " + source + " asked to move", bytes_[i]);
  }
  stats_.add("read_bursts", "1", "read bursts given to PCIe", read_bursts_);
  stats_.add("write_bursts", "1", "write bursts given to PCIe", write_bursts_);
  stats_.add("atomics", "1", "atomic requests", atomics_);
  stats_.add("lock_waits", "1", "atomics that found their bucket locked", lock_waits_);
  stats_.add("tag_stalls", "1", "reads that found no tag free, or other reads waiting", tag_stalls_);
  stats_.add("buffer_stalls", "1", "writes that found the write buffer full, or other writes waiting", buffer_stalls_);
  stats_.add("failures", "1", "bursts that did not reach their address", failures_);
  stats_.add("read_latency", "ps", "from a read request to its answer", read_latency_);
  stats_.add("write_latency", "ps", "from a write request to its answer, which comes when it has landed", write_latency_);
  stats_.add("atomic_latency", "ps", "from an atomic request to its answer", atomic_latency_);
  stats_.add("reads", "1", "read requests that are not answered", reads_level_);
  stats_.add("tags_in_use", "1", "read tags taken", tags_level_);
  stats_.add("write_bytes", "bytes", "bytes of posted writes under way", write_level_);
  stats_.add("locks_held", "1", "atomic buckets locked", locks_level_);
  stats_.busy_time("issue_busy", "time bursts were being given to PCIe", issue_);
  stats_.busy_time("return_busy", "time bytes of reads passed the datapath on their way back", return_path_);
  stats_.busy_time("atomics_busy", "time atomics were being started", atomic_pace_);

  guard_.list(stats_);
  icm_map_.list(stats_);

  signals_.add("reads", 16, reads_probe_);
  signals_.add("tags_in_use", 16, tags_probe_);
  signals_.add("write_bytes", 32, write_probe_);
  signals_.add("reads_waiting", 16, reads_waiting_probe_);
  signals_.add("writes_waiting", 16, writes_waiting_probe_);
  signals_.add("locks_held", 16, locks_probe_);
  signals_.add("issue", 2, issue_probe_, {"none", "read", "write"});
  signals_.add("address", 64, address_probe_);
  signals_.add("bytes", 16, bytes_probe_);
  signals_.add("source", 4, source_probe_, {dma_source_names, dma_source_names + dma_sources});
  signals_.add("failed", 1, failed_probe_);
}

}  // namespace hcasim
