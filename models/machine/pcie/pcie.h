// The PCIe tree of one host: root complex, optional switch, one link per device. Bursts are routed by address, timed in closed
// form and moved at the time they get there.
//
// Order [PCIe ordering rules]: writes of a device land in the order of their BEGIN_REQ (relaxed ones may pass). Its reads, its
// interrupts and its answers to MMIO reads never pass its writes. A write has landed when memory, or the IOMMU in front, has
// answered. Completions of different reads may pass each other. An MMIO write stays behind earlier ones to its device; an MMIO
// read stays behind those writes. A burst to an unmapped address reaches the root complex and returns
// TLM_ADDRESS_ERROR_RESPONSE, a read after the way back. Costs: a write burst one kernel event, a read burst two, an MMIO
// access one. Messages (tlm/pcie.h) are posted writes: a device's go to `memory`, messages on `cpu` to the device of their
// requester.
//
// Each device has configuration registers (firmware/abi/pci_config.h), served by the root complex. While its bus mastering is
// off, a device sends nothing: its reads and writes end with TLM_COMMAND_ERROR_RESPONSE. Setting the bit of the function reset
// switches bus mastering off and pulls the device's reset line. An injected fault happens to the device's next burst of its
// kind. It is noted in the error registers and ends as the specification says (pcie_faults.h).
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/machine/pcie/pcie_config.h"
#include "models/machine/pcie/pcie_faults.h"
#include "models/machine/pcie/pcie_rules.h"
#include "tlm/base/delegate.h"
#include "tlm/base/faults.h"
#include "tlm/base/pool.h"
#include "tlm/base/unit.h"
#include "tlm/pcie.h"
#include "tlm/riding_extension.h"

namespace hcasim {

class pcie : public unit, public faulty {
 public:
  // One device's port. Addresses on `down` are offsets in the device's BAR space.
  struct port {
    tlm_utils::simple_target_socket_tagged_optional<pcie, 64> up;       // DMA from the device
    tlm_utils::simple_initiator_socket_tagged_optional<pcie, 64> down;  // MMIO and peer-to-peer bursts to the device
    port(const char* up_name, const char* down_name) : up(up_name), down(down_name) {}
  };
  tlm_utils::simple_target_socket_optional<pcie, 64> cpu{"cpu"};                   // MMIO from host software
  tlm_utils::simple_initiator_socket_optional<pcie, 64> memory{"memory"};          // to host memory
  tlm_utils::simple_initiator_socket_optional<pcie, 64> interrupts{"interrupts"};  // MSI-X messages to the host

  // Throws std::invalid_argument when the configuration contradicts itself.
  pcie(const sc_core::sc_module_name& name, const pcie_config& config, unsigned devices);
  ~pcie() override;

  void list_waiting(waiting_list& list) const override;

  [[nodiscard]] port& device(unsigned i) { return lanes_.at(i)->sockets; }
  [[nodiscard]] unsigned devices() const { return static_cast<unsigned>(lanes_.size()); }
  // Maps addresses [base, base + size) to `device`, which sees them from `offset` on. Throws std::invalid_argument when the
  // window is empty or overlaps another one.
  void map_bar(unsigned device, std::uint64_t base, std::uint64_t size, std::uint64_t offset = 0);

  // Sets the action of a function reset of `device`.
  void map_reset(unsigned device, action line) { lanes_.at(device)->reset = line; }
  [[nodiscard]] bool link_up(unsigned device) const { return !lanes_.at(device)->down_now; }

  // Returns the faults of device 0.
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return pcie_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override;
  void withdraw() override;

  // Sends messages to `requester` to `device`.
  void map_requester(unsigned device, std::uint16_t requester) { lanes_.at(device)->requester = requester; }

  [[nodiscard]] const pcie_config& config() const { return config_; }
  // Returns the payload rate that writes of `bytes` at `address` can reach: the TLP formula.
  [[nodiscard]] bit_rate write_limit(std::uint64_t address, std::uint64_t bytes) const;
  [[nodiscard]] bit_rate read_limit(std::uint64_t address, std::uint64_t bytes) const;

 private:
  static constexpr unsigned from_cpu = ~0U;

  // A burst on its way; rides on the payload, where answers find it.
  struct burst : riding_extension<burst> {
    pcie* owner = nullptr;
    burst* next = nullptr;
    pcie_route route;
    unsigned source = 0;
    bool read = false;
    bool relaxed = false;
    bool empty = false;  // a message without data
    pcie_fate fate = pcie_fate::ordinary;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t behind = 0;  // an answer to software: number of earlier memory writes by the device
    ps begun{0};
  };
  struct direction {
    link_schedule link;
    std::uint32_t garbled = 0;         // bursts to come with garbled TLPs
    std::uint32_t unacknowledged = 0;  // bursts to come without an acknowledge
    std::uint32_t corrected = 0;       // enum pci_corrected
    counter tlps, header_bytes, payload_bytes, replays;
    probe busy;
  };
  struct lane {
    pcie* owner = nullptr;
    explicit lane(const pcie_config& c, const char* up_name, const char* down_name);
    port sockets;
    std::uint32_t requester = ~0U;
    bool up_abroad = true;
    bool down_abroad = true;
    direction up, down;
    credit_loop posted_headers, posted_data, nonposted_headers;                       // device to root complex
    credit_loop device_posted_headers, device_posted_data, device_nonposted_headers;  // root complex to device
    ps posted_end{0};                                                                 // on the link, of writes by the device
    ps landed{0};                                                                     // at their destination
    ps down_posted_end{0};                                                            // of MMIO writes on their first link
    ps down_arrived{0};                                                               // at the device
    burst* waiting = nullptr;  // reads that wait for room for their completions
    burst* waiting_last = nullptr;
    std::uint64_t outstanding_bytes = 0;
    pool_use completion_room;
    // Counts in order; an IOMMU may hold writes for long after they arrived.
    std::uint64_t memory_writes = 0;
    std::uint64_t memory_writes_done = 0;
    burst* pushing = nullptr;  // answers to software that wait for such writes

