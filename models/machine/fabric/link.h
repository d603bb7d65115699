// A full-duplex InfiniBand link between two ports: serialisation, propagation, per-lane credits, faults on demand.
//
// The device at end e sends into in[e] and receives from out[e]; a packet into in[e] comes out at out[1 - e]. A packet is
// answered when its last byte has left (TLM_COMPLETED), or later while the lane has no credits (TLM_ACCEPTED). The receiving
// device answers when its buffer is free again; the credits are back at the sender one propagation later.
//
// Ownership of packets, on every binding: the sender's until the answer, the receiver's from then on. The unit at the end of a
// packet's life (the consumer, or a hop dropping it) answers and then returns the packet to the pool. After the answer the
// sender does not look at the packet again.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "models/machine/fabric/credit_signal.h"
#include "models/machine/fabric/link_config.h"
#include "tlm/base/faults.h"
#include "tlm/base/pool_use.h"
#include "tlm/base/random.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/packet.h"

namespace hcasim {

enum class fault : std::uint8_t { none, loss, corruption, duplication, delay };

inline constexpr std::array<fault_kind, 3> link_fault_kinds{{
    {"link_down", "the link is down for `length` (link.retraining): packets sent meanwhile are lost, and both ports are told"},
    {"loss_burst", "the next `count` packets are lost, whichever way they go"},
    {"credit_loss",
     "updates get lost: the next `count` credits of each lane and end, free ones first, come in `length` (link.retraining)"},
}};

class link : public unit, public faulty {
 public:
  std::array<target_socket<packet>, 2> in{target_socket<packet>("in_0"), target_socket<packet>("in_1")};
  std::array<initiator_socket<packet>, 2> out{initiator_socket<packet>("out_0"), initiator_socket<packet>("out_1")};

  // Random faults are drawn from `seed` and the module's name, one stream for each kind and direction.
  link(const sc_core::sc_module_name& name, const link_config& config, packet_pool& packets, std::uint64_t seed);

  void list_waiting(waiting_list& list) const override;
  // Makes out[end] hand a packet over at its first byte instead of its last, whose time is `packet::last_bit`.
  void deliver_early(unsigned end) { early_[end] = true; }
  // Sets a filter, called with each packet and the end of its entry; its result adds to the random faults.
  void set_fault_filter(std::function<fault(const packet&, unsigned end)> filter) { filter_ = std::move(filter); }

  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return link_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override;
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const override;
  void withdraw() override;
  // Adds a listener of the device at `end` for the link going down and coming up.
  void on_change(unsigned end, std::function<void(bool up)> listener) { sides_[end].listeners.push_back(std::move(listener)); }
  // Tells whether the device at `end` has power. Without power the device neither sends nor receives, packets on the wire are
  // cut, and the other end finds the link down.
  void power(unsigned end, bool on);

  // Returns the credits that the sender at `end` could use at `at`, in 64-byte blocks.
  [[nodiscard]] std::uint64_t free_blocks(unsigned end, unsigned lane, ps at = now()) const;  // never: all are home
  [[nodiscard]] double utilisation(unsigned end) const;
  // Returns how many of the lost packets were lost to requested faults, and not to the random `loss`.
  [[nodiscard]] std::uint64_t lost_to_faults() const { return lost_to_faults_; }

 private:
  struct credit_return {
    ps at{0};
    std::uint32_t blocks = 0;
  };
  struct waiting {
    packet* p = nullptr;
    ps since{0};
  };
  struct lane {
    std::int64_t free = 0;          // less than 0 = a fault has taken credits that are to come back
    ring<credit_return> returning;  // by time
    ring<waiting> queue;
    ps armed = never;
    credit_signal credits;
  };
  // The link's record of a packet between its last byte leaving and its buffer being free.
  struct flight {
    link* self = nullptr;
    packet* p = nullptr;
    unsigned end = 0;
    unsigned vl = 0;
    std::uint32_t blocks = 0;
    bool cut = false;  // lost on the way
  };
  struct side {
    std::vector<std::function<void(bool)>> listeners;
    bool dark = false;  // its device has no power
    bool told_up = true;
  };
  struct lane_event {
    link* self = nullptr;
    unsigned end = 0;
    unsigned vl = 0;
  };
  struct direction {
    direction(const link_config& config, std::uint64_t seed, const std::string& name);
    server wire;
    pool_use buffer;  // of the lanes at the other end
    std::vector<lane> lanes;
    random_stream loss, corruption, duplication, delay;
    counter packets, bytes, lost, corrupted, duplicated, delayed, stalls;
    histogram stall;
    probe busy, waiting_packets;
  };

  tlm::tlm_sync_enum take(packet& p, tlm::tlm_phase phase, ps& t);
  [[nodiscard]] bool may_start(const direction& d, const lane& l, std::uint32_t blocks, ps t) const;
  ps transmit(unsigned end, unsigned vl, packet& p, ps t);
  bool swallow();
  void lose_waiting(unsigned end);
  void tell();
  void look() { disturbed_ = down_ != 0 || to_lose_ != 0 || sides_[0].dark || sides_[1].dark; }
  void launch(unsigned end, unsigned vl, packet& p, std::uint32_t blocks, ps first, ps last);
  void corrupt(direction& d, packet& p) const;
  void arrive(flight& f);
  void give_back(direction& d, unsigned end, unsigned vl, std::uint32_t blocks, ps at);
  static void return_at(lane& l, std::uint32_t blocks, ps at);
  void lose_credits(lane& l, const fault_request& r, ps length) const;
  void received(flight& f, ps t);
  void serve(unsigned end, unsigned vl);
  void wake_for_credits(unsigned end, unsigned vl);
  void on_credits(const lane_event& e);
  void end_of_fault();
  [[nodiscard]] ps credits_at(const lane& l, std::uint32_t blocks) const;
  void describe(unsigned end);

  const link_config config_;
  packet_pool& packets_;
  std::function<fault(const packet&, unsigned)> filter_;
  std::array<bool, 2> early_{};
  bool disturbed_ = false;  // a member below may affect packets: looked at once a packet
  std::uint64_t down_ = 0;  // downs under way; 0 = the link is up
  std::uint64_t to_lose_ = 0;
  std::uint64_t lost_to_faults_ = 0;
  std::array<side, 2> sides_;
  std::array<direction, 2> directions_;  // by the end that sends
  std::vector<lane_event> lane_events_;
  pool<flight> flights_;
};

}  // namespace hcasim
