// context_cache as RTL: the sockets of the model around the Verilated cache (context_cache.sv).
//
// A held entry lies in a buffer of the shell, one for each slot of the cache, shared by all its holders. A dirty entry given
// back is written to the RTL; later requests for the entry go in after the write. A taken entry is dropped by the RTL, and its
// requests wait here until the entry is given.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "models/adapter/context_cache/context_cache_config.h"
#include "tlm/cells.h"
#include "tlm/context.h"
#include "tlm/dma.h"
#include "tlm/rtl/shell.h"

namespace hcasim {

class context_cache_rtl : public rtl::shell {
 public:
  static constexpr std::uint32_t entry_bytes = 64;
  static constexpr std::uint32_t most_bytes = 256;  // of an entry

  std::deque<target_socket<context_request>> in;
  initiator_socket<dma_request> dma{"dma"};

  // Throws std::invalid_argument, naming the knob, if the design's parameters differ from the configuration. `bytes`: of an
  // entry, a power of two up to most_bytes.
  context_cache_rtl(const sc_core::sc_module_name& name, const context_cache_config& config, const clock_domain& clock,
                    unsigned clients, const rtl::design_factory& make, const rtl::shell_options& options = {},
                    std::uint32_t bytes = entry_bytes);
  // Takes the arguments of the model; the RTL has memories without protection.
  context_cache_rtl(const sc_core::sc_module_name& name, const context_cache_config& config, const clock_domain& clock,
                    std::uint32_t bytes, unsigned clients, const cell_protection&, rtl::design_factory make,
                    const rtl::shell_options& options)
      : context_cache_rtl(name, config, clock, clients, make, options, bytes) {}

  [[nodiscard]] std::uint64_t pinned() const { return pinned_; }

 private:
  static constexpr unsigned tag_bits = 5;
  static constexpr unsigned tags = 1U << tag_bits;
  static constexpr unsigned slot_bits = 8;
  static constexpr unsigned slots = 1U << slot_bits;
  static constexpr unsigned fetch_bits = 4;
  static constexpr unsigned fetches = 1U << fetch_bits;

  struct line {
    alignas(16) std::array<std::byte, most_bytes> bytes{};
    std::uint32_t holders = 0;  // and releases that the RTL has not taken
  };
  struct transfer : dma_request {
    context_cache_rtl* self = nullptr;
    unsigned number = 0;
    alignas(16) std::array<std::byte, most_bytes> buffer{};
  };
  struct waiting_request {
    context_request* request;
    ps t;
  };
  struct taken_entry {
    std::uint32_t index;
    std::deque<waiting_request> behind;
    context_request* asks;  // until it goes to the RTL
    ps t;
  };

  [[nodiscard]] bool may_wait() const override;
  tlm::tlm_sync_enum handle(context_request& r, tlm::tlm_phase phase, ps& t);
  void arrive(context_request& r, ps t);
  void ask_for(taken_entry& e, ps t);
  void pass_on(context_request& r, ps t);
  void give(std::uint32_t index, ps t);
  void resume(ps t);
  void accept(context_request& r, ps t);
  void enter(context_request& r, ps t);
  [[nodiscard]] bool being_released(std::uint32_t index) const;
  [[nodiscard]] bool being_fetched(std::uint32_t index) const;
  [[nodiscard]] bool any_taken() const;
  void released(std::uint64_t slot, std::uint32_t index, bool dirty, ps t);
  void give_back(context_request& r, ps t);
  void answer(const rtl::payload& p, ps t);
  void start(transfer& d, dma_op op, std::uint64_t address, ps t);
  void on_response(transfer& d, ps t);
  void describe();

  const std::uint32_t bytes_;  // of an entry
  rtl::stream& req_;
  rtl::stream& rsp_;
  rtl::stream& rel_;
  rtl::stream& rd_req_;
  rtl::stream& rd_rsp_;
  rtl::stream& wr_req_;
  rtl::stream& wr_rsp_;
  std::vector<line> lines_;
  std::array<transfer, fetches> reads_;
  std::array<transfer, 2 * tags> writes_;
  std::array<context_request*, tags> tagged_{};
  std::array<ps, tags> arrived_{};
  std::deque<std::uint8_t> free_tags_;         // used in turn
  std::deque<waiting_request> behind_;         // no tag is free
  std::deque<waiting_request> after_release_;  // their entries' new bytes are not in the RTL yet
  std::vector<std::uint32_t> being_released_;  // dirty entries, by index
  bool area_behind_ = false;                   // another area waits among them
  std::deque<taken_entry> taken_;              // from when they were asked for until they are given
  std::uint64_t area_base_ = 0;
  std::uint64_t area_entries_ = 0;
  std::uint64_t pinned_ = 0;

  counter misses_, written_back_, write_failures_, failed_, dropped_, fetched_;
  histogram latency_;
  level waiting_;
  probe valid_probe_, index_probe_, tags_probe_;
};

}  // namespace hcasim
