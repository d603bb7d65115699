// The completion unit with its way to memory as RTL (cqe_writer.sv): every CQE, every EQE, every interrupt and every record
// that is read goes through it, bytes and all. What is decided before (places, arming, events) is the model's.
//
// It takes the place of the model as any unit with the same sockets does (completion_boundary.h).
#pragma once

#include <array>
#include <deque>

#include "models/completion/completion.h"
#include "models/completion/completion_boundary.h"
#include "tlm/base/pool.h"
#include "tlm/rtl/registry.h"
#include "tlm/rtl/shell.h"

namespace hcasim {

class cqe_writer_rtl : public rtl::shell {
 public:
  target_socket<dma_request> in{"in"};
  initiator_socket<dma_request> dma{"dma"};

  cqe_writer_rtl(const sc_core::sc_module_name& name, const clock_domain& clock, rtl::design_factory make,
                 const rtl::shell_options& options = {});

  // Calls `then` when everything that was asked until now has been handed on.
  void when_handed_on(action then);
  [[nodiscard]] bool all_handed_on() const { return handed_on_ == asked_; }

 private:
  static constexpr unsigned tag_bits = 5;
  static constexpr unsigned tags = 1U << tag_bits;
  static constexpr unsigned line_bytes = 64;

  struct access : dma_request {
    cqe_writer_rtl* self = nullptr;
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
  void came(access& a, ps t);
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

class completion_rtl : public unit {
 public:
  completion inner;
  cqe_writer_rtl writer;
  target_socket<control_request> control{"control"};

  completion_rtl(const sc_core::sc_module_name& name, const completion_config& config, const clock_domain& clock,
                 unsigned reporters, const rtl::chosen& what);
  ~completion_rtl() override { rtl::write_coverage(writer.design(), how_, writer.name()); }

  // The boundary of the model, with the socket to memory behind the RTL.
  static completion_boundary make(const char* name, const completion_config& config, const clock_domain& clock,
                                  unsigned reporters, const rtl::chosen& what);

 private:
  struct passed_on {
    completion_rtl* self = nullptr;
    control_request* asked = nullptr;
    control_request own;
  };
  tlm::tlm_sync_enum on_control(control_request& c, tlm::tlm_phase phase, ps& t);

  static void end(passed_on& p);

  initiator_socket<control_request> to_inner_{"to_inner"};
  pool<passed_on> passed_on_;
  const rtl_knobs how_;
};

}  // namespace hcasim
