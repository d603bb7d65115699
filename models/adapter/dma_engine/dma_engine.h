// Moves bytes between the adapter and physical addresses. Requests are split at 4 KiB into PCIe bursts, bounded by read tags
// and write buffer; atomics are a read-modify-write under a lock.
//
// Order: bursts of one source go to PCIe in the order of its requests, and reads behind the writes requested before them. Reads
// of different sources take turns; a write may pass a read that waits for tags. With the ordering of PCIe (posted in order,
// reads see earlier writes) this gives the contract of tlm/dma.h. A failed request of several bursts may have moved some of its
// bursts.
//
// Entries of ICM are checked as they are read (icm_guard.h): a damaged answer is `failed` and `damaged`. With a map (icm_map.h)
// an address of ICM is first turned into a physical one.
//
// Atomics are 8 bytes, 8-byte aligned (anything else fails), serialised against each other per lock bucket [O8e, O11].
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <deque>

#include "models/adapter/dma_engine/atomic_locks.h"
#include "models/adapter/dma_engine/burst.h"
#include "models/adapter/dma_engine/dma_engine_config.h"
#include "models/adapter/dma_engine/dma_rules.h"
#include "models/adapter/dma_engine/icm_guard.h"
#include "models/adapter/dma_engine/icm_map.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/delegate.h"
#include "tlm/base/faults.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/bit_faults.h"
#include "tlm/icm.h"

namespace hcasim {

inline constexpr std::array<fault_kind, 2> dma_engine_fault_kinds{{
    {"icm_bit", "one bit of the next `count` entries of ICM is wrong as they are read"},
    {"icm_two_bits", "two bits of one word of the next `count` entries of ICM are"},
}};

class dma_engine : public unit, public faulty {
 public:
  std::deque<target_socket<dma_request>> in;
  target_socket<icm_area, sc_core::SC_ZERO_OR_MORE_BOUND> areas{"areas"};
  tlm_utils::simple_initiator_socket<dma_engine, 64> pcie;
  initiator_socket<dma_request> local{"local"};  // addresses in the memory on the adapter

  // `requester`: bus, device and function that the bursts carry. `guard`: of ICM.
  dma_engine(const sc_core::sc_module_name& name, const dma_engine_config& config, const clock_domain& clock, unsigned clients,
             std::uint16_t requester = 0, const icm_guard& guard = icm_guard());

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return dma_engine_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override { faults_.ask(kind, r); }
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const override { return faults_.to_come(kind); }
  void withdraw() override { faults_.withdraw(); }
  [[nodiscard]] std::uint32_t tags_in_use() const { return config_.read_tags - tags_free_; }
  [[nodiscard]] bool idle() const { return jobs_.in_use() == 0 && tags_in_use() == 0 && write_free_ == config_.write_buffer; }

 private:
  void end_of_elaboration() override;
  tlm::tlm_sync_enum handle(dma_request& r, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_area(icm_area& a, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum pcie_backward(tlm::tlm_generic_payload& gp, tlm::tlm_phase& phase, sc_core::sc_time& delay);

  // Reads of one completer: host memory, or another device. Once there are several, none may take every tag. Their sources take
  // turns, payload several at a time. Otherwise the WQEs of the next messages would wait behind the payload of all fetched
  // before, and the link would be idle afterwards.
  struct completer {
    std::array<dma_fifo, dma_sources> reads;
    std::uint32_t waiting = 0;  // sources with reads, as a mask
    unsigned last = 0;          // the source that had the last turn
    unsigned payload = 0;       // turns of payload since that of another source
    unsigned other = 0;         // the other source that had the last turn
    std::uint32_t tags = 0;
    bool known = false;
  };
  [[nodiscard]] std::uint32_t tags_for(const completer& c) const;
  completer* next_read(std::uint64_t before);
  static dma_fifo& in_turn(completer& c, std::uint64_t before);
  [[nodiscard]] std::uint64_t next_write() const { return writes_.empty() ? ~0ULL : writes_.front().sequence; }

  template <auto Step, class T>
  void later(T& what, ps t) {
    queue_.at(t, call_holder<&T::self, Step>(what));
  }
  [[nodiscard]] ps begins_at(const dma_request& r, ps due);
  dma_job& new_job(dma_request& r, ps t);
  void enqueue(dma_job& j);
  void begin(dma_job& j);
  bool waits_for_map(dma_job& j);
  void wait_for_map(dma_job& j);
  bool read_map(const dma_job& j);
  void on_map_entry();
  static std::uint64_t unknown_page(const dma_job& j);
  void refuse_unmapped(bool damaged);
  void leave_map();
  void start_atomic(dma_job& j);
  void pace_atomic(dma_job& j);
  void read_atomic(dma_job& j);
  void write_atomic(dma_job& j);
  void unlock(std::uint64_t address);
  void note_locks();

  void enqueue_read(dma_job& j);
  void enqueue_write(dma_job& j);
  void pump();
  void pump_at(ps t);
  void pump_now();
  [[nodiscard]] bool fits(const dma_job& w) const;
  void issue_read(completer& c);
  void issue_write();
  void send(dma_burst& b, tlm::tlm_command command, std::uint64_t address, std::byte* data, std::uint32_t bytes, ps t);
  void hand_over(dma_burst& b);
  void landed_at(dma_burst& b, ps t);
  void landed(dma_burst& b);
  void finish(dma_job& j, ps t);
  void check(dma_job& j);
  void spoil(dma_request& r);
  void answer(dma_job& j);
  void note_reads(int more);
  [[nodiscard]] ps data_in(const dma_burst& b, ps t);
  void describe();

  dma_engine_config config_;
  const clock_domain& clock_;
  std::uint16_t requester_;
  bool pcie_abroad_ = true;

  server issue_;
  server return_path_;
  std::uint32_t tags_free_;
  std::uint64_t write_free_;
  std::uint64_t sequence_ = 0;
  bool pumping_ = false;
  const dma_burst* not_taken_ = nullptr;  // PCIe has not said END_REQ yet
  ps link_free_{0};
  ps next_pump_ = never;

  std::array<completer, dma_rules::completers> completers_;
  unsigned completers_known_ = 0;
  std::uint64_t reads_waiting_ = 0;
  dma_fifo writes_;
  ps writes_until_{0};  // begin of the last write requested
  atomic_locks locks_;
  server atomic_pace_;
  icm_guard guard_;
  icm_map icm_map_;
  dma_fifo unmapped_;  // the first waits for its entry of the map
  std::array<std::uint32_t, dma_sources> unmapped_of_{};
  dma_request map_read_;
  std::uint64_t map_entry_ = 0;
  std::uint64_t map_life_ = 0;  // of the map that is read
  bit_faults faults_;           // wrong bits of read entries
  pool<dma_job> jobs_;
  burst_pool bursts_;

  std::array<counter, dma_sources> requests_;
  std::array<counter, dma_sources> bytes_;
  counter read_bursts_, write_bursts_, atomics_, lock_waits_, tag_stalls_, buffer_stalls_, failures_;
  histogram read_latency_, write_latency_, atomic_latency_;
  level reads_level_, tags_level_, write_level_, locks_level_;
  probe reads_probe_, tags_probe_, write_probe_, reads_waiting_probe_, writes_waiting_probe_, locks_probe_;
  probe issue_probe_, address_probe_, bytes_probe_, source_probe_, failed_probe_;
};

}  // namespace hcasim
