// A process's virtual memory: pages, their physical frames, and pins. Frames of ordinary pages are scattered, as on a machine
// after a while of use; contiguous runs and huge pages can be asked for.
//
// Pins are counted as Linux counts them against the locked-memory limit: two pins of a page count twice. A freed allocation's
// frames go back, and its bytes are forgotten, when its last pin is gone. Until then a device may still write them although the
// address is unmapped or mapped to other frames [E5].
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tlm/base/random.h"

namespace hcasim {

enum class page_policy : std::uint8_t { scattered, contiguous, huge_2m, huge_1g };

class cpu;
class outside_memory;
class physical_memory;

// A driver that lets a device use pages without pinning them. `begin` returns when no device uses a page of [first, last] any
// more. No page of them is given to a device before `end`. Between the two the operating system takes the pages away [E9].
class page_user {
 public:
  virtual ~page_user() = default;
  virtual void begin_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) = 0;
  virtual void end_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) = 0;
};

class virtual_memory {
 public:
  struct frame_run {  // physically contiguous, page-granular
    std::uint64_t physical;
    std::uint64_t bytes;
  };

  virtual_memory(physical_memory& memory, std::uint64_t seed);
  virtual_memory(const virtual_memory&) = delete;
  virtual_memory& operator=(const virtual_memory&) = delete;

  // Makes this the address space of an outside program, before anything is allocated. Pages get frames when first asked for;
  // rights and bytes are the source's. Nothing can be allocated here.
  void set_source(outside_memory& source) { source_ = &source; }
  // Takes pages from their program, which has unmapped or replaced them: their frames have no owner from now on, pinned or not.
  // Page users are told.
  void lose(cpu& c, std::uint64_t va, std::uint64_t bytes);
  // Takes pages from page users, because their program is about to change its rights.
  void withdraw(cpu& c, std::uint64_t va, std::uint64_t bytes);

  // Reserves `bytes` (rounded up to pages) at an address of the system's choice, or at `at` (0: anywhere). Frames are given at
  // once (their bytes stay sparse). 0 = no room, or `at` is taken or not on a page.
  std::uint64_t allocate(std::uint64_t bytes, page_policy policy = page_policy::scattered, std::uint64_t at = 0,
                         bool writable = true);
  // Maps [va, va+bytes) to frames chosen by the caller (tests: a given scatter of frames), below physical_memory::first_address
  // or reserved there. False = taken, empty or not on pages.
  bool map(std::uint64_t va, std::span<const frame_run> frames, bool writable = true);
  // Unmaps the whole allocation that starts at `va`; pinned frames stay reserved until they are unpinned.
  void free(std::uint64_t va);

  // System calls of a process; page users are told. ENOENT: no allocation begins at `va`; EINVAL: not in pages of one scattered
  // allocation, or some of it is pinned; ENOMEM: no frames.
  int unmap(cpu& c, std::uint64_t va);                         // munmap of a whole allocation
  int discard(cpu& c, std::uint64_t va, std::uint64_t bytes);  // madvise(MADV_DONTNEED): the pages read as 0 again
  int migrate(cpu& c, std::uint64_t va, std::uint64_t bytes);  // other frames with the same bytes
  int protect(cpu& c, std::uint64_t va, bool writable);        // mprotect of a whole allocation
  void add_user(page_user* u) { users_.push_back(u); }
  void remove_user(page_user* u) { std::erase(users_, u); }
  [[nodiscard]] bool writable(std::uint64_t va) const;  // and mapped

  // Returns the physical address of a byte; 0 = unmapped. `touch` gives a page of a source its frame first.
  [[nodiscard]] std::uint64_t translate(std::uint64_t va) const;
  [[nodiscard]] std::uint64_t touch(std::uint64_t va);

  // Pins the pages of [va, va+bytes) and lists their frames in order, adjacent frames merged [B3.3, B3.4]. Returns 0, EINVAL
  // (no page, or the range wraps), EFAULT (unmapped, or `write` on a read-only mapping), or ENOMEM (pin limit, exhausted
  // memory).
  int pin(std::uint64_t va, std::uint64_t bytes, bool write, std::vector<frame_run>& out);
  // Undoes the oldest pin of the range, which may be part of a pin.
  void unpin(std::uint64_t va, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t pinned_bytes() const { return pinned_; }
  void set_pin_limit(std::uint64_t bytes) { pin_limit_ = bytes; }

  // Reads untimed, for set-up and checkers; false = a page is unmapped.
  bool read(std::uint64_t va, std::span<std::byte> to) const;
  bool write(std::uint64_t va, std::span<const std::byte> from);

  static constexpr std::uint64_t page = 4096;

 private:
  // Equal pieces of `stride` bytes (the last may be shorter), or pieces of any size with `starts` (stride 0).
  struct allocation {
    std::uint64_t va = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stride = 0;
    page_policy policy = page_policy::scattered;
    bool writable = true;
    bool owned = true;  // frames come from the free lists and go back there
    bool mapped = true;
    std::uint64_t pins = 0;  // bytes, each counted as often as it is pinned
    std::vector<std::uint64_t> frames;
    std::vector<std::uint64_t> starts;  // offset of each piece

    [[nodiscard]] frame_run piece(std::uint64_t offset) const;  // from the offset to the end of its piece
  };
  struct part {  // of a pin, inside one allocation
    std::uint64_t id;
    std::uint64_t first;
    std::uint64_t last;
  };
  struct pin_record {
    std::uint64_t order;
    std::vector<part> parts;
  };
  using range = std::pair<std::uint64_t, std::uint64_t>;  // first byte, last byte

  [[nodiscard]] const allocation* at(std::uint64_t va) const;
  [[nodiscard]] bool is_free(std::uint64_t first, std::uint64_t last) const;
  [[nodiscard]] std::uint64_t choose_va(std::uint64_t bytes, std::uint64_t alignment);
  bool give_frames(allocation& a);
  std::uint64_t scattered_frame();
  int take_over(std::uint64_t first, std::uint64_t last, bool write);
  bool adopt(std::uint64_t first, std::uint64_t last);
  void release_pin(const part& p);
  void unpin_partly(std::uint64_t first, std::uint64_t last);
  void retire(std::uint64_t id);

  physical_memory& memory_;
  random_stream random_;
  template <class F>
  void told(cpu& c, std::uint64_t first, std::uint64_t last, F change);
  int replace(cpu& c, std::uint64_t va, std::uint64_t bytes, bool keep);

  outside_memory* source_ = nullptr;
  std::vector<page_user*> users_;
  std::map<std::uint64_t, allocation> allocations_;  // by id
  std::map<std::uint64_t, std::uint64_t> by_va_;     // last mapped byte -> id
  std::multimap<range, pin_record> pin_records_;     // equal ranges: oldest first
  std::vector<std::uint64_t> loose_;                 // 4 KiB frames in the order they are given out, from the back
  std::multimap<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> free_runs_;  // (bytes, alignment) -> address
  std::uint64_t next_va_;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_order_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t pin_limit_ = UINT64_MAX;
};

}  // namespace hcasim
