// page_walker as RTL: the sockets of the model around the Verilated walker (page_walker.sv).
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "models/adapter/page_walker/page_walker_config.h"
#include "tlm/cells.h"
#include "tlm/dma.h"
#include "tlm/rtl/shell.h"
#include "tlm/translate.h"

namespace hcasim {

class page_walker_rtl : public rtl::shell {
 public:
  std::deque<target_socket<translate_request>> in;
  initiator_socket<dma_request> dma{"dma"};

  // Throws std::invalid_argument, naming the knob, if the design's parameters differ from the configuration.
  page_walker_rtl(const sc_core::sc_module_name& name, const page_walker_config& config, const clock_domain& clock,
                  unsigned clients, rtl::design_factory make, const rtl::shell_options& options = {});
  // Takes the arguments of the model; the RTL has memories without protection.
  page_walker_rtl(const sc_core::sc_module_name& name, const page_walker_config& config, const clock_domain& clock,
                  unsigned clients, const cell_protection&, rtl::design_factory make, const rtl::shell_options& options)
      : page_walker_rtl(name, config, clock, clients, make, options) {}

  [[nodiscard]] std::uint64_t reads_of_level(unsigned level) const { return reads_of_[level].value(); }

 private:
  static constexpr unsigned tag_bits = 5;
  static constexpr unsigned tags = 1U << tag_bits;
  static constexpr unsigned line_bytes = 64;
  static constexpr unsigned levels = 4;

  struct waiting_request {
    translate_request* request;
    ps t;
  };
  struct table_read : dma_request {
    page_walker_rtl* self = nullptr;
    unsigned tag = 0;
    alignas(8) std::array<std::byte, line_bytes> line{};
  };

  tlm::tlm_sync_enum handle(translate_request& r, tlm::tlm_phase phase, ps& t);
  void enter(translate_request& r, ps t);
  void read(const rtl::payload& p, ps t);
  void on_response(table_read& r, ps t);
  void answer(const rtl::payload& p, ps t);
  void describe();

  rtl::stream& req_;
  rtl::stream& rsp_;
  rtl::stream& mem_req_;
  rtl::stream& mem_rsp_;
  std::array<translate_request*, tags> tagged_{};
  std::array<ps, tags> arrived_{};
  std::array<table_read, tags> reads_;
  std::deque<std::uint8_t> free_tags_;  // used in turn
  std::deque<waiting_request> behind_;  // no tag is free

  counter ok_, not_present_, errors_, drops_;
  counter reads_of_[levels];
  histogram latency_;
  level waiting_;
  probe status_probe_, tags_probe_;
};

}  // namespace hcasim
