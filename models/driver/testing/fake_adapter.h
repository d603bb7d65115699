// A stand-in for the adapter in the driver's tests: control registers, the command queue with the real control firmware behind
// it, CQEs and events on demand. Everything written to doorbell pages is noted. Host memory is reached as a device would, so
// watches and interrupts work.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "firmware/abi/cqe.h"
#include "firmware/abi/registers.h"
#include "firmware/control/firmware.h"
#include "models/machine/host/host.h"

struct hal {
  hcasim::physical_memory* memory = nullptr;
  hca_eqc eqs[64]{};
  bool open[64]{};
};

namespace hcasim::testing {

class fake_adapter : public unit {
 public:
  static constexpr std::uint64_t bar = 0x7'0000'0000;

  tlm_utils::simple_target_socket_optional<fake_adapter, 64> registers{"registers"};
  tlm_utils::simple_initiator_socket_optional<fake_adapter, 64> memory{"memory"};
  tlm_utils::simple_initiator_socket_optional<fake_adapter, 64> interrupts{"interrupts"};

  ps command_time = 1_us;
  bool answers = true;                // false = commands are never answered
  std::uint8_t refuse_with = HCA_OK;  // instead of executing commands of code `refuse_code`
  std::uint16_t refuse_code = 0;
  std::vector<std::uint16_t> codes;  // executed, in order
  std::vector<hca_command> commands;
  std::uint32_t most_outstanding = 0;

  struct write {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
    ps at;
  };
  std::vector<write> uar_writes;
  hca_msix_entry msix[HCA_MSIX_VECTORS]{};

  fake_adapter(const sc_core::sc_module_name& n, host& h, const fw_limits& limits);

  [[nodiscard]] fw_usage usage() const;
  [[nodiscard]] hca_qpc qpc(std::uint32_t qpn) const {
    return host_.memory_bytes().get<hca_qpc>(areas().qpc_base + qpn * 256ULL);
  }
  [[nodiscard]] hca_cqc cqc(std::uint32_t cqn) const {
    return host_.memory_bytes().get<hca_cqc>(areas().cqc_base + cqn * 64ULL);
  }
  [[nodiscard]] hca_mrc mrc(std::uint32_t key) const {
    return host_.memory_bytes().get<hca_mrc>(areas().mrc_base + hca_key_index(key) * 64ULL);
  }
  [[nodiscard]] const hca_init& areas() const { return areas_; }
  // The physical address of a byte of a queue's buffer.
  [[nodiscard]] std::uint64_t locate(const hca_buffer& b, std::uint64_t offset) const;

  // Writes the next CQE of the CQ now.
  void complete(std::uint32_t cqn, hca_cqe e);
  // Writes the next EQE and raises the queue's interrupt.
  void event(std::uint32_t eqn, std::uint32_t type, std::uint32_t number);
  void dma_write(std::uint64_t address, std::span<const std::byte> bytes);

 private:
  tlm::tlm_sync_enum access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void control_write(std::uint64_t offset, std::uint64_t value, ps t);
  void execute_next();

  host& host_;
  ::hal hal_;
  fw_limits limits_;
  std::vector<std::uint64_t> firmware_;
  std::vector<std::uint64_t> arena_;
  hca_init areas_{};
  std::uint64_t ring_ = 0;
  std::uint32_t log_ = 0;
  std::uint32_t pi_ = 0;
  std::uint32_t ci_ = 0;
  bool ready_ = false;
  bool busy_ = false;
  std::uint32_t eq_pi_[64]{};
  std::vector<std::uint32_t> cq_pi_;
};

inline fw_limits small_limits() {
  fw_limits l{};
  l.log_qps = l.log_cqs = 10;
  l.log_mrs = 12;
  l.max_levels = 4;
  l.mtu_shift = 12;
  l.queue_levels = 2;
  l.page_shifts = 1U << 12 | 1U << 16 | 1U << 21 | 1U << 30;
  l.max_read_depth = 16;
  l.max_inline = 400;
  l.max_sge = 30;
  l.blueflame_bytes = 256;
  l.lid = 7;
  l.functions = 1;
  l.max_eqs = 16;
  l.max_spaces = 64;
  l.max_segments = 1024;
  l.max_extent_lines = 1 << 16;
  l.max_table_bytes = 1 << 30;
  return l;
}

}  // namespace hcasim::testing
