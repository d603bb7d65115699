// Decides which programs of a run are clients, and which of them start together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hcasim::applications {

// `paired`: when every client has a server of its own.
enum class common_start : std::uint8_t { paired, always, never };

struct placed_program {
  std::vector<std::string> words;
  std::uint32_t node = 0;
  bool by_rank = false;    // on no node of its own
  bool own_start = false;  // starts at a time of its own
};

// Returns for each program whether its words name a node on which another program runs.
std::vector<bool> find_clients(std::span<const placed_program> programs);

// Returns for each program whether to start it with the group of clients, when all others sleep for the first time.
// Throws std::invalid_argument: `always`, and fewer than two clients.
std::vector<bool> find_group(std::span<const placed_program> programs, common_start rule);

}  // namespace hcasim::applications
