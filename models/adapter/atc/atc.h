// The adapter's cache of translations (ATC), between its DMA engine and its PCIe link. Translated bursts leave as translated
// requests [E10].
//
// - A hit: the page is cached with the rights needed; the burst goes on in the call. A miss waits for a translation request.
// - Misses of one page with the same rights share a translation request; `requests` of them are under way at once.
// - Addresses of more than 48 bits (other devices) and interrupt messages go as they are.
// - Order as on PCIe: writes and interrupts stay in order (relaxed writes may pass), reads stay behind the writes before them.
// - A read that waits for its translation stalls no other burst.
// - Invalidate: the range is forgotten, answers under way are asked for again, bursts that have not left are translated anew.
// - Its completion is a posted message behind every write that left before. It leaves when reads under an old translation have
//   all their data, and relaxed writes have landed.
// - A page that the table does not grant is asked for in order (page request), with a credit. Granted: the translation is asked
//   for again. Refused: the bursts fail. Failed: the bursts fail, and no page is asked for any more.
// - A translation whose cells or tag have gone wrong is noticed at its next lookup (tlm/cells.h), and asked for anew.
// - A burst that fails is answered with TLM_ADDRESS_ERROR_RESPONSE; none of its bytes moves.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <vector>

#include "models/adapter/atc/atc_config.h"
#include "tlm/ats.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/fifo.h"
#include "tlm/base/page_cache.h"
#include "tlm/base/pool.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/cells.h"
#include "tlm/pcie.h"
#include "tlm/riding_extension.h"

namespace hcasim {

class atc : public unit, public faulty, private tlm::tlm_mm_interface {
 public:
  tlm_utils::simple_target_socket_optional<atc, 64> engine{"engine"};  // bursts of the DMA engine
  tlm_utils::simple_initiator_socket_optional<atc, 64> pcie{"pcie"};   // to the link
  tlm_utils::simple_target_socket_optional<atc, 64> down{"down"};      // from the link: register accesses and messages
  tlm_utils::simple_initiator_socket_optional<atc, 64> bar{"bar"};     // the register accesses among them

  // `requester`: bus, device and function that its requests carry. Throws std::invalid_argument: entries are no multiple of
  // ways.
  atc(const sc_core::sc_module_name& name, const atc_config& config, const clock_domain& clock, std::uint16_t requester,
      icm_check check = icm_check::none);

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return cache_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override { cells_.ask(kind, r); }
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const override { return cells_.to_come(kind); }
  void withdraw() override { cells_.withdraw(); }
  // Resets the function: no page is cached, and page requests are allowed again.
  void reset();
  [[nodiscard]] bool idle() const {
    return accesses_.in_use() == 0 && lookups_.in_use() == 0 && own_.in_use() == 0 && invalidations_.empty();
  }

 private:
  struct lookup;
  // A burst of the engine, from its arrival to its answer.
  struct access : riding_extension<access> {
    atc* owner = nullptr;
    bool plain = false;  // not to be translated
    bool known = false;  // translated, or refused
    bool refused = false;
    bool in_order = false;  // stands in the order of writes
    std::uint64_t address = 0;
    std::uint64_t physical = 0;
    bool tracked = false;  // on the link, under a translation that may be invalidated, and not in order
    std::size_t slot = 0;  // among those
    std::uint64_t number = 0;
    ps arrived{0};
    ps looked_up{0};  // the end of its lookup
    access* next = nullptr;
  };
  // A page that bursts wait for: its translation is asked for, and then, if the right is missing, the page.
  struct lookup {
    enum class state : std::uint8_t { waits_for_slot, asked, waits_for_credit, page_asked, pauses } status = state::asked;
    atc* owner = nullptr;
    std::uint64_t page = 0;
    std::uint64_t operation = 0;  // of the burst that missed first
    bool write = false;
    bool stale = false;  // an invalidation came while the answer was under way
    std::uint32_t tries = 0;
    std::uint16_t group = 0;
    ps begun{0};
    std::vector<access*> waiting;
    lookup* next = nullptr;
  };
  // A request or message of the ATC itself.
  struct own_payload : tlm::tlm_generic_payload {
    pcie_extension extension;
    atc* from = nullptr;
    lookup* of = nullptr;  // a translation request
    std::uint64_t entry = 0;

