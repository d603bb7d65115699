// A cache of fixed-size entries that lie in an area of ICM: set-associative, write-back, several fetches at once.
//
// - A hit is answered in the call. A fetch pins its entry: its storage stays where it is until END_RESP.
// - Misses of one index share one DMA read. A dirty victim is copied to a write buffer and written; a fetch or drop of
//   its index waits until the write has landed.
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
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "models/adapter/context_cache/context_cache_config.h"
#include "models/adapter/context_cache/line_rules.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/fifo.h"
#include "tlm/base/lazy_array.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/base/wait.h"
#include "tlm/cells.h"
#include "tlm/context.h"
#include "tlm/dma.h"

namespace hcasim {

class context_cache : public unit, public faulty {
 public:
  std::deque<target_socket<context_request>> in;
  initiator_socket<dma_request> dma{"dma"};

  context_cache(const sc_core::sc_module_name& name, const context_cache_config& config, const clock_domain& clock,
                std::uint32_t entry_bytes, unsigned clients, const cell_protection& protection = {});

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::uint64_t pinned() const { return pins_; }
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return cache_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override { cells_.ask(kind, r); }
  void withdraw() override { cells_.withdraw(); }

 private:
  enum class outcome : std::uint8_t { answered, queued, no_fetch, no_victim };
  static constexpr std::size_t nowhere = ~std::size_t{0};

  struct slot_state {
    std::uint32_t pins;
    line_life life;
    std::uint16_t fetch;  // while fetching
  };
  // Goes on at `when`; with `later` not before the call that started the process has returned.
  struct landed {
    event_queue& queue;
    ps when;
    bool later;
    bool await_ready() const { return !later && when <= now(); }
    void await_suspend(std::coroutine_handle<> h) const { queue.at(std::max(when, now()), resume(h)); }
    void await_resume() const {}
  };
  // A request that cannot be answered yet.
  struct pending {
    context_request* request = nullptr;
    ps t{0};                          // earliest answer
    outcome why = outcome::answered;  // while stalled
    pending* next = nullptr;
  };
  struct fetch_record {
    dma_request read;
    std::size_t slot = 0;
    std::uint16_t number = 0;
    bool launching = false;  // its first request is still in its call
    ps begin{0};
    fifo<pending> waiting;
    fetch_record* next = nullptr;
  };
  struct write_back {
    dma_request write;
    std::uint32_t index = 0;
    std::vector<std::byte> bytes;
    fifo<pending> waiting;
  };
  struct drop_record {
    dma_request write;
    pending* request = nullptr;  // none while it is taken
    std::uint32_t index = 0;
    std::size_t slot = 0;
    std::coroutine_handle<> sleeper;
    bool launching = false;
    fifo<pending> waiting;
  };

  tlm::tlm_sync_enum handle(context_request& r, tlm::tlm_phase phase, ps& t);
  void give_back(context_request& r, ps t);
  tlm::tlm_sync_enum slow(context_request& r, ps& t);

  // Answers the request, hands it to a queue, or returns the reason of the stall.
  outcome admit(pending& p);
  outcome admit_fetch(pending& p);
  outcome admit_drop(pending& p);
  drop_record& begin_drop(pending* p, std::uint32_t index, std::size_t slot);
  void give(std::uint32_t index);
  outcome admit_area(pending& p);
  outcome begin_fetch(pending& p);
  void settle(pending& p);
  void settle_all(fifo<pending> list);
  void stall(pending& p, outcome why);
  void count_stall(pending& p, outcome why);
  void answer(pending& p);

  process fetch(fetch_record& f, write_back* evicted, std::uint64_t operation);
  process write(write_back& w, ps t);
  process drop(drop_record& d);
  void wake(drop_record& d);
  void fill(fetch_record& f, ps t);

  void released(std::size_t slot);
  void poke();
  void on_poke();
  void progress();
  void retry_stalled();
  [[nodiscard]] bool gated() const;
  [[nodiscard]] bool idle() const;

  [[nodiscard]] std::uint32_t set_of(std::uint32_t index) const { return mask_ ? index & mask_ : index % config_.sets; }
  [[nodiscard]] std::size_t find(std::uint32_t index) const;
  [[nodiscard]] std::size_t victim(std::uint32_t set);
  [[nodiscard]] std::byte* bytes_of(std::size_t slot) { return data_.data() + (slot << stride_shift_); }
  [[nodiscard]] std::uint64_t icm_address(std::uint32_t index) const {
    return area_base_ + std::uint64_t{index} * entry_bytes_;
  }
  void lend(context_request& r, std::size_t slot);
  void fail(context_request& r);
  void on(std::size_t slot, line_event e);
  void forget(std::size_t slot, line_event why);
  bool spoiled(std::size_t slot);
  bool keeps_its_tag(std::size_t slot);
  write_back* evict(std::size_t slot);
  void clear();
  [[nodiscard]] drop_record* drop_of(std::uint32_t index) const;
  [[nodiscard]] write_back* write_of(std::uint32_t index) const;
  [[nodiscard]] std::size_t active_fetches() const { return config_.fetches - free_fetches_.size(); }
  void note_waiting() { waiting_.set(pendings_.in_use(), now()); }
  void register_statistics();

  const context_cache_config config_;
  const std::uint32_t entry_bytes_;
  const unsigned stride_shift_;
  const std::uint32_t mask_;
  const ps hit_latency_;
  const ps interval_;
  const ps cycle_;
  server port_;

  std::uint64_t area_base_ = 0;
  std::uint64_t area_entries_ = 0;
  lazy_array<std::uint32_t> tags_;  // index + 1; 0 = empty
  lazy_array<slot_state> slots_;
  lazy_array<std::byte> data_;
  cells cells_;
  bool lost_one_ = false;  // a dirty entry
  lazy_array<std::uint32_t> stalled_in_set_;
  std::unique_ptr<replacement> policy_;
  std::vector<std::uint8_t> locked_;  // scratch of victim()

  std::deque<fetch_record> fetch_records_;
  fifo<fetch_record> free_fetches_;
  credits write_buffers_;
  std::vector<write_back*> writing_;
  std::vector<drop_record*> dropping_;
  fifo<pending> stalled_;
  std::uint64_t stalled_count_ = 0;
  std::uint64_t stalled_for_fetch_ = 0;
  fifo<pending> gate_;
  pending* area_change_ = nullptr;
  std::uint64_t pins_ = 0;
  bool poked_ = false;
  bool progressing_ = false;
  bool again_ = false;
  pool<pending> pendings_;
  pool<write_back> write_backs_;
  pool<drop_record> drops_;

  counter hits_, misses_, merged_, evictions_, written_back_, dropped_, failed_, write_failures_, no_fetch_, no_victim_,
      behind_write_;
  histogram miss_latency_;
  level outstanding_, waiting_;
  probe valid_probe_, index_probe_, hit_probe_, outstanding_probe_, waiting_probe_;
};

}  // namespace hcasim
