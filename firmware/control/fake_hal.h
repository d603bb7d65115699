// A HAL over sparse memory, without time: counts and logs calls, fails DMA on demand, and shows memory to an observer at every
// call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "firmware/abi/context.h"
#include "firmware/abi/mrc.h"
#include "firmware/control/firmware.h"

struct hal {
  enum class op {
    read,
    write,
    fence,
    drop,
    take,
    give,
    take_cq,
    give_cq,
    translation_drop,
    drain,
    lock,
    unlock,
    close,
    unbind,
    area,
    start,
    qp,
    eq,
    event,
    pages,
    group,
    lid
  };
  struct call {
    op what;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    bool operator==(const call&) const = default;
  };

  void read(std::uint64_t address, void* to, std::size_t bytes) const;
  void write(std::uint64_t address, const void* from, std::size_t bytes);
  template <class T>
  [[nodiscard]] T get(std::uint64_t address) const {
    T v;
    read(address, &v, sizeof v);
    return v;
  }
  template <class T>
  void put(std::uint64_t address, const T& v) {
    write(address, &v, sizeof v);
  }
  int dma(bool write_access, std::uint64_t address, std::uint64_t bytes);
  void note(call c);
  void check_taken(std::uint64_t address, std::uint64_t bytes);
  [[nodiscard]] bool any_taken() const;

  std::int64_t dma_calls = 0;
  std::int64_t fail_at = -1;  // this DMA call fails
  bool fail_on = false;       // and every later one
  std::uint64_t hole = 0;     // an address range that no DMA reaches
  std::uint64_t hole_bytes = 0;
  bool logging = false;
  std::vector<call> log;
  std::function<void(const call&)> observer;
  std::function<void(std::uint32_t index, std::uint32_t region)> unbind;
  std::map<std::uint32_t, int> locks;  // held, by index
  std::map<std::uint32_t, int> taken;  // QP contexts, by number
  std::map<std::uint32_t, int> taken_cqs;
  // Writes of QP contexts not taken, and calls during a take that may wait for the data path.
  std::uint64_t untaken = 0;
  std::map<std::uint32_t, std::uint32_t> pages_of_bells;  // by QPN, as they were begun
  std::map<std::uint32_t, std::uint32_t> pages_of_cqs;
  std::map<std::uint32_t, hca_eqc> eqs;
  std::map<std::uint32_t, std::uint32_t> groups;  // first ones, by hash
  std::map<std::uint32_t, int> lids;              // groups, by port << 16 | multicast LID
  std::array<std::uint64_t, 4> area_base{};
  std::array<std::uint64_t, 4> area_entries{};
  std::uint64_t map_base = 0;
  std::uint64_t table_base = 0;
  std::uint64_t table_bytes = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> events;
  std::vector<enum hal_pages> pages;  // outcomes told
  std::array<std::uint64_t, HAL_WORK_KINDS> work{};

 private:
  using page = std::array<std::byte, 4096>;
  std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;
};
