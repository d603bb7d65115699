// A unit's way to memory as RTL (memory_port.sv): every request of up to 64 bytes goes through it, bytes and all.
#pragma once

#include <array>
#include <deque>

#include "models/adapter/memory_port/memory_port_config.h"
#include "tlm/dma.h"
#include "tlm/rtl/shell.h"

namespace hcasim {

class memory_port_rtl : public rtl::shell {
 public:
  target_socket<dma_request> in{"in"};
  initiator_socket<dma_request> dma{"dma"};

  memory_port_rtl(const sc_core::sc_module_name& name, const clock_domain& clock, rtl::design_factory make,
                  const rtl::shell_options& options = {});
  memory_port_rtl(const sc_core::sc_module_name& name, const memory_port_config&, const clock_domain& clock,
                  rtl::design_factory make, const rtl::shell_options& options)
      : memory_port_rtl(name, clock, make, options) {}

  // Calls `then` when every earlier request has been handed on.
  void when_handed_on(action then);
  [[nodiscard]] bool all_handed_on() const { return handed_on_ == asked_; }

 private:
  static constexpr unsigned tag_bits = 5;
  static constexpr unsigned tags = 1U << tag_bits;
  static constexpr unsigned line_bytes = 64;

  struct access : dma_request {
    memory_port_rtl* self = nullptr;
    unsigned tag = 0;
    dma_request* asked = nullptr;
    alignas(16) std::array<std::byte, line_bytes> buffer{};
  };
  struct waiting_request {
    dma_request* request;
    ps t;
  };
  struct waiter {
    std::uint64_t after;
    action then;
  };

  tlm::tlm_sync_enum handle(dma_request& r, tlm::tlm_phase phase, ps& t);
  void enter(dma_request& r, ps t);
  void hand_on(const rtl::payload& p, ps t);
  void on_response(access& a, ps t);
  void answer(const rtl::payload& p, ps t);

  rtl::stream& req_;
  rtl::stream& mem_rsp_;
  rtl::stream& mem_;
  rtl::stream& rsp_;
  std::array<access, tags> accesses_;
  std::deque<std::uint8_t> free_tags_;  // used in turn
  std::deque<waiting_request> behind_;  // no tag is free
  std::deque<waiter> waiters_;
  std::uint64_t asked_ = 0;
  std::uint64_t handed_on_ = 0;
  counter writes_, reads_;
};

}  // namespace hcasim
