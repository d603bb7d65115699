// The memory behind the page walker's bench: the maps of its streams, and their tables.
//
// The content of memory follows from the address alone. Eight bytes are an entry of a node, and a line of 64 is of the last
// level. An entry of any level changes by a new version. Bytes of a system run are kept by their address.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "testbenches/coverification/lockstep/page_walker/page_walker_item.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/pool.h"
#include "tlm/base/unit.h"
#include "tlm/dma.h"

namespace hcasim::lockstep {

inline constexpr unsigned maps = 32;
inline constexpr unsigned clusters = 16;
inline constexpr std::uint64_t cluster_pages = 512;

bool sane(const translation& m);
translation map_of(unsigned number, std::uint64_t seed);
// Tells whether a map shares its table with a map under another tag. Entries of such a table never change, because no drop
// would reach the other tag.
bool shares_its_table(unsigned number);
// Returns a page of a cluster of a map. Clusters lie anywhere in the address space, and only their pages are used.
std::uint64_t page_of(const translation& m, unsigned cluster, std::uint64_t page);

// The expected answer of a walk.
struct walked {
  translate_status status = translate_status::ok;
  std::uint64_t physical = 0;
  std::uint64_t bytes = 0;
  bool operator==(const walked&) const = default;
};

// The tables as they are now.
class page_tables {
 public:
  explicit page_tables(std::uint64_t seed) : seed_(seed) {}

  // Gives pages of the last level other entries. `change_node` changes the entry of a level on the way to a page.
  void change(const translation& m, std::uint64_t first, std::uint64_t last, std::uint32_t version);
  void change_node(const translation& m, std::uint64_t page, unsigned level, std::uint32_t version);
  // Reads bytes; false = the read fails. Recorded bytes come first.
  bool read(std::uint64_t address, std::byte* to, std::size_t bytes) const;
  void set(const item& i);
  [[nodiscard]] walked walk(const translation& m, std::uint64_t va, std::uint64_t length, bool write) const;
  // Tells whether a page has an entry for any access.
  [[nodiscard]] bool present(const translation& m, std::uint64_t page) const;

 private:
  struct recorded {
    bool failed = false;
    std::array<std::byte, 64> bytes{};
  };
  // Returns the address of the entry of a level for a page; nothing = a node on the way is not present, or cannot be read.
  [[nodiscard]] std::optional<std::uint64_t> entry_at(const translation& m, std::uint64_t page, unsigned level) const;
  [[nodiscard]] bool fails(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t upper(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t leaf(std::uint64_t address, std::uint32_t version) const;

  const std::uint64_t seed_;
  // Never iterated.
  std::unordered_map<std::uint64_t, std::array<std::uint32_t, 8>> leaf_versions_;
  std::unordered_map<std::uint64_t, std::uint32_t> upper_versions_;
  std::unordered_map<std::uint64_t, recorded> recorded_;
};

// Memory of one side.
class table_memory : public unit {
 public:
  target_socket<dma_request> in{"in"};
  page_tables tables;
  std::function<void(const dma_request&)> on_access;
  std::function<void(const dma_request&)> on_answer;

  table_memory(const sc_core::sc_module_name& name, const options& o, const clock_domain& clock);

 private:
  struct job {
    table_memory* self;
    dma_request* request;
  };
  tlm::tlm_sync_enum handle(dma_request& r, tlm::tlm_phase phase, ps& t);

  const std::uint64_t seed_;
  const bool random_, storms_;
  const clock_domain clock_;
  pool<job> jobs_;
};

}  // namespace hcasim::lockstep
