// Schedules QPs with work, fetches their WQEs in batches by DMA (or takes them from BlueFlame), and hands them to the requester
// in order, as far as fences, READ depth and its own limits allow. BIND, LOCAL_INV and FAST_REG are executed by window_unit
// when their turn comes; nothing later of the QP starts before [O1, O10].
//
// In SQD no WQE is begun: posted WQEs wait in host memory, or here if they were fetched. When all WQEs that were begun are
// complete, the context and, if asked for, an event say so.
//
// Errors: a WQE that does not match its place (index, QPN, size) is passed on with LOC_QP_OP_ERR. An SQ buffer that cannot be
// read puts the next WQE into the same state, and so does a context. The length of such a WQE is not known: the next one may
// begin in its middle, and is a bad one too. Every rung send queue gets its turn, so every request completes.
#pragma once

#include "firmware/abi/context.h"
#include "models/adapter/send_queue/queue_rules.h"
#include "models/adapter/send_queue/send_queue_config.h"
#include "models/adapter/send_queue/send_queue_rules.h"
#include "tlm/base/by_number.h"
#include "tlm/base/clock_domain.h"
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
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim {

class send_queue : public unit {
 public:
  target_socket<doorbell_ring> bells{"bells"};
  target_socket<control_request> control{"control"};
  target_socket<control_request> peer{"peer"};
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
  struct queue_state {
    explicit queue_state(std::uint32_t n) : qpn(n) {}
    std::uint32_t qpn;
    std::uint16_t pi = 0;
    std::uint16_t ci = 0;         // next block to fetch
    std::uint64_t operation = 0;  // of the last request that was rung for
    ring<work_request*> fetched;  // not issued yet
    std::uint32_t outstanding = 0;
    std::uint32_t reads = 0;  // READs and atomics outstanding
    std::uint32_t read_limit = 0;
    std::uint32_t busy = 0;
    queue_status state;
    bool issuing = false;
    bool notify = false;  // of the drain, when it is over
    ps moved{0};          // a WQE was handed on, or the first one rung for
    control_request* stopping = nullptr;

    void on(queue_event e) { state = queue_table.step(state, e); }
  };

  tlm::tlm_sync_enum on_bell(doorbell_ring& b, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(control_request& c, tlm::tlm_phase phase, ps& t);
  bool take_blueflame(queue_state& q, const doorbell_ring& b, ps t);
  void schedule(queue_state& q, ps t);
  [[nodiscard]] std::uint32_t room_wanted(const queue_state& q) const;
  process serve(queue_state& q, ps t);
  task<std::uint32_t> fetch(queue_state& q, const hca_buffer& sq, std::uint32_t blocks, std::byte* to, ps& t);
  void give_up(queue_state& q);
  void accept(queue_state& q, const std::byte* bytes, std::uint32_t blocks);
  void issue(queue_state& q, ps t);
  void note_cache();
  process change(queue_state& q, work_request& w, ps t);
  void on_complete(work_request& w, ps t);
  void check_stopped(queue_state& q);

  // drain.cpp
  process pause(queue_state& q, control_request& c, ps t);
  void go_on(queue_state& q, ps t);
  [[nodiscard]] static bool is_begun(const queue_state& q);
  void check_drained(queue_state& q, ps t);
  process end_drain(queue_state& q, ps t);
  void tell_drained(queue_state& q, ps t);

  struct fetch_buffer {
    alignas(64) std::array<std::byte, std::size_t{HCA_WQE_BLOCK} * 64> bytes;
  };

  const send_queue_config config_;
  const clock_domain clock_;
  credits units_;
  credits cache_;
  server scheduler_;
  server issuer_;
  ring<queue_state*> ready_;
  by_number<queue_state> queues_;
  pool<work_request> work_pool_;
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
