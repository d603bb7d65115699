// The IOMMU of a root complex: translates the memory accesses of devices, and keeps their order.
//
// - It stands between a PCIe tree and the host: `devices` and `messages` take accesses to memory and to the interrupt
//   controller; `cpu` takes the register accesses of software and passes other addresses on.
// - A burst whose page is in the IOTLB goes on in the call. Otherwise a walk reads the requester's table in host memory, one
//   read of 8 bytes for each level missing in the node caches. Accesses to one page share a walk; walks wait for a walker in
//   order.
// - Order, for each requester: writes and interrupt messages stay in order (relaxed writes may pass); reads stay behind the
//   writes before them; a read that waits for its walk stalls no other access.
// - An access that no table allows is answered with TLM_ADDRESS_ERROR_RESPONSE, moves no byte, and is recorded in the fault
//   registers. A burst may not cross 4 KiB.
// - Software changes tables in memory and then invalidates through the command queue (firmware/abi/iommu.h). A WAIT behind an
//   invalidation is answered when no burst that was translated before is on its way.
// - Address translation services [E10], of requesters whose context allows them: a translation request is answered with the
//   rights of the table, even none; a translated request goes on without a walk.
// - A message invalidates a device's own cache. WAIT is answered when the device has reported the end, behind its last write.
// - Page requests go into a queue in memory, software's answers back to the device. A full queue answers "try again", a
//   missing one "failed".
// Contract: `memory` and `interrupts` answer in the call, as the host does.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <vector>

#include "firmware/abi/iommu.h"
#include "models/machine/iommu/device_invalidations.h"
#include "models/machine/iommu/iommu_config.h"
#include "models/machine/iommu/page_requests.h"
#include "tlm/ats.h"
#include "tlm/base/fifo.h"
#include "tlm/base/page_cache.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/pcie.h"

namespace hcasim {

class iommu : public unit {
 public:
  tlm_utils::simple_target_socket_optional<iommu, 64> devices{"devices"};
  tlm_utils::simple_target_socket_optional<iommu, 64> messages{"messages"};
  tlm_utils::simple_target_socket_optional<iommu, 64> cpu{"cpu"};
  tlm_utils::simple_initiator_socket_optional<iommu, 64> memory{"memory"};
  tlm_utils::simple_initiator_socket_optional<iommu, 64> interrupts{"interrupts"};
  tlm_utils::simple_initiator_socket_optional<iommu, 64> mmio{"mmio"};

  // Its registers lie at [registers, registers + IOMMU_REGISTERS). Throws std::invalid_argument: entries are no multiple of
  // ways.
  iommu(const sc_core::sc_module_name& name, const iommu_config& config, std::uint64_t registers);

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] bool idle() const {
    return accesses_.in_use() == 0 && active_.empty() && !executing_ && device_messages_.in_use() == 0;
  }

 private:
  struct requester;
  struct walk;
  // A burst or message that could not go on in the call.
  struct access {
    tlm::tlm_generic_payload* payload = nullptr;
    iommu* owner = nullptr;
    requester* from = nullptr;
    bool message = false;  // an interrupt
    pcie_address_type type = pcie_address_type::untranslated;
    pcie_message control = pcie_message::none;
    bool known = false;     // translated or refused
    bool going = false;     // on its way out
    bool in_order = false;  // stands in its requester's queue
    iommu_fault fault = IOMMU_FAULT_NONE;
    std::uint64_t address = 0;   // as it came
    std::uint64_t physical = 0;  // of a translation request: the entry
    std::uint64_t sequence = 0;
    ps ready{0};
    ps arrived{0};
    access* next = nullptr;
  };
  enum class context_state : std::uint8_t { unknown, loading, absent, pass, translated };
  struct requester {
    std::uint32_t id = 0;
    context_state state = context_state::unknown;
    std::uint64_t root = 0;
    std::uint32_t generation = 0;  // counts invalidations of the context
    bool ats = false;
    bool pages = false;
    fifo<access> order;
    std::vector<access*> no_context;  // wait for the context to be read
  };
  struct walk {
    requester* from = nullptr;
    std::uint64_t address = 0;  // of the 4 KiB page
    bool poisoned = false;      // an invalidation came: leaves nothing behind, no access joins
    ps begin{0};
    std::vector<access*> waiting;
    walk* next = nullptr;
  };
  // Goes on at `when`, never inside the call.
  struct later {
    event_queue& queue;
    ps when;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { queue.at(std::max(when, now()), resume(h)); }
    void await_resume() const {}
  };

