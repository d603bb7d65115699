// Takes commands from the queue in host memory and runs the control firmware on them, one after the other.
//
// The firmware is the C11 code of firmware/control, called natively. Every call through hal.h is a transaction of this unit and
// takes its time; the work between the calls is charged by the item (knobs). Registers: control page of BAR 0
// (firmware/abi/registers.h). A command queue that cannot be read puts the device into HCA_STATUS_FATAL.
//
// Reset: the command in hand runs to its end, then the firmware brings every unit to rest. Work under way ends by failing,
// because a device in reset is cut off from memory. The status is HCA_STATUS_FATAL until all is done, then HCA_STATUS_RESET.
// Firmware that hangs does nothing until then.
#pragma once

#include <array>
#include <bitset>
#include <functional>
#include <utility>
#include <vector>

#include "firmware/abi/command.h"
#include "firmware/abi/route.h"
#include "firmware/control/firmware.h"
#include "models/adapter/command_unit/command_unit_config.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/faults.h"
#include "tlm/base/fibre.h"
#include "tlm/base/lazy_array.h"
#include "tlm/base/pool.h"
#include "tlm/base/unit.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/icm.h"
#include "tlm/protection.h"
#include "tlm/translate.h"
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim {
class command_unit;
}

// The target of the firmware's opaque `struct hal*`.
struct hal {
  hcasim::command_unit* unit = nullptr;
};

