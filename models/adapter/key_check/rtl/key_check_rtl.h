// key_check as RTL: the sockets of the model around the Verilated protection pipeline (key_check.sv).
//
// Checks enter one a cycle, in the order they were asked for. An MRC or a line of extents is read when its answer is there and
// given back in the cycle the RTL takes it. A drain enters only after every MRC read before.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "models/adapter/key_check/key_check_config.h"
#include "tlm/context.h"
#include "tlm/protection.h"
#include "tlm/rtl/shell.h"

namespace hcasim {

class key_check_rtl : public rtl::shell {
 public:
  target_socket<key_request> local{"local"};
  target_socket<key_request> remote{"remote"};
  target_socket<key_request> control{"control"};
  target_socket<key_request> windows{"windows"};
  initiator_socket<context_request> mrc{"mrc"};
  initiator_socket<context_request> extent{"extent"};

  // Throws std::invalid_argument, naming the knob, if the design's parameters differ from the configuration.
  key_check_rtl(const sc_core::sc_module_name& name, const key_check_config& config, const clock_domain& clock,
                rtl::design_factory make, const rtl::shell_options& options = {});

  [[nodiscard]] std::uint64_t references() const { return references_; }

 private:
  static constexpr unsigned tag_bits = 8;
  static constexpr unsigned tags = 1U << tag_bits;
  static constexpr unsigned slot_bits = 5;
  static constexpr unsigned slots = 1U << slot_bits;
  static constexpr std::uint32_t no_parent = ~std::uint32_t{0};

  struct waiting_request {
    key_request* request;
    ps t;
  };
  struct waiting_drain {
    key_request* request;
    ps t;
    std::uint64_t after;  // MRCs that the RTL must have taken before
  };
  struct line : context_request {
    key_check_rtl* self = nullptr;
    unsigned slot = 0;
    bool of_mrc = false;
    std::uint32_t parent = no_parent;  // index of the region that this slot asks for next, on behalf of the same request
  };

  tlm::tlm_sync_enum handle(key_request& r, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum handle_control(key_request& r, tlm::tlm_phase phase, ps& t);
  void enter(key_request& r, ps t);
  void give_tag(unsigned tag, key_request& r);
  void take_tag_back(unsigned tag);
  [[nodiscard]] std::uint64_t operation_of(std::uint32_t index) const;
  void enter_drains(ps t);
  void release(key_request& r, ps t);
  void give(std::uint32_t index, std::uint64_t epoch, ps t);
  void fetch(line& l, initiator_socket<context_request>& from, std::uint32_t index, ps t);
  void on_response(line& l, ps t);
  void conclude(const rtl::payload& p, ps t);
  void drained(unsigned tag, ps t);
  void describe();

  bool orphans_;
  rtl::stream& req_;
  // An answer that is taken gives its line back before the same slot asks for the next one, in the same cycle.
  rtl::stream& mrc_rsp_;
  rtl::stream& mrc_req_;
  rtl::stream& ext_rsp_;
  rtl::stream& ext_req_;
  rtl::stream& rsp_;
  rtl::stream& rel_;
  rtl::stream& drn_;
  rtl::stream& drn_rsp_;

  std::array<key_request*, tags> tagged_{};
  std::array<std::uint64_t, tags / 64> tags_in_use_{};
  std::array<ps, tags> arrived_{};
  std::deque<std::uint8_t> free_tags_;  // used in turn
  std::deque<waiting_request> behind_;  // no tag is free
  std::deque<waiting_drain> draining_;  // MRCs read before have not been taken
  std::array<line, slots> mrc_lines_;
  std::array<line, slots> ext_lines_;
  std::uint64_t references_ = 0;

  counter verdicts_[2][verdicts];
  counter extent_lines_, drain_count_;
  histogram latency_[2];
  histogram drain_wait_;
  level outstanding_;
  probe verdict_probe_, references_probe_;
};

}  // namespace hcasim
