#include "models/machine/host/host.h"

namespace hcasim {

void host::describe() {
  stats_.add("dma_reads", "1", "DMA read bursts that reached memory", dma_reads_);
  stats_.add("dma_writes", "1", "DMA write bursts that reached memory", dma_writes_);
  stats_.add("dma_read_bytes", "B", "bytes that DMA read from memory", dma_read_bytes_);
  stats_.add("dma_write_bytes", "B", "bytes that DMA wrote to memory", dma_write_bytes_);
  stats_.share("memory_busy", "share of the time that the memory's bandwidth for DMA was in use", memory_port_);
  stats_.wait_time("memory_queue_time", "time that DMA bursts waited for memory bandwidth, all together", memory_port_);
  if (last_level_cache_) last_level_cache_->list(stats_);
  stats_.total("resident_bytes", "B", "simulated memory that was written for the first time, which takes room in the simulator",
               [this](ps) { return static_cast<double>(memory_.resident_bytes()); });
  stats_.add("mmio_writes", "1", "register writes that software posted, write-combined ones included", mmio_writes_);
  stats_.add("mmio_written_bytes", "B", "bytes of register writes", mmio_written_bytes_);
  stats_.add("mmio_reads", "1", "register reads", mmio_reads_);
  stats_.add("mmio_read_time", "ps", "round trip of a register read as software sees it", mmio_read_time_);
  stats_.add("interrupts", "1", "interrupt messages received", interrupts_);
  stats_.add("stray_interrupts", "1", "interrupt messages of a vector that does not exist", stray_interrupts_);
  stats_.add("system_calls", "1", "system calls of software", system_calls_);
  stats_.add("watch_hits", "1", "waits for a DMA write that ended because it landed", watch_hits_);
  stats_.add("thread_waits", "1", "times that a software thread slept for a DMA write or an interrupt", thread_waits_);

  signals_.add("dma_read", 1, dma_read_probe_);
  signals_.add("dma_write", 1, dma_write_probe_);
  signals_.add("interrupt_vector", 16, vector_probe_);
  signals_.add("mmio", 2, mmio_probe_, {"idle", "write", "read"});
  signals_.add("threads", 16, threads_probe_);
}

}  // namespace hcasim
