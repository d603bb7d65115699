// Virtual to physical: a leaf cache of one or two levels, caches of the upper levels' nodes, and walkers that read missing
// entries. A walk is one DMA read per level (8 bytes; of the last level a line of entries).
//
// - A hit, and a physical map (levels 0: physical = va), is answered in the call. An answer ends at the end of the page.
// - Misses of one line share one walk. Walks wait in order for a walker, misses in order for an MSHR. Without hit_under_miss
// one
//   walk is under way, and all lookups behind it wait, but for physical maps.
// - The second level has every line that was walked for. Its lines need no walker.
// - An entry that is not present - or, for a write, read-only - is not_present and never used from the cache: the next lookup
//   reads it anew.
// - A line or an entry of an upper level whose cells or tag have gone wrong is noticed at its next lookup (tlm/cells.h), and
//   read anew.
// - table_error: a DMA read failed, or the map cannot be (more than 4 levels, pages below 4 KiB) [E11].
// - not_present: a null map, which has no physical address.
// - drop forgets the entries of a tag in a VA range. Walks of the range under way still answer, but fill no cache,
//   and no later miss joins them [tlm/translate.h].
#pragma once

#include <deque>
#include <vector>

#include "models/adapter/page_walker/page_walker_config.h"
#include "models/adapter/page_walker/translation_cache.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/fifo.h"
#include "tlm/base/pool.h"
#include "tlm/base/pool_use.h"
#include "tlm/base/process.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/cells.h"
#include "tlm/dma.h"
#include "tlm/translate.h"

namespace hcasim {

class page_walker : public unit, public faulty {
 public:
  std::deque<target_socket<translate_request>> in;
  initiator_socket<dma_request> dma{"dma"};

  page_walker(const sc_core::sc_module_name& name, const page_walker_config& config, const clock_domain& clock,
              unsigned clients, const cell_protection& protection = {});

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return cache_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override { cells_.ask(kind, r); }
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const override { return cells_.to_come(kind); }
  void withdraw() override { cells_.withdraw(); }

 private:
  static constexpr unsigned max_levels = 4;
  static constexpr unsigned max_line = 8;

  struct pending {
    translate_request* request = nullptr;
    ps t{0};
    pending* next = nullptr;
  };
  // A missed line: an MSHR, and a walk once a walker is assigned.
  struct walk {
    translation map;
    translation_cache::key key;
    std::uint64_t line = 0;
    std::uint64_t operation = 0;  // of the first miss
    ps missed{0};
    ps begin{0};
    bool known = false;        // its line comes from the second level, without a walker
    bool poisoned = false;     // its line was dropped: leaves nothing in the leaf cache, no walk joins
    bool tag_dropped = false;  // something of its tag was dropped: leaves no nodes in the upper caches
    bool launching = false;    // the call that starts the walk has not returned
    fifo<pending> waiting;
    dma_request read;
    std::uint64_t entries[max_line] = {};
    walk* next = nullptr;
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

  tlm::tlm_sync_enum handle(translate_request& r, tlm::tlm_phase phase, ps& t);
  void drop(translate_request& r);
  // Answers from the caches; false = there is no usable entry.
  bool look(translate_request& r);
  bool spoiled(translation_cache& cache, const translation_cache::key& k, std::span<std::uint64_t> entries);
  bool answer_from(translate_request& r, std::uint64_t leaf);
  // Returns whether the entry is present, and not read-only for a write.
  static bool usable(const translate_request& r, std::uint64_t leaf) {
    return (leaf & HCA_PTE_PRESENT) && !((leaf & HCA_PTE_READ_ONLY) && r.write);
  }
  // Returns whether lookups wait behind a miss.
  [[nodiscard]] bool is_stopped() const { return !config_.hit_under_miss && (!missed_.empty() || !stalled_.empty()); }
  [[nodiscard]] std::size_t most_missed() const { return config_.hit_under_miss ? config_.mshrs : 1; }
  // Joins a walk or begins one; false = no MSHR is free.
  bool miss(pending& p);
  void begin(walk& w, ps t);
  process run(walk& w);
  process recall(walk& w);
  void keep(const walk& w);
  void finish(walk& w, translate_status failure, ps t);
  void resume_pending();
  void respond(pending& p, ps t);

  [[nodiscard]] std::uint64_t line_of(const translate_request& r) const;
  [[nodiscard]] std::uint64_t leaf_of(const translate_request& r, const std::uint64_t* entries) const;
  [[nodiscard]] bool has_usable(const translate_request& r, const std::uint64_t* entries) const {
    return entries && usable(r, leaf_of(r, entries));
  }
  void note_queue(ps t);
  void describe();

  const page_walker_config config_;
  const unsigned line_shift_;
  const ps hit_latency_;
  const ps second_latency_;
  const ps interval_;
  const ps cycle_;
  server port_;
  translation_cache leaves_;
  translation_cache second_;
  cells cells_;                           // of all its caches
  std::deque<translation_cache> uppers_;  // [level - 1]
  pool<walk> walks_;
  pool<pending> pendings_;
  std::vector<walk*> missed_;  // MSHRs in use
  pool_use mshrs_;
  fifo<walk> ready_;       // without a walker
  fifo<pending> stalled_;  // without an MSHR
  std::uint32_t walking_ = 0;

  counter hits_, physical_, second_hits_, misses_, merged_, stalls_, not_present_, errors_, drops_, dropped_, poisoned_,
      evictions_;
  counter reads_[max_levels], upper_hits_[max_levels];
  histogram walk_latency_, miss_latency_;
  level walkers_busy_, queued_;
  probe valid_probe_, tag_probe_, page_probe_, hit_probe_, walkers_probe_, level_probe_, queued_probe_, status_probe_;
};

}  // namespace hcasim
