// Writes CQEs and EQEs into host memory and raises interrupts.
//
// A report is answered once its CQE is on its way to memory, behind every write of its reporter. The answer comes in the call
// when the CQ context and the buffer's translation hit. CQEs of one CQ are written in the order of their reports, whatever
// misses. Order in memory: payload, CQE, EQE, interrupt message.
//
// A CQ that is full by its context is checked against its record in memory. If the CQ is full there too, the CQE is lost. The
// CQ goes to HCA_CQ_OVERFLOWN, takes no more CQEs, and HCA_EVENT_CQ_OVERFLOW is raised. A CQ whose context or page list is
// unreadable or damaged takes none either, and HCA_EVENT_CQ_ERROR is raised. Asynchronous events go to EQ 0.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "models/adapter/completion/completion_config.h"
#include "models/adapter/completion/completion_rules.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/faults.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/base/wait.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/translate.h"
#include "tlm/work.h"

namespace hcasim {

inline constexpr std::array<fault_kind, 2> completion_fault_kinds{{
    {"lost_interrupt", "the next `count` interrupts are not sent"},
    {"repeated_interrupt", "the next `count` interrupts are sent twice"},
}};

class completion : public unit, public faulty {
 public:
  std::deque<target_socket<report>> reports;
  target_socket<doorbell_ring> bells{"bells"};  // kinds completion and event
  target_socket<completion_control> control{"control"};
  target_socket<register_access> msix{"msix"};  // offset in the BAR

  initiator_socket<context_request> cqc{"cqc"};
  initiator_socket<translate_request> walker{"walker"};
  initiator_socket<dma_request> dma{"dma"};

  completion(const sc_core::sc_module_name& name, const completion_config& config, const clock_domain& clock,
             unsigned reporters);

  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return completion_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override { (kind == 0 ? to_lose_ : to_repeat_) += r.count; }
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const override { return kind == 0 ? to_lose_ : to_repeat_; }
  void withdraw() override { to_lose_ = to_repeat_ = 0; }
  [[nodiscard]] std::uint64_t completed() const override { return cqes_.value() + eqes_.value(); }

 private:
  // The state of one CQ. Reports and doorbells enter one after the other, and their CQEs are written in this order.
  struct lane {
    std::uint32_t generation = 0;  // counts armings and events; an old moderation timer is void
    std::uint64_t arrived = 0;     // reports and doorbells
    std::uint64_t turn = 0;        // number of the arrival in turn
    std::uint64_t taken = 0;       // places
    std::uint64_t written = 0;     // of those
    wait_list waiters, writers;
    bool lost = false;  // software knows that CQEs are lost
  };
  static constexpr std::uint32_t queue_number_mask = 0x00ffffff;
  static constexpr std::uint32_t no_cq = ~0U;
  struct call {
    const report* served;
    bool done = false;
    ps at{0};
  };
  struct posted : dma_request {
    std::uint32_t cqn = no_cq;  // of a CQE
    alignas(16) std::array<std::byte, HCA_CQE_BYTES> buffer{};
  };
  struct event {
    std::uint32_t type;
    std::uint32_t number;
    std::uint64_t va = 0;  // page fault, with the next three
    std::uint32_t length = 0;
    std::uint32_t flags = 0;
    std::uint32_t qpn = 0;
    std::uint64_t operation = 0;
  };
  struct event_ring {
    bool open = false;
    bool armed = false;
    hca_eqc context{};
    completion_rules::ring_geometry geometry{0};
    std::uint32_t pi = 0;
    std::uint32_t ci = 0;
    ring<event> pending;  // the ring is full
  };
  struct vector_entry {
    hca_msix_entry entry{0, 0, 1};
    bool pending = false;
  };

  tlm::tlm_sync_enum on_report(report& r, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_doorbell(doorbell_ring& d, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(completion_control& c, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_msix(register_access& a, tlm::tlm_phase phase, ps& t);

  process complete(report& r, ps t);
  task<bool> refresh(hca_cqc& cq, std::uint64_t operation, ps& t);
  task<bool> locate(const hca_cqc& cq, std::uint32_t cqn, std::uint64_t operation, std::uint64_t& physical, ps& t);
  bool count(hca_cqc& cq, std::uint32_t cqn, const hca_cqe& e, ps t);
  void note_waiting(int more);
  void answer(report& r, ps t);
  void report_unreadable(lane& l, std::uint32_t cqn, std::uint64_t operation, ps t);
  process close(std::uint32_t cqn, ps t);
  process settle(completion_control& c);

  process ring_cq(std::uint32_t cqn, std::uint8_t arm, std::uint32_t ci, ps t);
  process moderate(std::uint32_t cqn, std::uint32_t generation, ps deadline);
  void fire(hca_cqc& cq, std::uint32_t cqn);
  task<bool> enter(lane& l, context_request& context, std::uint32_t cqn, ps& t);
  task<> raise_in_turn(lane& l, std::uint32_t eqn, std::uint32_t cqn);

  lane& lane_of(std::uint32_t cqn);
  void leave(lane& l);

  void set_eq(const completion_control& c);
  void forget();
  void raise(std::uint32_t eqn, event e, ps t);
  void write_eqe(event_ring& q, event e, ps t);
  void ring_eq(std::uint32_t eqn, bool arm, std::uint32_t ci, ps t);
  void interrupt(event_ring& q, std::uint64_t operation, ps t);
  void signal(std::uint32_t vector, std::uint64_t operation, ps t);

  void post(dma_source source, std::uint64_t address, const void* bytes, std::uint32_t n, std::uint32_t cqn,
            std::uint64_t operation, ps t);
  void landed(posted& p, ps t);
  void describe();

  completion_config config_;
  const clock_domain& clock_;

  server pipe_;
  call* in_call_ = nullptr;
  static constexpr std::uint32_t lanes_per_page = 256;
  std::vector<std::unique_ptr<lane[]>> lanes_;
  std::vector<event_ring> event_rings_;
  std::array<vector_entry, HCA_MSIX_VECTORS> vectors_;
  pool<posted> posted_;
  std::uint64_t to_lose_ = 0;  // interrupts
  std::uint64_t to_repeat_ = 0;

  counter cqes_, cqes_in_error_, cqes_lost_, overflows_, record_reads_, order_waits_, bad_reports_;
  counter arms_, late_arms_, bad_doorbells_, cq_events_, timer_events_;
  counter eqes_, eqes_deferred_, events_lost_, interrupts_, masked_, write_failures_;
  histogram report_latency_;
  level posted_level_, waiting_level_;
  probe cqe_probe_, cqn_probe_, pi_probe_, status_probe_, waiting_probe_, posted_probe_;
  probe event_probe_, event_number_probe_, interrupt_probe_, vector_probe_, overflow_probe_;
};

}  // namespace hcasim
