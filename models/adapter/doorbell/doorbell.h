// The adapter's BAR: control registers and the MSI-X table are passed to their owners; writes into UAR pages are doorbells.
//
// Doorbells are taken in order through a FIFO. An SQ or RQ doorbell that finds it full is dropped and its QPN remembered; the
// indices are then read back from the doorbell record in host memory and rung. CQ and EQ doorbells that find it full wait on
// the side, the newest of each queue. So no doorbell is ever lost, and the indices passed on for a QP never run backwards.
//
// BlueFlame: a WQE written whole in one burst to a BlueFlame buffer goes to the send queue with its doorbell. Software has
// written it to the SQ and the doorbell record as well, so it may be taken as a plain doorbell whenever it does not fit.
#pragma once

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "models/adapter/doorbell/doorbell_front.h"
#include "models/adapter/doorbell/doorbell_rules.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"

namespace hcasim {

class doorbell : public unit, public doorbell_front {
 public:
  doorbell(const sc_core::sc_module_name& name, const doorbell_config& config, const clock_domain& clock);

 private:
  struct entry {
    bell kind = bell::send;
    std::uint32_t number = 0;
    std::uint32_t value = 0;
    ps ready{0};
    std::uint64_t operation = 0;
    doorbell_ring* wqe = nullptr;  // BlueFlame
    bool cancelled = false;
    ps queued{0};
  };
  struct newest {  // indices passed on while a record is being read
    std::uint32_t qpn = 0;
    bool send = false;
    bool receive = false;
    bool stopped = false;  // meanwhile: the record was another QP's
    std::uint32_t sq = 0;
    std::uint32_t rq = 0;
  };

  void write_uar(const doorbell_rules::uar_write& w, ps t) override;
  void stopped(bool is_cq, std::uint32_t number) override;
  void take_blueflame(const doorbell_rules::uar_write& w, ps t);

  // `prompt`: may be passed on in the call.
  void arrive(entry e, ps t, bool prompt = true);
  void cancel(entry& e);
  bool coalesced(const entry& e);
  bool merged_aside(const entry& e);
  void drop(const entry& e, ps t);
  void drain();
  void schedule_drain();
  void came_in();
  void let_through(const entry& e);  // what was rung; what a record told of is no news while the next one is read
  ps forward(entry e);               // returns its turn
  void deliver(doorbell_ring& ring);

  void remember(std::uint32_t qpn, std::uint64_t operation, ps t);
  process recover(ps t);
  void pass_recovered(bell kind, std::uint32_t qpn, std::uint32_t value, std::uint64_t operation, ps t);
  task<bool> read_record(std::uint32_t qpn, hca_qp_record& record, std::uint64_t operation, ps& t);
  void describe();

  const doorbell_config config_;
  const clock_domain& clock_;

  server pipe_;
  server port_;              // of lines
  server lines_;             // a buffer of WQEs
  std::vector<entry> fifo_;  // ring
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  bool draining_ = false;
  bool coming_in_ = false;  // the lines of a WQE that an idle unit will pass on
  entry coming_;
  std::vector<entry> behind_;                 // what records told of meanwhile
  ps recovered_turn_{-1};                     // of the last doorbell that a record told of
  std::array<std::uint16_t, 1024> queued_{};  // SQ doorbells in the FIFO, by QPN modulo 1024
  std::deque<entry> aside_;                   // CQ and EQ doorbells that found the FIFO full
  pool<doorbell_ring> rings_;

  std::unordered_map<std::uint32_t, std::uint64_t> remembered_;  // QPNs, and the operation of the newest SQ doorbell among them
  ring<std::uint32_t> dropped_;
  bool recovering_ = false;
  newest newest_;

  counter send_bells_, receive_bells_, cq_bells_, eq_bells_;
  histogram wait_;
  level fifo_level_, dropped_level_;
  probe fifo_probe_, dropped_probe_, bell_probe_, number_probe_, value_probe_, blueflame_probe_, drop_probe_, recover_probe_;
};

}  // namespace hcasim
