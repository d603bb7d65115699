// A PCIe device with memory of its own behind a BAR: a GPU, or an NVMe drive with a controller memory buffer. Other devices and
// software read and write its memory by PCIe bursts; writes are faster than reads. A copy engine moves bytes between it and
// host memory by DMA of its own.
//
// Bytes move when a burst arrives. A write is answered after `write_latency` and its time at `write_rate`, a read when its last
// byte is there (read_pipe). Both are given in the call: a burst costs the device no kernel event. Descriptors of copies are
// worked off one after the other (firmware/abi/peer_device.h). Errors: bytes outside memory and registers answer
// TLM_ADDRESS_ERROR_RESPONSE and change nothing.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <deque>

#include "firmware/abi/peer_device.h"
#include "models/machine/peer_device/peer_device_config.h"
#include "models/machine/peer_device/peer_rules.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/base/wait.h"
#include "tlm/pcie.h"

namespace hcasim {

// Sees every burst that others make to the device's memory, when its bytes move.
class peer_monitor {
 public:
  virtual ~peer_monitor() = default;
  virtual void peer_access(bool write, std::uint64_t offset, std::uint64_t bytes, ps t) = 0;
};

class peer_device : public unit, private tlm::tlm_mm_interface {
 public:
  tlm_utils::simple_target_socket_optional<peer_device, 64> bar{"bar"};       // memory and registers
  tlm_utils::simple_initiator_socket_optional<peer_device, 64> pcie{"pcie"};  // DMA of the copy engine

  // Throws std::invalid_argument: a page or burst is no power of two, or the memory is not whole pages.
  peer_device(const sc_core::sc_module_name& name, const peer_device_config& config);
  ~peer_device() override;

  [[nodiscard]] const peer_device_config& config() const { return config_; }
  // Returns the bytes, untimed, for set-up and checkers.
  [[nodiscard]] sparse_bytes& memory() { return memory_; }
  void observe(peer_monitor* m) { monitor_ = m; }
  [[nodiscard]] bool idle() const { return copies_.empty() && bursts_.in_use() == 0; }

 private:
  static constexpr std::size_t burst_bytes = 4096;
  struct burst : tlm::tlm_generic_payload {
    std::array<std::byte, burst_bytes> data;
    pcie_extension extension;
    std::uint64_t offset = 0;

    burst() { set_extension(&extension); }
    ~burst() override { clear_extension(&extension); }
    burst(const burst&) = delete;
    burst& operator=(const burst&) = delete;
  };

  tlm::tlm_sync_enum access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& p);
  bool move(tlm::tlm_generic_payload& p);
  void access_register(tlm::tlm_generic_payload& p);
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void free(tlm::tlm_generic_payload* p) override;

  process work_off();
  void issue(bool write, std::uint64_t address, std::uint64_t offset, std::uint64_t bytes);
  void send_fence(const peer_copy& c);
  void send(burst& b);
  void finish(burst& b, ps t);
  void copied();
  burst& new_burst(bool write, std::uint64_t address, std::uint64_t bytes);
  void describe();

  const peer_device_config config_;
  sparse_bytes memory_;
  peer_monitor* monitor_ = nullptr;
  server write_port_;
  read_pipe read_pipe_;
  server copy_port_;
  std::deque<peer_copy> copies_;
  credits copy_slots_;
  wait_list copy_drained_;
  std::uint64_t copying_ = 0;  // bursts under way, fences included
  bool copy_failed_ = false;
  bool failed_before_fence_ = false;
  pool<burst> bursts_;

  counter reads_, writes_, read_bytes_, write_bytes_, outside_, read_waits_;
  counter copies_done_, copies_failed_, copied_to_host_, copied_from_host_;
  histogram read_time_, write_time_, copy_time_;
  level copy_queue_;
  probe access_probe_, offset_probe_, copy_probe_;
};

}  // namespace hcasim
