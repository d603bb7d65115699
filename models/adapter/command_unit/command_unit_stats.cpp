#include "models/adapter/command_unit/command_unit.h"

namespace hcasim {

void command_unit::describe() {
  stats_.add("commands", "1", "commands executed", commands_);
  stats_.add("resets", "1", "resets of the function", resets_);
  stats_.add("failed", "1", "commands that did not end with HCA_OK", failed_);
  stats_.add("dma_reads", "1", "DMA reads by the firmware", dma_reads_);
  stats_.add("dma_writes", "1", "DMA writes by the firmware", dma_writes_);
  stats_.add("cache_drops", "1", "entries dropped from context caches", drops_);
  stats_.add("key_drains", "1", "waits for the accesses of an older key epoch", drains_);
  stats_.add("table_entries", "1", "page-table entries computed", entries_);
  stats_.total("busy", "ps", "time that commands were being executed",
               [this](ps) { return static_cast<double>(executing_.count()); });
  stats_.add("command_time", "ps", "from taking a command to its answer being written", command_time_);
  stats_.add("drain_time", "ps", "wait of one key drain", drain_time_);
  stats_.add("queue", "1", "commands that wait or run", queue_level_);
  signals_.add("busy", 1, busy_probe_);
  signals_.add("opcode", 8, opcode_probe_);
  signals_.add("status", 8, status_probe_);
  signals_.add("queue", 16, queue_probe_);
}

}  // namespace hcasim
