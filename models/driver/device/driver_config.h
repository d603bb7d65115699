// Knobs of the host driver model: the sizes of the adapter's tables, the fast paths in use, and the CPU time of the driver's
// code. Accesses, copies, pinning and system calls cost what the host's knobs say.
#pragma once

#include "models/machine/host/virtual_memory.h"
#include "tlm/base/knobs.h"

namespace hcasim::driver {

enum class blueflame_use : std::uint8_t { never, inline_only, always };
// Registering zero bytes: accept gives a key that matches nothing; refuse always refuses. page_count does what Linux does: a
// region that would pin no page, so at a page-aligned address, is refused [B3.3].
enum class zero_length_policy : std::uint8_t { accept, page_count, refuse };
// After a failed re-register: revoke makes the key unusable at once; keep leaves the adapter's entry [B.5].
enum class failed_rereg_policy : std::uint8_t { revoke, keep };
// The key after a re-register that succeeded: the same, or another index and key [B.5].
enum class rereg_key_policy : std::uint8_t { keep, renew };
// Null regions, which read as zeros and keep no writes: none; for local use; for peers too [B3.5].
enum class null_region_use : std::uint8_t { none, local, remote };
// The fate of an address space's VAs when it changes: extend keeps them, remap moves the whole space [S5].
enum class x_space_policy : std::uint8_t { extend, remap };
// Peer memory as in its first version (2014), or as in drivers now [F.1, F.3, G7].
// - An invalidation before the key is live makes the registration fail, or waits for its end.
// - Memory whose client cannot invalidate, but must, is refused, or its client is passed over.
// - Tickets are never used again, or are small numbers that come round.
enum class peer_semantics : std::uint8_t { legacy, modern };
// The unit that faults when an on-demand region lacks a page [E9, E10]. The adapter faults by a missing entry in its own
// tables. The IOMMU faults by one in its table, and the adapter's translation cache asks for the page.
enum class on_demand_mode : std::uint8_t { adapter, iommu };
// The kind of importer for dma-bufs [F.7].
enum class dma_buf_mode : std::uint8_t { dynamic, pinned, revocable };

struct driver_config {
  std::uint32_t log_qps = 16;
  std::uint32_t log_cqs = 16;
  std::uint32_t log_mrs = 20;
  std::uint64_t table_bytes = 1ULL << 30;
  std::uint32_t extent_lines = 1 << 16;
  std::uint32_t log_command_slots = 5;
  ps command_timeout = 10000_ms;
  ps health_period = 2000_ms;
  ps reset_timeout = 100_ms;
  std::uint32_t recoveries = 3;
  std::uint32_t log_eq_entries = 10;
  std::uint32_t completion_vectors = 4;
  std::uint32_t first_vector = 0;
  std::uint32_t vendor_id = 0x6863;  // no vendor's
  std::uint32_t vendor_part_id = 0;

  blueflame_use blueflame = blueflame_use::always;
  page_policy queue_memory = page_policy::scattered;
  std::uint32_t cq_record_interval = 1;
  std::uint64_t max_segment = 1ULL << 31;
  zero_length_policy zero_length_mr = zero_length_policy::accept;
  failed_rereg_policy failed_rereg = failed_rereg_policy::revoke;
  rereg_key_policy rereg_key = rereg_key_policy::keep;
  null_region_use null_mr = null_region_use::remote;
  bool wide_datagrams = false;
  bool reserved_lkey = false;
  bool rkey_zero_without_remote_rights = false;
  x_space_policy x_policy = x_space_policy::extend;
  bool x_page_aligned = false;
  bool x_split = true;
  bool peer_memory = true;
  bool peer_invalidation = true;
  hcasim::driver::peer_semantics peer_semantics = hcasim::driver::peer_semantics::modern;
  dma_buf_mode dma_buf = dma_buf_mode::dynamic;
  on_demand_mode on_demand = on_demand_mode::adapter;
  std::uint32_t log_page_requests = 7;

  ps post_call = 15_ns;
  ps post_wqe = 20_ns;
  ps post_segment = 3_ns;
  ps poll_call = 10_ns;
  ps poll_cqe = 15_ns;
  ps kernel_verb = 2_us;
  ps deregister{0};
  ps unpin_page = 70_ns;
  ps page_fault = 5_us;
  std::uint32_t fault_pages = 1;
  // Abilities that the adapter's configuration space reports; not knobs of the driver.
  bool ats = false;
  bool ats_pages = false;

