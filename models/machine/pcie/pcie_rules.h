// PCIe in closed form: TLPs of a burst, capacity of the link, start times by credits, and targets of addresses. Shapes follow
// the PCI Express Base Specification: requests never cross 4 KiB. A completion ends at a multiple of the read completion
// boundary or with its request.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "tlm/base/pool_use.h"
#include "tlm/base/ring.h"
#include "tlm/base/units.h"

namespace hcasim {

// Returns the rate of one direction of a link after line encoding. 8b/10b up to generation 2, 128b/130b up to 5, flits (242 of
// 256 B) in 6.
bit_rate pcie_rate(unsigned generation, unsigned lanes);
// Returns whether links of this width exist [PCIe: x1, x2, x4, x8, x12, x16].
constexpr bool has_pcie_lanes(unsigned lanes) {
  return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12 || lanes == 16;
}

inline constexpr std::uint64_t credit_bytes = 16;    // of payload, a data credit
inline constexpr std::uint64_t combining_line = 64;  // a core's stores leave it in lines at most

struct tlp_shape {
  std::uint64_t tlps = 0;
  std::uint64_t payload = 0;  // bytes on the link: whole doublewords
  std::uint64_t units = 0;    // data credits
};

// Splits a write into payloads of `mps` from the first doubleword on, cut at 4 KiB. A burst without bytes is one TLP.
tlp_shape split_write(std::uint64_t address, std::uint64_t bytes, std::uint64_t mps);
// Splits a read into requests of `mrrs`, cut at 4 KiB, without payload.
tlp_shape split_read(std::uint64_t address, std::uint64_t bytes, std::uint64_t mrrs);
// Returns the completions of these requests. `most`: largest completion payload, a multiple of `rcb`.
tlp_shape split_completions(std::uint64_t address, std::uint64_t bytes, std::uint64_t mrrs, std::uint64_t rcb,
                            std::uint64_t most);

// The times at which a link is taken. Work may be booked in any order, for any time from the kernel's now on. Work fills the
// idle time from `t` on, as TLPs of several bursts interleave: the link is never idle while a burst waits.
class link_schedule {
 public:
  struct span {
    ps begin;
    ps end;
  };
  span book(ps t, ps work, ps current);

  [[nodiscard]] ps busy() const { return busy_; }
  // Returns the busy time up to `t`, without later bookings.
  [[nodiscard]] ps busy_until(ps t) const;
  [[nodiscard]] std::size_t spans() const { return spans_.size(); }

 private:
  std::deque<span> spans_;  // sorted, apart from each other
  ps busy_{0};
};

// Credits of one kind between a sender and a receiver. A burst takes the credits of all its TLPs in the call. Returning credits
// are kept as arithmetic series, one a burst.
class credit_loop {
 public:
  explicit credit_loop(std::uint64_t total) : total_(total), free_(total), use_(total) {}

  struct grant {
    ps start;            // earliest start at which no TLP of the burst has to wait in the middle
    std::uint64_t tlps;  // those whose credits are there or on their way back; later TLPs use the burst's own returns
  };
  // Takes credits for `n` TLPs of `each` credits, one TLP every `interval`, not before `t`. `each` must not exceed the total.
  grant take(ps t, std::uint64_t n, std::uint64_t each, ps interval);
  // Gives the credits of `n` TLPs back, one TLP every `interval` from `first` on.
  void give(ps first, ps interval, std::uint64_t n, std::uint64_t each);

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t free_at(ps t) const;
  // Returns the credits free, or on their way back and not yet taken. Equals the total when no burst is between take and give.
  [[nodiscard]] std::uint64_t owned() const;
  [[nodiscard]] ps busy_until(ps t) const { return use_.busy_until(t); }

 private:
  struct series {
    ps first;
    ps interval;
    std::uint64_t n;
    std::uint64_t each;
  };
  void collect(ps t);

  std::uint64_t total_;
  std::uint64_t free_;
  ring<series> returning_;
  pool_use use_;
};

enum class pcie_place : std::uint8_t { memory, interrupts, device, nowhere };

struct pcie_route {
  pcie_place place = pcie_place::nowhere;
  unsigned device = 0;
  std::uint64_t offset = 0;  // in the device's BAR space
};

// The targets of addresses: BARs of the devices, then the MSI window (writes by devices), then memory below `memory_top`. A
// burst partly outside its target is unmapped.
class pcie_address_map {
 public:
  explicit pcie_address_map(std::uint64_t memory_top) : memory_top_(memory_top) {}

  // Adds a window; false = it is empty, wraps or overlaps another one.
  bool add(unsigned device, std::uint64_t base, std::uint64_t size, std::uint64_t offset);
  [[nodiscard]] pcie_route of_device(std::uint64_t address, std::uint64_t bytes, bool write) const;
  [[nodiscard]] pcie_route of_cpu(std::uint64_t address, std::uint64_t bytes) const;

 private:
  struct window {
    std::uint64_t first;
    std::uint64_t last;
    unsigned device;
    std::uint64_t offset;
  };
  std::uint64_t memory_top_;
  std::vector<window> windows_;  // sorted
};

}  // namespace hcasim
