// The driver's end of the command queue: a ring of hca_command in host memory. Several software threads may have commands in
// flight; each waits for the entry of its own to come back. A thread that finds the ring full waits its turn in order.
//
// A command that is not answered within the timeout makes the device dead: it, those in flight and all later ones fail, and
// their buffers are not reused before the channel is opened anew, for the adapter may still write them.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "firmware/abi/command.h"
#include "models/driver/device/driver_config.h"
#include "models/driver/device/driver_statistics.h"
#include "models/driver/device/mailbox_pool.h"
#include "models/driver/device/wait_queue.h"

namespace hcasim::driver {

struct command {
  hca_command_code code;
  std::uint32_t object = 0;
  std::uint32_t modifier = 0;
  std::span<const std::byte> in{};    // input mailbox: this
  std::span<const std::byte> list{};  // and this behind it
  std::span<std::byte> out{};         // output mailbox; filled only when the command succeeds
  std::uint16_t function = 0;
};

// Commands by which software gives back. They do not fail for want of memory, and on a lost context they are done when the
// adapter is cut off.
constexpr bool takes_away(hca_command_code code) {
  switch (code) {
    case HCA_CMD_DESTROY_QP:
    case HCA_CMD_DETACH:
    case HCA_CMD_DESTROY_CQ:
    case HCA_CMD_DESTROY_SRQ:
    case HCA_CMD_DEREGISTER:
    case HCA_CMD_REVOKE:
    case HCA_CMD_X_TEARDOWN:
    case HCA_CMD_FREE_MW:
    case HCA_CMD_ZAP_PAGES:
    case HCA_CMD_REFUSE_FAULT:
      return true;
    default:
      return false;
  }
}

struct command_result {
  int error = 0;  // errno: to_errno(status), ENOMEM without a mailbox, ETIMEDOUT, or EIO on a dead device
  std::uint8_t status = HCA_OK;
  std::uint32_t value = 0;
  std::uint32_t extra = 0;
};

class command_channel {
 public:
  command_channel(dma_map& dma, std::uint64_t bar, const driver_config& config, driver_statistics& stats);

  // Tells the adapter where the ring is. Again, once the adapter has been reset and no caller is left from before. 0 or ENOMEM.
  int open(cpu& c);
  void die();
  void wait_until_left(cpu& c) {
    left_.sleep_until(c, [this] { return inside_ == 0; });
  }
  command_result execute(cpu& c, const command& what);
  [[nodiscard]] bool dead() const { return dead_; }

 private:
  struct waiter {
    sc_core::sc_event turn;
    bool served = false;
    std::uint32_t index = 0;
  };

  struct mailbox {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };

  command_result give(cpu& c, const command& what);
  bool acquire(cpu& c, std::uint32_t& index);
  void put_back(const mailbox& in, const mailbox& out);
  std::uint32_t take();
  void release(std::uint32_t index);
  bool wait(cpu& c, std::uint64_t entry_address, std::uint32_t token, std::uint64_t watch, hca_command& answer);
  [[nodiscard]] bool next_is_free() const { return !busy_[produced_ & mask_]; }

  dma_map& dma_;
  std::uint64_t bar_;
  const driver_config& config_;
  driver_statistics& stats_;
  mailbox_pool mailboxes_;
  std::uint64_t ring_ = 0;
  std::uint32_t mask_;
  std::uint32_t produced_ = 0;
  std::vector<bool> busy_;
  std::deque<waiter*> waiting_;
  bool dead_ = false;
  std::uint32_t inside_ = 0;  // threads
  wait_queue left_;
  std::vector<mailbox> kept_;  // of commands of a dead device
};

template <class T>
std::span<const std::byte> in_bytes(const T& v) {
  return std::as_bytes(std::span(&v, 1));
}
template <class T>
std::span<std::byte> out_bytes(T& v) {
  return std::as_writable_bytes(std::span(&v, 1));
}

}  // namespace hcasim::driver
