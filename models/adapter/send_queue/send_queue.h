// Schedules QPs with work, fetches their WQEs in batches by DMA (or takes them from BlueFlame), and hands them to the
// requester. WQEs go in order, as far as fences, READ depth and the unit's own limits allow. BIND, LOCAL_INV and FAST_REG are
// executed by window_unit when their turn comes; nothing later of the QP starts before [O1, O10].
//
// In SQD no WQE is begun: posted WQEs wait in host memory, or here if they were fetched. When all WQEs that were begun are
// complete, the context and, if asked for, an event say so.
//
// Errors: a WQE that does not match its place (index, QPN, size) is passed on with LOC_QP_OP_ERR. An SQ buffer or a context
// that cannot be read does the same to the next WQE. The length of such a WQE is not known: the next one may begin in its
// middle, and is a bad one too. Every rung send queue gets its turn, so every request completes.
#pragma once

#include "firmware/abi/context.h"
#include "models/adapter/send_queue/cached_wqes.h"
#include "models/adapter/send_queue/scheduled_qp_rules.h"
#include "models/adapter/send_queue/send_queue_config.h"
#include "models/adapter/send_queue/send_queue_rules.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/base/record_table.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/base/wait.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/translate.h"
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim {

class send_queue : public unit {
 public:
  target_socket<doorbell_ring> bells{"bells"};
  target_socket<send_queue_control> control{"control"};
  target_socket<send_queue_control> peer{"peer"};
  target_socket<wqe_refetch> again{"again"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<translate_request> walker{"walker"};
  initiator_socket<dma_request> dma{"dma"};
  initiator_socket<work_request> work{"work"};
  initiator_socket<window_request> windows{"windows"};
  initiator_socket<report> reports{"reports"};

  send_queue(const sc_core::sc_module_name& name, const send_queue_config& config, const clock_domain& clock);
  ~send_queue() override;

  void list_waiting(waiting_list& list) const override;

 private:
  struct scheduled_qp {
    explicit scheduled_qp(std::uint32_t n) : qpn(n) {}
    std::uint32_t qpn;
    std::uint16_t pi = 0;
    std::uint16_t ci = 0;         // next block to fetch
    std::uint64_t operation = 0;  // of the last rung request
    ring<cached_wqe*> fetched;    // not issued yet
    ring<cached_wqe*> early;      // came by BlueFlame, ahead of blocks that are to be fetched
    std::uint32_t outstanding = 0;
    std::uint32_t reads = 0;  // READs and atomics outstanding
    std::uint32_t read_limit = 0;
    std::uint32_t busy = 0;
    queue_status state;
    bool issuing = false;
    bool notify = false;  // of the drain, when it is over
    ps moved{0};          // last hand-over of a WQE, or first doorbell
    send_queue_control* stopping = nullptr;

    // Returns the end of the blocks to fetch.
    [[nodiscard]] std::uint16_t fetch_end() const { return early.empty() ? pi : early.front()->index; }
    void on(scheduled_qp_event e) { state = scheduled_qp_table.step(state, e); }
  };

  void describe();
  tlm::tlm_sync_enum on_doorbell(doorbell_ring& b, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(send_queue_control& c, tlm::tlm_phase phase, ps& t);
  bool take_blueflame(scheduled_qp& q, const doorbell_ring& b, ps t);
  void schedule(scheduled_qp& q, ps t);
  [[nodiscard]] std::uint32_t room_wanted(const scheduled_qp& q) const;
  process serve(scheduled_qp& q, ps t);
  task<std::uint32_t> fetch(scheduled_qp& q, const hca_buffer& sq, std::uint32_t blocks, std::byte* to, ps& t);
  void give_up(scheduled_qp& q, ps t);
  task<bool> read_blocks(scheduled_qp& q, const hca_buffer& sq, std::uint16_t index, std::uint32_t blocks, std::byte* to,
                         ps& t);
  cached_wqe& make(scheduled_qp& q, std::uint16_t index, const std::byte* bytes, std::uint32_t blocks);
  void fail(cached_wqe& w);
  void enqueue(scheduled_qp& q, cached_wqe& w, ps t);
  void accept(scheduled_qp& q, const std::byte* bytes, std::uint32_t blocks, ps t);
  void issue(scheduled_qp& q, ps t);
  void note_cache();
  process change(scheduled_qp& q, work_request& w, ps t);
  void on_complete(work_request& w, ps t);
  void forget(cached_wqe& w);
  bool stop(scheduled_qp& q, send_queue_control& c);
  void check_stopped(scheduled_qp& q);

  // Keeps WQEs that came by BlueFlame until the context and the older ones are here (early_wqes.cpp).
  bool keep_early(scheduled_qp& q, const doorbell_ring& b);
  void take_early(scheduled_qp& q, ps t);
  void drop_early(scheduled_qp& q);

  // Has outstanding WQEs make room, and fetches them again (refetch.cpp).
  void make_room(std::uint64_t blocks);
  void may_make_room(cached_wqe& w);
  tlm::tlm_sync_enum on_refetch(wqe_refetch& r, tlm::tlm_phase phase, ps& t);
  process refetch(wqe_refetch& r, ps t);

  // Pauses a queue and drains it (drain.cpp).
  process pause(scheduled_qp& q, send_queue_control& c, ps t);
  void resume(scheduled_qp& q, ps t);
  [[nodiscard]] static bool is_begun(const scheduled_qp& q);
  void check_drained(scheduled_qp& q, ps t);
  process end_drain(scheduled_qp& q, ps t);
  void tell_drained(scheduled_qp& q, ps t);

  struct fetch_buffer {
    alignas(64) std::array<std::byte, std::size_t{HCA_WQE_BLOCK} * 64> bytes;
  };

  const send_queue_config config_;
  const clock_domain clock_;
  credits units_;
  credits cache_;
  server scheduler_;
  server issuer_;
  ring<scheduled_qp*> ready_;
  record_table<scheduled_qp> queues_;
  std::uint32_t early_blocks_ = 0;
  cached_wqes evictable_;
  credits refetchers_;
  pool<cached_wqe> work_pool_;
  pool<fetch_buffer> buffers_;
  pool<dma_request> dma_pool_;
  pool<report> report_pool_;

  counter doorbells_;
  counter wqes_;
  counter blueflame_;
  counter fetches_;
  counter fetched_bytes_;
  counter fence_stalls_;
  counter read_depth_stalls_;
  counter depth_stalls_;
  counter local_fence_stalls_;
  counter changes_;
  counter drains_;
  counter bad_wqes_;
  counter early_;
  counter evicted_;
  counter refetched_;
  level ready_level_;
  level units_busy_;
  level cache_level_;
  probe valid_probe_;
  probe qpn_probe_;
  probe index_probe_;
  probe opcode_probe_;
  probe ready_probe_;
  probe cache_probe_;
  probe blocked_probe_;
};

}  // namespace hcasim