    own_payload() { set_extension(&extension); }
    ~own_payload() override { clear_extension(&extension); }
    own_payload(const own_payload&) = delete;
    own_payload& operator=(const own_payload&) = delete;
  };
  struct invalidation {
    std::uint16_t tag;
    std::uint64_t first;
    std::uint64_t last;
    std::uint64_t before;   // reads with a lower number left before
    std::uint64_t tracked;  // of the reads in the range: still under way
    ps begun;

    [[nodiscard]] bool covers(std::uint64_t address) const { return (address | 0xfff) >= first && address <= last; }
  };

  // Bursts (atc.cpp).
  tlm::tlm_sync_enum from_engine(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum from_link(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  [[nodiscard]] const page_cache::entry* cached(const access& a);
  [[nodiscard]] bool spoiled(page_cache::entry& e);
  void hold(access& a, ps t);
  void look_up(access& a, ps t);
  void known(access& a, ps t);
  void pump(ps t);
  void leave(access& a, ps t);
  tlm::tlm_sync_enum send(access& a, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void end(access& a, ps t);
  void answer_refused(access& a);
  void refuse(access& a, ps t);

  // Asks for translations and pages (translations.cpp).
  void join(access& a, ps t);
  void ask(lookup& l, ps t);
  void answered(own_payload& q, ps t);
  void answered_later(own_payload& q);
  void without_right(lookup& l, ps t);
  void ask_page(lookup& l, ps t);
  void page_answered(std::uint16_t group, ats_response code, ps t);
  void stop_pages(ps t);
  void give_up(lookup& l, ps t);
  void close(lookup& l);
  void slot_free(ps t);
  void credit_free(ps t);

  // Takes and sends messages (messages.cpp).
  tlm::tlm_sync_enum from_above(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum from_bar(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& p);
  void invalidate(std::uint16_t tag, std::uint64_t entry, ps t);
  void drained(const access& a, ps t);
  own_payload& new_payload(tlm::tlm_command command, std::uint64_t address, unsigned bytes);
  void send_message(pcie_message kind, std::uint64_t address, std::uint16_t tag, std::uint8_t code, ps t);
  void message_left(const own_payload& q, ps t);
  void message_left_later(own_payload& q);
  void free(tlm::tlm_generic_payload* p) override;
  void describe();

  const atc_config config_;
  const clock_domain& clock_;
  const std::uint16_t requester_;
  server port_;
  ps left_until_{0};  // of bursts handed to the link
  page_cache cache_;
  cells cells_;
  pool<access> accesses_;
  fifo<access> order_;
  std::vector<access*> held_;
  std::vector<access*> tracked_;  // translated reads on the link, and relaxed writes
  std::uint64_t tracked_left_ = 0;
  pool<lookup> lookups_;
  std::vector<lookup*> open_;
  fifo<lookup> without_slot_;
  fifo<lookup> without_credit_;
  std::uint32_t asking_ = 0;
  std::vector<lookup*> groups_;  // by page request group
  std::vector<std::uint16_t> free_groups_;
  bool stopped_ = false;
  pool<own_payload> own_;
  std::vector<invalidation> invalidations_;

  counter bursts_, hits_, plain_, misses_, merged_, slot_waits_, order_waits_, evictions_, dropped_, stale_, invalidated_,
      drains_, retranslated_, page_requests_, credit_waits_, page_retries_, pages_refused_, stops_, refused_;
  histogram request_time_, page_time_, wait_time_, invalidation_time_;
  level asking_level_, pages_level_, held_level_;
  probe valid_probe_, address_probe_, hit_probe_, asking_probe_, pages_probe_, held_probe_, invalidate_probe_, refused_probe_,
      stopped_probe_;
};

}  // namespace hcasim