    bool disturbed = false;  // a member below may affect bursts: looked at once a burst
    bool down_now = false;
    std::uint32_t command = PCI_BUS_MASTER;
    std::vector<pcie_fault> asked;  // of bursts to come, in order
    std::uint32_t errors = 0;       // and the errors noted
    pci_error_log log{};
    action reset;

    counter faults, blocked;
    counter reads, writes, messages, peer_bursts, unreachable, credit_stalls, completion_stalls;
    histogram read_time, write_time, credit_stall_time;
    level outstanding, writes_in_flight, waiting_reads;
    probe credits_probe, outstanding_probe, waiting_probe;
  };
  struct stream {  // TLPs on one link
    ps begin;
    ps end;
    ps each;  // one TLP
  };

  void end_of_elaboration() override;
  tlm::tlm_sync_enum from_device(int i, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum from_host(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum device_backward(int i, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  unsigned device_debug(int i, tlm::tlm_generic_payload& p);
  unsigned host_debug(tlm::tlm_generic_payload& p);
  unsigned debug(const pcie_route& r, tlm::tlm_generic_payload& p);

  burst& begin_burst(tlm::tlm_generic_payload& p, const pcie_extension* extension, unsigned source, const pcie_route& r, ps t);
  [[nodiscard]] pcie_route to_requester(std::uint16_t requester) const;
  [[nodiscard]] static tlp_shape shape_of_write(const burst& b, std::uint64_t mps);
  void enter(burst& b);
  void send_write(burst& b);
  void send_read(burst& b);
  void send_mmio(burst& b);
  void arrive(burst& b);
  void answered(burst& b, ps t);
  void come_back(burst& b);
  void send_completion(burst& b);
  void complete(burst& b);
  void answer_software(burst& b);
  void write_done(lane& l);
  void respond(burst& b);
  void pump_reads(lane& l);

  stream book(direction& d, ps t, const tlp_shape& shape, std::uint64_t header);
  link_schedule::span replay(direction& d, ps t, ps work);
  stream cross(direction& d, const stream& in, ps latency, const tlp_shape& shape, std::uint64_t header);
  stream write_stream(lane& l, ps t, const tlp_shape& shape);
  stream up_to_root(const stream& s, const tlp_shape& shape, std::uint64_t header);
  stream down_from_root(lane& l, const stream& s, const tlp_shape& shape, std::uint64_t header);
  ps to_peer(lane& l, const stream& s, const tlp_shape& shape, std::uint64_t header);
  void count_stall(lane& l, ps wanted, ps start);

  // pcie_function.cpp
  // When it is answered, from now on.
  struct config_answer {
    unsigned device;
    ps way;
  };
  std::optional<config_answer> config_access(tlm::tlm_generic_payload& p);
  [[nodiscard]] std::uint32_t read_config(const lane& l, std::uint32_t offset) const;
  void write_config(lane& l, std::uint32_t offset, std::uint32_t value);
  void look(lane& l) { l.disturbed = l.down_now || (l.command & PCI_BUS_MASTER) == 0 || !l.asked.empty(); }
  // Applies faults to a leaving burst; true = it stays here, and is answered.
  bool disturb(lane& l, burst& b);
  void note(lane& l, std::uint32_t error, const burst& b);
  void refuse(burst& b);
  bool spoil_arrival(burst& b);
  bool spoil_completion(burst& b);
  void timed_out(burst& b);
  void contain(lane& l);
  void link_down(lane& l, ps length);
  void link_is_up(lane& l);
  [[nodiscard]] ps wire_time(const tlp_shape& shape, std::uint64_t header) const;
  template <auto Step>
  void later(burst& b, ps t) {
    queue_.at(t, call_holder<&burst::owner, Step>(b));
  }
  void describe(unsigned i);
  void describe_direction(const std::string& name, direction& d);

  pcie_config config_;
  bit_rate rate_;
  std::uint64_t most_;  // completion payload
  pcie_address_map map_;
  bool memory_abroad_ = true;
  std::vector<std::unique_ptr<lane>> lanes_;
  direction root_up_, root_down_;  // link between switch and root complex
  pool<burst> bursts_;

  counter mmio_reads_, mmio_writes_, mmio_errors_;
};

}  // namespace hcasim
