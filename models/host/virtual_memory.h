// A process's virtual memory: pages, their physical frames, and pins. Frames of ordinary pages are scattered, as on a machine
// that has been up for a while; contiguous runs and huge pages can be asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hcasim {

enum class page_policy : std::uint8_t { scattered, contiguous, huge_2m, huge_1g };

class physical_memory;

class virtual_memory {
 public:
  struct frame_run {  // physically contiguous, page-granular
    std::uint64_t physical;
    std::uint64_t bytes;
  };

  virtual_memory(physical_memory& memory, std::uint64_t seed);

  // Reserves `bytes` (rounded up to pages) at an address of the system's choice, or at `at` (0: anywhere). Frames are given at
  // once (their bytes stay sparse). 0: no room, or `at` is taken.
  std::uint64_t allocate(std::uint64_t bytes, page_policy policy = page_policy::scattered, std::uint64_t at = 0,
                         bool writable = true);
  // Maps [va, va+bytes) to frames chosen by the caller (tests: a given scatter of frames).
  bool map(std::uint64_t va, std::span<const frame_run> frames, bool writable = true);
  // Unmaps whole allocations; pinned frames stay reserved until they are unpinned.
  void free(std::uint64_t va);

  // The physical address of a byte; 0 when unmapped.
  [[nodiscard]] std::uint64_t translate(std::uint64_t va) const;

  // Pins the pages of [va, va+bytes) and lists their frames in order, adjacent frames merged. errno-style result: 0, EFAULT
  // (unmapped, or `write` on a read-only mapping), ENOMEM (pin limit).
  int pin(std::uint64_t va, std::uint64_t bytes, bool write, std::vector<frame_run>& out);
  void unpin(std::uint64_t va, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t pinned_bytes() const;
  void set_pin_limit(std::uint64_t bytes);

  // Untimed access for set-up and checkers; false when a page is unmapped.
  bool read(std::uint64_t va, std::span<std::byte> to) const;
  bool write(std::uint64_t va, std::span<const std::byte> from);
};

}  // namespace hcasim
