// Regions and keys of recorded traffic: their numbers, and where an address lies in them (docs/replay.md has the format).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/driver/verbs/verbs.h"

namespace hcasim {

class recorded_memory {
 public:
  // Lines of objects go to `objects`.
  explicit recorded_memory(std::vector<std::string>& objects) : objects_(objects) {}

  // Adds "3+4096" of a region, or "k3+4096" of a key.
  void add_place(const verbs::ibv_context* context, std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                 std::string& out);
  // Adds what a request covers with a new key, as "BYTES@PLACE to key N RIGHTS".
  void add_made_key(const verbs::ibv_send_wr& wr, std::string& out);
  // Adds "to key N" of a key that a request ends; false = unknown.
  bool add_ended_key(const verbs::ibv_context* context, std::uint32_t key, std::string& out);

 private:
  struct region {
    std::size_t number;
    std::uint64_t begin;
    std::uint64_t length;
  };
  struct covered {
    std::size_t number;  // of the window or the region for fast registrations
    std::uint64_t begin;
  };
  using key_name = std::pair<std::size_t, std::uint32_t>;  // node and key

  const region& find_region(const verbs::ibv_context* context, std::uint32_t key, std::uint64_t address, std::uint64_t bytes);
  const region& range(const verbs::ibv_context* context, std::uint64_t address, std::uint64_t bytes, const char* memory);
  std::size_t number_of(const verbs::ibv_context* context, std::uint32_t key, const char* kind, unsigned pages);
  void add_region(std::size_t node, const region& r, const char* memory);

  std::vector<std::string>& objects_;
  std::map<key_name, region> regions_;
  std::map<std::tuple<std::size_t, std::uint64_t, std::uint64_t>, region> ranges_;   // of memory without a plain region
  std::map<std::tuple<std::size_t, std::uint32_t, std::string>, std::size_t> keys_;  // by node, index of the key, and kind
  std::map<key_name, covered> covered_;
  std::size_t region_count_ = 0;
};

}  // namespace hcasim