  void knobs(knob_visitor& k) {
    k.count("log_qps", log_qps, 1, 24, "log2 of the QPs in the context table; the adapter's limit if that is lower");
    k.count("log_cqs", log_cqs, 1, 24, "log2 of the CQs in the context table; the adapter's limit if that is lower");
    k.count("log_mrs", log_mrs, 1, 24, "log2 of the keys in the MRC table; the adapter's limit if that is lower");
    k.bytes("table_bytes", table_bytes, 64 << 10, 0x1p44, "host memory reserved for page tables");
    k.count("extent_lines", extent_lines, 1, 0x1p32 - 1, "64 B lines reserved for the extents of address spaces");
    k.count("log_command_slots", log_command_slots, 0, 10, "log2 of the commands that may be in flight");
    k.time("command_timeout", command_timeout, 1_us, 3600000_ms, "a command that takes longer makes the device dead");
    k.time("health_period", health_period, 0_ps, 3600000_ms, "from one look at the device's health to the next; 0: none");
    k.time("reset_timeout", reset_timeout, 1_us, 3600000_ms, "a device that has not come out of its reset by then is given up");
    k.count("recoveries", recoveries, 0, 1000, "attempts to bring a device that has failed up again; 0: it stays dead");
    k.count("log_eq_entries", log_eq_entries, 4, 17, "log2 of the entries of each event queue");
    k.count("completion_vectors", completion_vectors, 1, 62, "event queues for completions, one interrupt vector each");
    k.count("first_vector", first_vector, 0, 2046, "interrupt number of the device's MSI-X vector 0");
    k.count("vendor_id", vendor_id, 0, 0xffffff,
            "the adapter's vendor as ibv_query_device shows it; some programs look for it");
    k.count("vendor_part_id", vendor_part_id, 0, 0x1p32 - 1, "the vendor's number of the adapter, likewise");
    k.choice("blueflame", blueflame, {"never", "inline_only", "always"}, "which single WQEs are written to the doorbell page");
    k.choice("queue_memory", queue_memory, {"scattered", "contiguous", "huge_2m", "huge_1g"}, "pages that queues are made of");
    k.count("cq_record_interval", cq_record_interval, 1, 65536, "polls that found something between updates of the CQ record");
    k.bytes("max_segment", max_segment, 4096, 0x1p40, "longest chunk handed to the adapter; longer runs are split");
    k.choice("zero_length_mr", zero_length_mr, {"accept", "page_count", "refuse"}, "registering zero bytes");
    k.choice("failed_rereg", failed_rereg, {"revoke", "keep"}, "the key after a failed re-register");
    k.choice("rereg_key", rereg_key, {"keep", "renew"}, "the key after a re-register: the region's own, or a new one");
    k.choice("null_mr", null_mr, {"none", "local", "remote"}, "null regions: not there, for local use, for peers as well");
    k.flag("wide_datagrams", wide_datagrams,
           "the address of a datagram fills its WQE's first 64 B, and inline data is one chunk: 68 B before the data");
    k.flag("reserved_lkey", reserved_lkey, "an L_Key for physical memory that only privileged QPs may use");
    k.flag("rkey_zero_without_remote_rights", rkey_zero_without_remote_rights,
           "a region that no peer may use shows R_Key 0; otherwise its key");
    k.choice("x_policy", x_policy, {"extend", "remap"}, "address spaces: whether their VAs stay or all move at a change");
    k.flag("x_page_aligned", x_page_aligned, "address spaces refuse buffers that do not begin and end on a page boundary");
    k.flag("x_split", x_split, "address spaces let pages be taken out of a segment; otherwise whole segments only");
    k.flag("peer_memory", peer_memory, "memory that cannot be pinned is looked for at the peer clients");
    k.flag("peer_invalidation", peer_invalidation, "the driver can take a key away at once, for clients that need that");
    k.choice("peer_semantics", peer_semantics, {"legacy", "modern"}, "which version of the peer client interface");
    k.choice("dma_buf", dma_buf, {"dynamic", "pinned", "revocable"}, "how dma-bufs are registered");
    k.choice("on_demand", on_demand, {"adapter", "iommu"},
             "whose tables lack the pages of on-demand regions; iommu: needs hca.atc with page requests");
    k.count("log_page_requests", log_page_requests, 0, 15, "log2 of the entries of the IOMMU's queue of page requests");
    k.time("post_call", post_call, 0_ps, 1_ms, "CPU time of ibv_post_send or ibv_post_recv besides its WQEs");
    k.time("post_wqe", post_wqe, 0_ps, 1_ms, "CPU time of building one WQE");
    k.time("post_segment", post_segment, 0_ps, 1_ms, "CPU time of each data segment");
    k.time("poll_call", poll_call, 0_ps, 1_ms, "CPU time of ibv_poll_cq besides its CQEs");
    k.time("poll_cqe", poll_cqe, 0_ps, 1_ms, "CPU time of one CQE found");
    k.time("kernel_verb", kernel_verb, 0_ps, 1000_ms, "CPU time of a verb in the kernel besides the system call");
    k.time("deregister", deregister, 0_ps, 1000_ms, "more CPU time of a de-registration than of another verb");
    k.time("unpin_page", unpin_page, 0_ps, 1_ms, "CPU time of unpinning one 4 KiB page");
    k.time("page_fault", page_fault, 0_ps, 1000_ms, "CPU time of serving a page fault of the adapter besides its pages");
    k.count("fault_pages", fault_pages, 1, 512, "pages that a page fault puts in at least, as far as they are mapped");
  }
};

}  // namespace hcasim::driver
