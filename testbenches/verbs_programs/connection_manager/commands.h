// Programs' writes to the file: a header, and a command of <rdma/rdma_user_cm.h>. No value in a write is trusted.
#pragma once

#include <cstddef>
#include <span>

#include "testbenches/verbs_programs/connection_manager/manager.h"

namespace hcasim::applications::cm {

struct command {
  std::span<const std::byte> written;
  std::span<const std::byte> option;  // what SET_OPTION's address points to
  file* other = nullptr;              // what MIGRATE_ID's descriptor is
};
struct command_result {
  int error = 0;              // errno value
  std::uint64_t address = 0;  // where the program wants the answer
  std::size_t bytes = 0;      // of the answer
};
inline constexpr std::size_t most_answer_bytes = 1024;

// Runs one command. EAGAIN = GET_EVENT found no event.
command_result execute(manager& m, file& f, const command& c, std::span<std::byte, most_answer_bytes> answer);

}  // namespace hcasim::applications::cm
