#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

// A new key's byte [A5]: never that of the index's last owner.
enum class key_byte_policy : std::uint8_t { counter, random };

struct command_unit_config {
  frequency clock{400e6};
  double hal_access = 8;
  double command_work = 400;
  double entry_work = 4;
  double chunk_work = 12;
  double bitmap_work = 2;

  std::uint32_t log_qps = 18;
  std::uint32_t log_cqs = 18;
  std::uint32_t log_mrs = 22;
  bool pages_64k = true;
  bool pages_2m = true;
  bool pages_1g = true;
  std::uint32_t max_levels = 4;
  std::uint32_t queue_levels = 2;
  std::uint32_t max_read_depth = 16;
  std::uint32_t max_inline = 220;
  std::uint32_t max_sge = 30;
  std::uint32_t max_spaces = 4096;
  std::uint32_t max_segments = 65536;
  std::uint64_t table_bytes = 1_GiB;
  std::uint32_t functions = 2;
  bool tag_memory = true;
  key_byte_policy key_byte = key_byte_policy::counter;
  std::uint32_t key_seed = 1;
  bool on_demand = true;

  void knobs(knob_visitor& k) {
    k.clock("clock", clock, {1e6}, {1e10}, "of the core that runs the control firmware");
    k.cycles("hal_access", hal_access, 0, 10000, "firmware core: one access to a unit or the DMA engine, without its answer");
    k.cycles("command_work", command_work, 0, 1e6, "firmware core: decoding and dispatching a command");
    k.cycles("entry_work", entry_work, 0, 1e4, "firmware core: computing one table entry");
    k.cycles("chunk_work", chunk_work, 0, 1e4, "firmware core: looking at one chunk or segment");
    k.cycles("bitmap_work", bitmap_work, 0, 1e4, "firmware core: scanning one bitmap word");
    k.count("log_qps", log_qps, 4, 24, "log2 of the QPs of the device");
    k.count("log_cqs", log_cqs, 4, 24, "log2 of the CQs of the device");
    k.count("log_mrs", log_mrs, 4, 24, "log2 of the protection table's entries");
    k.flag("pages_64k", pages_64k, "the page walker knows pages of 64 KiB");
    k.flag("pages_2m", pages_2m, "the page walker knows pages of 2 MiB");
    k.flag("pages_1g", pages_1g, "the page walker knows pages of 1 GiB");
    k.count("max_levels", max_levels, 1, 4, "levels of a page table");
    k.count("queue_levels", queue_levels, 1, 4, "levels of a queue's page list: 512 pages with 1, 262144 with 2");
    k.count("max_read_depth", max_read_depth, 1, 255, "READs and atomics of a QP outstanding in each direction");
    k.count("max_inline", max_inline, 0, 904, "bytes of inline data in a WQE");
    k.count("max_sge", max_sge, 1, 60, "data segments of a WQE");
    k.count("max_spaces", max_spaces, 1, 1 << 20, "address-space objects that the firmware can keep");
    k.count("max_segments", max_segments, 1, 1 << 22, "segments of all address spaces together");
    k.count("functions", functions, 1, 65535, "functions of the adapter, each with keys and QPs of its own");
    k.flag("tag_memory", tag_memory, "a freed key index remembers its key byte; otherwise every owner begins with byte 0");
    k.choice("key_byte", key_byte, {"counter", "random"},
             "with tag_memory, the key byte of an index's next owner: one more, or drawn");
    k.count("key_seed", key_seed, 0, 0x1p32 - 1, "of the key bytes that are drawn");
    k.flag("on_demand", on_demand, "regions without pinned pages");
    k.bytes("table_bytes", table_bytes, 1 << 20, 1099511627776.0, "page-table area in host memory (backed when used)");
  }
};

}  // namespace hcasim
