// The protection pipeline: may this access touch these bytes [D8..D13], and through which table? One check enters per interval,
// and the verdict comes `depth` cycles after the MRC. The MRC comes from its cache (a hit is answered in the call), an address
// space's extents line by line from theirs. Checks that wait for a cache let others pass (or not: blocking_miss).
//
// A check belongs to the epoch of its key at the kernel instant its MRC was read, however long the rest takes. If a window's
// region is looked at, its MRC likewise fixes the epoch of the region's key. A grant keeps these references until END_RESP.
// Before a drain the command unit drops the MRC from the cache, which lets an MRC go only when it is given back. So every check
// of the old MRC is counted as older [S11, B.2]. An MRC that cannot be fetched is bad_index beyond the table, otherwise
// table_error [E11].
#pragma once

#include "models/adapter/key_check/epochs.h"
#include "models/adapter/key_check/key_check_config.h"
#include "models/adapter/protection/extents.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/fifo.h"
#include "tlm/base/pool.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/context.h"
#include "tlm/protection.h"

namespace hcasim {

class key_check : public unit {
 public:
  target_socket<key_request> local{"local"};
  target_socket<key_request> remote{"remote"};
  target_socket<key_request> control{"control"};
  target_socket<key_request> windows{"windows"};
  initiator_socket<context_request> mrc{"mrc"};
  initiator_socket<context_request> extent{"extent"};

  key_check(const sc_core::sc_module_name& name, const key_check_config& config, const clock_domain& clock);

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::uint64_t references() const { return epochs_.references(); }

 private:
  // A check under way. `element`: it looks for a piece of an indirect region instead.
  struct check {
    key_check* self = nullptr;
    key_request* request = nullptr;
    context_request mrc;
    context_request extent;
    context_request parent;
    hca_mrc window;  // orphan_windows: the window whose `parent` is looked at
    extent_search search;
    std::uint64_t left = 0;      // element: bytes of the elements between the next one and `va`
    std::uint32_t elements = 0;  // element: not looked at yet, from extent.index * HCA_EXTENTS_PER_LINE on
    bool missing = false;        // waits longer than for a hit
    ps arrived{0};
    check* next = nullptr;
  };
  // The reference to the region of a window, given back after the window's.
  struct second_reference {
    key_check* self = nullptr;
    std::uint32_t index = 0;
    std::uint64_t epoch = 0;
    second_reference* next = nullptr;
  };
  struct drain {
    key_check* self = nullptr;
    key_request* request = nullptr;
    std::uint32_t index = 0;
    ps arrived{0};
    drain* next = nullptr;
  };

  tlm::tlm_sync_enum handle(key_request& r, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum handle_control(key_request& r, tlm::tlm_phase phase, ps& t);

  // Goes on, as each function below, until the verdict is there (true; `t` is its time) or an answer of a cache is missing.
  bool begin(check& c, ps& t);
  using look = bool (key_check::*)(check&, ps&);
  template <look Look>
  bool fetch(check& c, initiator_socket<context_request>& from, context_request& r, std::uint32_t index, ps& t);
  template <look Look>
  void on_line(check& c, ps t);
  bool look_at_mrc(check& c, ps& t);
  bool look_at_extents(check& c, ps& t);
  bool look_at_parent(check& c, ps& t);
  bool look_for_element(check& c, ps& t);
  bool look_at_elements(check& c, ps& t);
  void conclude(check& c, verdict v, ps& t);
  void finish(check& c, bool concluded, ps t);
  void retire(check& c);
  void note_waiting();
  void resume();
  void take_turn();
  std::uint64_t take(std::uint32_t index, ps t);
  void give(std::uint32_t index, std::uint64_t epoch, ps t);
  void give_second(second_reference& s);
  void note_references(ps t);
  void release(key_request& r, ps t);
  void on_epoch_drained(std::uint32_t index, ps t);
  void answer_drain(drain& d);
  void describe();

  const key_check_config config_;
  const ps depth_;
  const ps interval_;
  const ps extent_step_;
  const ps cycle_;
  server pipe_;
  epoch_table epochs_;
  pool<check> checks_;
  fifo<check> behind_;  // blocking_miss: in order, not begun
  std::uint64_t missing_ = 0;
  bool turn_asked_ = false;
  pool<second_reference> seconds_;
  pool<drain> drains_;
  fifo<drain> draining_;

  counter verdicts_[2][verdicts];
  counter extent_lines_, drain_count_, blocked_;
  histogram latency_[2];
  histogram drain_wait_;
  level outstanding_, waiting_;
  probe valid_probe_, key_probe_, verdict_probe_, side_probe_, references_probe_, waiting_probe_;
};

}  // namespace hcasim