namespace hcasim {

inline constexpr std::array<fault_kind, 1> command_unit_fault_kinds{
    {{"firmware_hang", "the control firmware stops where it is, until the function is reset"}}};

class command_unit : public unit, public faulty {
 public:
  target_socket<register_access> registers{"registers"};
  initiator_socket<dma_request> dma{"dma"};
  initiator_socket<icm_area> icm{"icm"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<context_request> cqc{"cqc"};
  initiator_socket<context_request> mrc{"mrc"};
  initiator_socket<context_request> extent{"extent"};
  initiator_socket<key_request> keys{"keys"};
  initiator_socket<window_request> windows{"windows"};
  initiator_socket<translate_request> walker{"walker"};
  initiator_socket<doorbell_control> doorbell{"doorbell"};
  initiator_socket<send_queue_control> send_queue{"send_queue"};
  initiator_socket<requester_control> requester{"requester"};
  initiator_socket<responder_control> responder{"responder"};
  initiator_socket<completion_control> completion{"completion"};
  initiator_socket<page_answer> requester_pages{"requester_pages"};
  initiator_socket<page_answer> responder_pages{"responder_pages"};
  initiator_socket<report> reports{"reports"};

  // `limits`: reported by the device, and kept to by the firmware.
  command_unit(const sc_core::sc_module_name& name, const command_unit_config& config, const fw_limits& limits);

  // Drives the reset line.
  void reset();
  // Returns whether no reset is under way.
  [[nodiscard]] bool at_rest() const { return !reset_asked_; }
  // Sets the call for the end of a reset.
  void on_rest(std::function<void()> told) { on_rest_ = std::move(told); }
  // Tells software the state of the link of a port.
  void port_changed(unsigned port, bool up);
  // Sets the call for a multicast LID whose number of groups at a port changed: the subnet manager needs to know.
  using group_change = std::function<void(unsigned port, std::uint16_t lid, bool joins)>;
  void on_group(group_change told) { on_group_ = std::move(told); }
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return command_unit_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override;

  // Implements firmware/control/hal.h; called from the firmware's fibre only.
  int dma_read(std::uint64_t address, void* to, std::uint32_t bytes);
  int dma_write(std::uint64_t address, const void* from, std::uint32_t bytes);
  void dma_fence();
  void cache_op(hal_cache cache, context_op op, std::uint32_t index, std::uint64_t base, std::uint64_t entries);
  void set_icm(icm_entry kind, std::uint64_t base, std::uint64_t bytes);
  void translation_drop(std::uint32_t tag, std::uint64_t first, std::uint64_t last);
  void key_drain(std::uint32_t index);
  void change_window(std::uint32_t index, window_op op, std::uint32_t region = 0);
  void qp_start(std::uint32_t qpn, std::uint32_t uar, bool shared);
  void qp_control(std::uint32_t qpn, hal_qp_op op);
  void set_cq_page(std::uint32_t cqn, std::uint32_t uar) { set_page(true, cqn, uar); }
  void set_eq(std::uint32_t eqn, const hca_eqc* eqc);
  void set_group(std::uint32_t hash, std::uint32_t first);
  void set_group_lid(unsigned port, std::uint16_t lid, bool joins);
  void settle_cq(std::uint32_t cqn);
  void event(std::uint32_t type, std::uint32_t number);
  void pages(std::uint32_t index, std::uint64_t first, std::uint64_t last, enum ::hal_pages outcome);
  void charge(enum ::hal_work kind, std::uint32_t items);

  [[nodiscard]] fw_usage usage() const;

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::uint64_t completed() const override { return advances_; }

 private:
  struct posted_write : dma_request {
    std::vector<std::byte> bytes_copy;
    command_unit* owner = nullptr;
  };

  void describe();
  tlm::tlm_sync_enum on_register(register_access& r, tlm::tlm_phase phase, ps& t);
  void advance() { advances_ += opcode_ != HCA_CMD_QUERY_DEVICE; }
  void run();
  bool execute_next();
  void come_to_rest();
  void begin_access();
  template <class P>
  void call(initiator_socket<P>& port, P& p);
  template <class P>
  void on_answer(P&) {
    answer_here_ = true;
    core_.wake();
  }
  void landed(posted_write& w);
  void order_send_queue(std::uint32_t qpn, send_queue_op op, bool notify = false);
  void order_requester(std::uint32_t qpn, requester_op op);
  void order_responder(std::uint32_t number, responder_op op, std::uint32_t hash = 0);
  void set_page(bool of_cq, std::uint32_t number, std::uint32_t uar);
  initiator_socket<context_request>& cache_port(hal_cache cache);

  const command_unit_config config_;
  const clock_domain clock_;
  const fw_limits limits_;
  ::hal hal_;
  lazy_array<std::uint64_t> arena_;
  std::vector<std::uint64_t> state_;
  firmware* firmware_ = nullptr;

  std::uint64_t queue_base_ = 0;
  std::uint32_t queue_log_ = 0;
  std::uint32_t pi_ = 0;
  std::uint32_t ci_ = 0;
  std::uint32_t status_ = HCA_STATUS_RESET;
  bool reset_asked_ = false;
  group_change on_group_;
  std::function<void()> on_rest_;
  std::vector<std::pair<unsigned, std::uint16_t>> group_lids_;  // port and LID, one for each group
  std::bitset<HCA_PORTS> down_;
  std::bitset<HCA_PORTS> told_down_;  // the last states told to software
  bool hangs_ = false;
  fibre core_;
  bool answer_here_ = false;
  const void* asked_ = nullptr;  // the socket of the request that is not answered
  std::string (*asked_target_)(const void*) = nullptr;
  ps begun_{0};  // the command in hand
  ps executing_{0};
  std::uint16_t opcode_ = 0;
  ps t_{0};  // the firmware core's local time
  pool<posted_write> writes_;
  std::uint64_t writes_in_flight_ = 0;
  bool write_failed_ = false;

  // Commands and accesses of the firmware; a look at the device's health is no progress and not counted.
  std::uint64_t advances_ = 0;
  counter commands_;
  counter resets_;
  counter failed_;
  counter dma_reads_;
  counter dma_writes_;
  counter drops_;
  counter drains_;
  counter entries_;
  histogram command_time_;
  histogram drain_time_;
  level queue_level_;
  probe busy_probe_;
  probe opcode_probe_;
  probe status_probe_;
  probe queue_probe_;
};

}  // namespace hcasim
