// A device's port: its sockets, its link with the credits of both ways, and the order of its bursts.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "models/machine/pcie/pcie_function.h"
#include "tlm/base/fifo.h"
#include "tlm/base/pool_use.h"

namespace hcasim {

class pcie;

// Addresses on `down` are offsets in the device's BAR space.
struct pcie_port {
  pcie_port(const char* up_name, const char* down_name) : up(up_name), down(down_name) {}

  tlm_utils::simple_target_socket_tagged_optional<pcie, 64> up;       // DMA from the device
  tlm_utils::simple_initiator_socket_tagged_optional<pcie, 64> down;  // MMIO and peer-to-peer bursts to the device
};

// Writes of a device to memory, in order, and answers to software that push these writes. An IOMMU may hold writes for long
// after they arrived.
class pushed_writes {
 public:
  void begin() { ++begun_; }
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  [[nodiscard]] bool all_done() const { return begun_ == done_; }
  // Lets an answer wait for the earlier writes; false = all are done.
  bool hold(pcie_burst& b);
  // Ends a write; calls `release` for each answer that need not wait any more.
  template <class Release>
  void end(Release release) {
    ++done_;
    for (pcie_burst** at = &waiting_; *at;) {
      pcie_burst& b = **at;
      if (b.behind > done_) {
        at = &b.next;
        continue;
      }
      *at = b.next;
      release(b);
    }
  }

 private:
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
  pcie_burst* waiting_ = nullptr;
};

// Reads of a device under way: as many as there is room for their completions. Others wait in order.
class read_window {
 public:
  explicit read_window(std::uint64_t bytes) : most_(bytes), use_(bytes) {}

  // Returns whether the read may go, or else lets it wait.
  bool admit(pcie_burst& b);
  // Counts the begin and the end of a read.
  void begin(const pcie_burst& b);
  void end(const pcie_burst& b);
  // Returns the first waiting read if there is room, else null.
  pcie_burst* next();

  [[nodiscard]] const pool_use& use() const { return use_; }

  counter stalls;
  level outstanding, waiting_reads;
  probe outstanding_probe, waiting_probe;

 private:
  [[nodiscard]] bool has_room(const pcie_burst& b) const {
    return most_ == 0 || outstanding_bytes_ == 0 || outstanding_bytes_ + b.bytes <= most_;
  }

  const std::uint64_t most_;  // 0 = not limited
  std::uint64_t outstanding_bytes_ = 0;
  fifo<pcie_burst> waiting_;
  pool_use use_;
};

struct pcie_device {
  pcie_device(const pcie_timing& timing, unsigned of);

  void count_stall(ps wanted, ps start) {
    if (start <= wanted) return;
    ++credit_stalls;
    credit_stall_time.add(start - wanted);
  }
  void list(statistics& s, probes& p);

  const unsigned number;
  pcie_port sockets;
  std::uint32_t requester = ~0U;
  bool up_abroad = true;
  bool down_abroad = true;
  pcie_direction up, down;
  pcie_function function{up, down};
  credit_loop posted_headers, posted_data, nonposted_headers;                       // device to root complex
  credit_loop device_posted_headers, device_posted_data, device_nonposted_headers;  // root complex to device
  ps posted_end{0};                                                                 // on the link, of writes by the device
  ps landed{0};                                                                     // at their destination
  ps down_posted_end{0};                                                            // of MMIO writes on their first link
  ps down_arrived{0};                                                               // at the device
  pushed_writes pushed;
  read_window window;

  counter reads, writes, messages, peer_bursts, unreachable, credit_stalls;
  histogram read_time, write_time, credit_stall_time;
  level writes_in_flight;
  probe credits_probe;
};

}  // namespace hcasim
