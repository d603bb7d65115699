// The BAR and the sockets of doorbell, common to its model and its RTL. Control registers, the MSI-X table and device memory
// are passed to their owners; writes into UAR pages go to `write_uar`. A doorbell is refused here if its queue was never
// started, or has another page (of EQs page 0). The units behind merge doorbells by number alone.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <vector>

#include "models/adapter/doorbell/bar_monitor.h"
#include "models/adapter/doorbell/doorbell_config.h"
#include "models/adapter/doorbell/doorbell_rules.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/unit.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/work.h"

namespace hcasim {

class doorbell_front {
 public:
  tlm_utils::simple_target_socket<doorbell_front, 64> bar;  // addresses are offsets in the BAR; answered in the call

  target_socket<doorbell_control> control{"control"};
  initiator_socket<doorbell_ring> send{"send"};
  initiator_socket<doorbell_ring> receive{"receive"};
  initiator_socket<doorbell_ring> completion{"completion"};
  initiator_socket<register_access> command{"command"};
  initiator_socket<register_access> msix{"msix"};
  initiator_socket<register_access> device_memory{"device_memory"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<dma_request> dma{"dma"};

  doorbell_front(const doorbell_front&) = delete;
  doorbell_front& operator=(const doorbell_front&) = delete;

  void observe_bar(bar_monitor* m) { monitor_ = m; }

 protected:
  doorbell_front(const doorbell_config& config, const clock_domain& clock);
  ~doorbell_front() = default;

  virtual void write_uar(const doorbell_rules::uar_write& w, ps t) = 0;
  // Forgets the doorbells of a stopped QP, SRQ or CQ: the next queue of the same number must not get them.
  virtual void stopped(bool /*is_cq*/, std::uint32_t /*number*/) {}
  void describe_front(statistics& s);

  counter blueflame_wqes_, blueflame_lines_, blueflame_refused_, blueflame_bad_;
  counter coalesced_, dropped_count_, recovered_, recovery_failures_, aside_count_, bad_writes_;

 private:
  tlm::tlm_sync_enum nb_access(tlm::tlm_generic_payload& gp, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void b_access(tlm::tlm_generic_payload& gp, sc_core::sc_time& delay);
  void access(tlm::tlm_generic_payload& gp, ps& t);
  void access_register(tlm::tlm_generic_payload& gp, initiator_socket<register_access>& owner, ps& t);

  tlm::tlm_sync_enum on_control(doorbell_control& c, tlm::tlm_phase phase, ps& t);
  [[nodiscard]] bool of_owner(std::uint64_t page, const doorbell_rules::uar_write& w) const;

  static constexpr std::uint16_t no_page = 0xffff;
  static constexpr std::uint64_t page_of_events = 0;
  static constexpr std::uint32_t block = 4096;
  using pages = std::vector<std::vector<std::uint16_t>>;  // by number, in blocks made at need
  static void set(pages& of, std::uint32_t number, std::uint16_t page);

  const ps register_latency_;
  pages qp_pages_, cq_pages_;
  counter bad_reads_, register_accesses_, foreign_;
  bar_monitor* monitor_ = nullptr;
};

}  // namespace hcasim
