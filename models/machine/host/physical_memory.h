// Host memory with real bytes, sparse over the whole 64-bit physical address space: bytes never written read as 0 and cost
// nothing.
//
// Two ways in. `read` and `write` are untimed: they see every store that software has made, and are for set-up and checkers.
// `store_at`, `read_at` and `write_at` are timed. A thread ahead of the kernel leaves its stores in a store buffer, and a read
// at time t sees stores up to t. This is exact and costs neither a kernel event nor a thread switch. Addresses wrap around at
// 2^64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "tlm/base/lazy_array.h"
#include "tlm/base/units.h"

namespace hcasim {

class outside_memory;

class physical_memory {
 public:
  physical_memory();
  ~physical_memory();
  physical_memory(const physical_memory&) = delete;
  physical_memory& operator=(const physical_memory&) = delete;

  void read(std::uint64_t address, std::span<std::byte> to) const;
  void write(std::uint64_t address, std::span<const std::byte> from);

  template <class T>
  [[nodiscard]] T get(std::uint64_t address) const {
    T v;
    read(address, std::as_writable_bytes(std::span(&v, 1)));
    return v;
  }
  template <class T>
  void put(std::uint64_t address, const T& v) {
    write(address, std::as_bytes(std::span(&v, 1)));
  }

  // Stores bytes, visible to timed readers at `when`; `current` is the kernel's now.
  void store_at(ps when, ps current, std::uint64_t address, std::span<const std::byte> from);
  void read_at(ps t, std::uint64_t address, std::span<std::byte> to) {
    settle(t);
    load_bytes(address, to);
  }
  void write_at(ps t, std::uint64_t address, std::span<const std::byte> from) {
    settle(t);
    store_bytes(address, from);
  }

  // Writes the integrity code that a device keeps beside its words (pcie_extension::check_bits), from the word at `address` on.
  // A word that never got a code has 0; other stores leave the code unchanged.
  void put_code(std::uint64_t address, std::span<const std::uint8_t> code);
  void get_code(std::uint64_t address, std::span<std::uint8_t> code) const;
  static constexpr std::uint64_t code_word = 4;

  // Exhausts the memory: only reservations that must not fail succeed meanwhile.
  void set_exhausted(bool now) { exhausted_ = now; }
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  // Returns fresh physical addresses from [first_address, end_address), never given out twice; 0 = none left. Device windows
  // (BARs) belong elsewhere. `alignment` is a power of two.
  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t alignment, bool must = false);
  static constexpr std::uint64_t first_address = std::uint64_t{1} << 32;
  static constexpr std::uint64_t end_address = std::uint64_t{1} << 46;

  // Returns fresh addresses for frames that stand for outside pages; 0 = none left. Their bytes are read and written at the
  // owner. A frame without an owner reads as 0 and takes no bytes.
  std::uint64_t reserve_outside(std::uint64_t bytes);
  void adopt(std::uint64_t frame, outside_memory& owner, std::uint64_t va);
  void release(std::uint64_t frame);
  static constexpr std::uint64_t outside_address = end_address;
  static constexpr std::uint64_t outside_bytes = std::uint64_t{1} << 36;
  [[nodiscard]] static bool is_outside(std::uint64_t address) { return address - outside_address < outside_bytes; }

  struct outside_use {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t lost = 0;  // accesses whose page had gone
  };
  [[nodiscard]] const outside_use& outside() const { return outside_use_; }

  // Forgets whole 4 KiB granules inside the range: they read as 0 again.
  void discard(std::uint64_t address, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t resident_bytes() const { return resident_ * granule; }

  static constexpr std::uint64_t granule = 4096;

 private:
  using code_granule = std::array<std::uint8_t, granule / code_word>;
  static constexpr std::uint64_t region_granules = 512;
  static constexpr unsigned region_shift = 21;
  static constexpr std::size_t cached_regions = 64;
  static constexpr std::size_t line = 64;

  struct region {
    std::uint64_t number;
    std::array<std::byte*, region_granules> granules{};
  };
  struct pending_store {
    ps when;
    std::uint64_t address;
    std::uint32_t bytes;
    std::array<std::byte, line> data;
  };

  struct outside_frame {
    outside_memory* owner = nullptr;
    std::uint64_t va = 0;
  };

  void load_outside(std::uint64_t address, std::span<std::byte> to) const;
  void store_outside(std::uint64_t address, std::span<const std::byte> from);
  void load_bytes(std::uint64_t address, std::span<std::byte> to) const;
  void store_bytes(std::uint64_t address, std::span<const std::byte> from);
  void settle(ps t) {
    if (pending_head_ != pending_.size() && pending_[pending_head_].when <= t) apply(t);
  }
  void apply(ps t);
  void buffer(ps when, std::uint64_t address, std::span<const std::byte> from);

  [[nodiscard]] region* find(std::uint64_t number) const;
  region& make(std::uint64_t number);
  void grow_table();
  std::byte* new_granule();

  std::vector<region*> table_;  // open addressing, power of two
  std::vector<std::unique_ptr<region>> regions_;
  mutable std::array<region*, cached_regions> cache_{};
  std::unordered_map<std::uint64_t, std::unique_ptr<code_granule>> codes_;  // by granule

  lazy_array<std::byte> first_slab_;  // by the page: an idle host uses few
  std::size_t first_used_ = 0;        // granules
  std::vector<std::byte*> slabs_;     // the others
  std::size_t slab_used_ = 0;
  std::vector<std::byte*> free_granules_;
  std::uint64_t resident_ = 0;
  std::uint64_t next_address_ = first_address;
  bool exhausted_ = false;
  std::vector<outside_frame> outside_frames_;
  mutable outside_use outside_use_;

  std::vector<pending_store> pending_;  // by time; the first pending_head_ are done
  std::size_t pending_head_ = 0;
};

}  // namespace hcasim
