// A pool of processing units, from which requester and responder draw. Each step of the work on a QP takes a unit for a time of
// its kind.
//
// - A step is answered after its own time. The unit then moves the payload for as long as that takes.
// - Steps of one QP follow one another, so one QP is never faster than one unit.
// - Kinds of steps take turns while several wait, so none holds up another.
//
// Both roles share the units, so each is slower beside the other. FaSST saw 11.0 M READs/s in both roles [Kalia et al., OSDI
// 2016], HERD 25.8 M served alone [Kalia et al., SIGCOMM 2014].
#pragma once

#include <array>

#include "models/adapter/processing_units/processing_units_config.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/fifo.h"
#include "tlm/base/pool_use.h"
#include "tlm/base/record_table.h"
#include "tlm/base/unit.h"
#include "tlm/processing.h"

namespace hcasim {

class processing_units : public unit {
 public:
  target_socket<processing_request> requester{"requester"};
  target_socket<processing_request> responder{"responder"};

  processing_units(const sc_core::sc_module_name& name, const processing_units_config& config, const clock_domain& clock);

 private:
  static constexpr std::size_t kinds = processing_step_names.size();

  struct processed_qp {
    explicit processed_qp(std::uint32_t n) : qpn(n) {}
    std::uint32_t qpn;
    processing_units* self = nullptr;
    bool busy = false;  // a step waits for a unit, or has one
    fifo<processing_request> behind;
  };

  tlm::tlm_sync_enum handle(processing_request& r, tlm::tlm_phase phase, ps& t);
  [[nodiscard]] ps time_of(const processing_request& r) const;
  // Returns the time of the payload beyond its first line or piece.
  [[nodiscard]] ps time_of_payload(const processing_request& r) const;
  void ask(processing_request& r);
  void start(processing_request& r);
  void answer(processing_request& r);
  void end(processed_qp& q);
  void start_next();

  const processing_units_config config_;
  const clock_domain clock_;
  std::array<ps, kinds> times_;
  ps line_time_;
  ps piece_time_;
  std::uint32_t free_;
  std::size_t last_ = 0;  // kind that had the last turn
  std::array<fifo<processing_request>, kinds> ready_;
  record_table<processed_qp> qps_;
  pool_use use_;

  std::array<counter, kinds> steps_;
  level busy_level_;
  level waiting_level_;
  probe busy_probe_;
  probe waiting_probe_;
  probe step_probe_;
  probe qpn_probe_;
};

}  // namespace hcasim
