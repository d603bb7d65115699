// doorbell as RTL: the sockets of the model around the Verilated unit (doorbell.sv).
//
// Control registers, the MSI-X table and the window on device memory are answered here, as in the model. Writes into UAR pages
// go to the RTL, BlueFlame writes with their lines. A doorbell with a WQE is passed on when its lines are out.
#pragma once

#include <deque>
#include <map>

#include "models/adapter/doorbell/doorbell_front.h"
#include "tlm/base/pool.h"
#include "tlm/operation.h"
#include "tlm/rtl/shell.h"

namespace hcasim {

class doorbell_rtl : public rtl::shell, public doorbell_front {
 public:
  // Throws std::invalid_argument, naming the knob, if the design's parameters differ from the configuration.
  doorbell_rtl(const sc_core::sc_module_name& name, const doorbell_config& config, const clock_domain& clock,
               rtl::design_factory make, const rtl::shell_options& options = {});

  enum class fate : std::uint8_t { lost, merged, aside };
  // Hears of the doorbell of write 1, 2, ... that does not leave by itself; lost = dropped, or of a broken BlueFlame write.
  std::function<void(std::uint64_t write, fate)> on_fate;

 private:
  struct record_read : dma_request {
    hca_qp_record record{};
  };

  void write_uar(const doorbell_rules::uar_write& w, ps t) override;
  void note_operation(const doorbell_rules::uar_write& w);
  std::uint64_t operation_of(std::uint32_t qpn, std::uint32_t value);
  void pass_on(ps t);
  void found_qp(ps t);
  void found_record(ps t);
  void note(const rtl::payload& p, ps t);
  void describe();

  rtl::stream& wr_;
  rtl::stream& line_;
  rtl::stream& ring_line_;
  rtl::stream& ring_;
  rtl::stream& qp_rsp_;
  rtl::stream& qp_;
  rtl::stream& rec_rsp_;
  rtl::stream& rec_;
  rtl::stream& note_;

  std::deque<rtl::payload> rung_;   // doorbells whose lines are not all out
  std::deque<rtl::payload> lines_;  // out, and of doorbells that are not
  pool<doorbell_ring> rings_;
  struct rung_for {
    std::uint32_t value;
    std::uint64_t operation;
  };
  std::map<std::uint32_t, std::deque<rung_for>> operations_;  // by QPN: of SQ doorbells that have not left, and the last
  context_request context_;
  record_read read_;

  probe bell_probe_, number_probe_, value_probe_, drop_probe_;
};

}  // namespace hcasim
