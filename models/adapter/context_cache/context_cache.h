// A cache of fixed-size entries that lie in an area of ICM: set-associative, write-back, several fetches at once.
//
// - A hit is answered in the call. A fetch pins its entry: its storage stays where it is until END_RESP.
// - Misses of one index share one DMA read. A dirty victim is copied to a write buffer and written; a fetch or drop of
//   its index waits until the write has landed.
// - second level: has entries that made room, clean or on their way to ICM. A fetch moves an entry back.
// - Pinned entries and entries being fetched are no victims. A miss that finds no victim in its set, or no free fetch,
//   waits first come, first served per set; misses of other sets and hits pass. The cache cannot dead-lock as long as no unit
//   holds an entry while waiting for another one of the same set.
// - drop: [tlm/context.h]. Later fetches of the index wait behind the drop and read ICM anew; behind a take until it is given.
// - set_area: waits until nothing is pinned or under way, then forgets everything, dirty entries too (their area is gone).
// - An entry whose cells go wrong is noticed at its next lookup (tlm/cells.h). A clean entry is read anew from ICM. A dirty
//   entry is ruined: its fetches fail, and its bytes go to ICM with a wrong code.
// - A wrong tag loses a clean entry. The index of a dirty entry is lost with its tag, so any index of ICM may
//   be stale: the cache reads nothing from ICM, and drops and takes say `failed`, until set_area.
// - failed: index beyond the area, or the DMA read failed. A write-back that fails is counted; its bytes are lost [E11].
//
// A plain hit is served here. The rest is parts:
//
//   cache_lines, line_cells          tags, states and bytes; wrong bits in them
//   second_level                     entries that made room in the lines
//   request_admission                decides on requests that are no plain hit
//   pending_requests                 requests that wait, and their order
//   line_fetches, write_buffers,     entries on their way from ICM, to ICM,
//   line_drops                       and out of the cache
#pragma once

#include "models/adapter/context_cache/request_admission.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/unit.h"

namespace hcasim {

class context_cache : public unit, public faulty {
 public:
  std::deque<target_socket<context_request>> in;
  initiator_socket<dma_request> dma{"dma"};

  context_cache(const sc_core::sc_module_name& name, const context_cache_config& config, const clock_domain& clock,
                std::uint32_t entry_bytes, unsigned clients, const cell_protection& protection = {});

  void list_waiting(waiting_list& list) const override { pending_.list_waiting(list, name(), dma.target(), pinned()); }
  [[nodiscard]] std::uint64_t pinned() const { return lines_.pinned(); }
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return cache_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override { cells_.faults().ask(kind, r); }
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const override { return cells_.faults().to_come(kind); }
  void withdraw() override { cells_.faults().withdraw(); }

 private:
  tlm::tlm_sync_enum handle(context_request& r, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum slow(context_request& r, ps& t);
  void give_back(context_request& r);
  void on_release(std::size_t slot);

  const context_cache_config config_;
  const ps hit_latency_;
  pending_requests::lookup_port port_;
  context_cache_counters counters_;
  context_cache_signals shown_;
  cache_lines lines_;
  entry_transfers icm_;
  pending_requests pending_;
  second_level second_;
  write_buffers writes_;
  line_drops drops_;
  line_fetches fetches_;
  line_cells cells_;
  request_admission admission_;
};

}  // namespace hcasim
