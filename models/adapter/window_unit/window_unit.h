// Changes protection on the data path: BIND, LOCAL_INV, SEND_WITH_INV, FAST_REG [C.3, C.6, B.2].
//
// A change is made at one kernel instant, on the cached MRCs, so an access sees the old state or the new one [O9]. Its answer
// waits until every access admitted by the old state has ended [O7]; the statistics count this wait. The number of windows of a
// region goes down only then, so the region outlives every access through its windows.
//
// A change claims the index of its key [C6.10], as the command unit does by lock. A bind uses its region, which no other change
// can claim meanwhile. So a change holds one MRC at a time and cannot dead-lock on a cache, however small. A bind counts its
// window at the region before taking effect; a refused bind takes the count back.
//
// Errors: a fault in the answer, nothing changed. A context that cannot be read is table_error [E11].
#pragma once

#include <vector>

#include "firmware/abi/context.h"
#include "models/adapter/protection/windows.h"
#include "models/adapter/window_unit/window_unit_config.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/process.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/base/wait.h"
#include "tlm/context.h"
#include "tlm/protection.h"
#include "tlm/translate.h"
#include "tlm/window.h"

namespace hcasim {

class window_unit : public unit {
 public:
  target_socket<window_request> local{"local"};
  target_socket<window_request> remote{"remote"};
  target_socket<window_request> control{"control"};
  initiator_socket<context_request> mrc{"mrc"};
  initiator_socket<context_request> extent{"extent"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<key_request> keys{"keys"};
  initiator_socket<translate_request> walker{"walker"};

  // `type2`: the association of type 2 windows, as in key_check.
  window_unit(const sc_core::sc_module_name& name, const window_unit_config& config, const clock_domain& clock,
              window_association type2);

  void list_waiting(waiting_list& list) const override;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // A reservation of an index under change; there are a handful at a time.
  struct reservation {
    std::uint32_t index;
    std::uint32_t uses;
    bool claimed;
  };
  struct begun {
    const window_request* request;
    ps at;
  };

  void describe();
  tlm::tlm_sync_enum on_change(window_request& r, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(window_request& r, tlm::tlm_phase phase, ps& t);

  process change(window_request& r, ps t);
  process lock(window_request& r, ps t);
  task<> bind(window_request& r, ps& t);
  task<> invalidate(window_request& r, ps& t);
  task<> fast_register(window_request& r, ps& t);
  task<> close(window_request& r, ps& t);

  task<> reach(ps& t);
  task<> claim(std::uint32_t index, std::uint32_t used, ps& t);
  void unclaim(std::uint32_t index, std::uint32_t used = none);
  task<window_fault> bind_claimed(window_request& r, std::uint32_t& old_parent, ps& t);
  task<bool> fetch(context_request& c, std::uint32_t index, ps& t);
  task<window_fault> find_extent(const hca_mrc& region, const window_request& r, ps& t);
  task<> drain(std::uint32_t key, std::uint64_t operation, ps& t);
  task<> drop_translations(std::uint32_t index, std::uint64_t operation, ps& t);
  task<> uncount_at_region(std::uint32_t parent, std::uint64_t operation, ps& t);
  task<> uncount(std::uint32_t parent, std::uint64_t operation, ps& t);
  task<> count_at_qp(std::uint32_t qpn, std::int32_t by, std::uint64_t operation, ps& t);
  [[nodiscard]] bool claimed(std::uint32_t index) const;
  [[nodiscard]] bool used(std::uint32_t index) const;
  reservation& reserved(std::uint32_t index);
  void answer(window_request& r, ps t);

  const window_rules_config rules_;
  const ps interval_;
  const ps latency_;
  const ps extent_step_;
  const ps cycle_;
  server pipe_;
  std::vector<reservation> reservations_;
  wait_list unclaimed_;
  std::uint64_t under_way_ = 0;
  std::vector<begun> begun_;             // of these
  window_request* delivered_ = nullptr;  // the request whose delivery is on the stack
  ps delivered_at_{0};

  counter done_[4];
  counter faults_[window_faults];
  counter remote_invalidates_, unbinds_, lock_waits_;
  histogram time_[4];
  histogram drain_wait_;
  level pending_;
  probe valid_probe_, op_probe_, key_probe_, fault_probe_, pending_probe_;
};

}  // namespace hcasim