  // Suspends until nothing older is held.
  struct drained {
    std::coroutine_handle<>& who;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { who = h; }
    void await_resume() const {}
  };

  tlm::tlm_sync_enum from_device(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum message(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum from_cpu(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum to_cpu(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  unsigned device_debug(tlm::tlm_generic_payload& p);
  unsigned cpu_debug(tlm::tlm_generic_payload& p);

  requester& requester_of(const tlm::tlm_generic_payload& p);
  void hold(requester& r, tlm::tlm_generic_payload& p, bool is_message, ps t, ps arrived);
  void look_up(access& a, ps t);
  bool answer_from_cache(access& a);
  void join_walk(access& a, ps t);
  void known(access& a, ps t);
  void pump(requester& r, ps t);
  void resume_access(access& a, ps t);
  void answer(access& a);
  void record_fault(const access& a);

  // Serves devices with ATS (ats.cpp).
  tlm::tlm_sync_enum from_ats_device(requester& r, tlm::tlm_generic_payload& p, const pcie_extension& e,
                                     sc_core::sc_time& delay, ps t, ps arrived);
  static unsigned right_to(bool write) { return write ? unsigned{IOMMU_PTE_WRITE} : unsigned{IOMMU_PTE_READ}; }
  [[nodiscard]] static unsigned needed_by(const access& a);
  void take_message(requester& r, const pcie_extension& e, std::uint64_t address);

  // Walks tables (walk.cpp).
  process load_context(requester& r, ps t);
  void begin(walk& w, ps t);
  process run(walk& w);
  void finish(walk& w, iommu_fault fault, const page_cache::entry& leaf, ps t);

  // Serves registers and commands (commands.cpp).
  void write_register(std::uint32_t offset, std::uint64_t value);
  [[nodiscard]] std::uint64_t read_register(std::uint32_t offset) const;
  process execute_commands();
  void invalidate(requester& r, std::uint64_t first, std::uint64_t last);
  [[nodiscard]] bool older_than(std::uint64_t sequence) const;
  void describe();

  const iommu_config config_;
  const std::uint64_t base_;
  std::vector<requester> requesters_;
  host_tables tables_{memory};
  fault_log fault_log_;
  device_messages device_messages_{mmio};
  device_invalidations device_invalidations_{config_, device_messages_, fault_log_};
  page_requests page_requests_{tables_, interrupts, device_messages_};
  server port_;
  page_cache tlb_;
  // The tables of level 0, 1, 2, which hold the entries of a page, of a 2 MiB and of a 1 GiB page.
  std::vector<page_cache> nodes_;
  pool<access> accesses_;
  std::vector<access*> held_;  // in order of arrival
  std::uint64_t sequence_ = 0;
  pool<walk> walks_;
  std::vector<walk*> active_;
  fifo<walk> without_walker_;
  std::uint32_t walking_ = 0;

  bool translating_ = false;
  std::uint64_t contexts_ = 0;
  std::uint64_t queue_base_ = 0;
  std::uint32_t queue_log_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  bool executing_ = false;
  std::coroutine_handle<> draining_;
  std::uint64_t drain_before_ = 0;

  counter bursts_, hits_, passed_, walks_begun_, merged_, order_waits_, evictions_, dropped_, poisoned_, invalidations_,
      commands_;
  counter contexts_read_;
  counter translation_requests_, translated_;
  std::array<counter, IOMMU_LEVELS> reads_;
  histogram walk_time_, wait_time_, invalidation_time_;
  level walkers_busy_, waiting_;
  probe valid_probe_, address_probe_, hit_probe_, walkers_probe_, level_probe_, waiting_probe_, kind_probe_;
};

}  // namespace hcasim
