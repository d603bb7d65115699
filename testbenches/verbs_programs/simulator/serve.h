// Serves one request of a program: finds its handler, checks what it names, and runs the driver on behalf of the thread.
// Whatever the page holds, the answer is a result or an errno value.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "testbenches/verbs_programs/channel/requests.h"
#include "testbenches/verbs_programs/simulator/client.h"

namespace hcasim::applications {

// A thread of a program, while it asks.
struct caller {
  cpu& c;
  client& who;
  waiting::sleeper& bed;
  std::span<std::byte> data;  // of the page: shared with the program, so it is copied before it is looked at
  // The descriptors that came with the request; fewer when there are not so many.
  std::function<std::vector<descriptor>(std::size_t)> descriptors;

  std::uint64_t landings = 0;  // when it was last answered
  std::uint64_t slices = 0;
  std::uint64_t waking = 0;  // signals that end a sleep, bit n - 1 for signal n
  bool ended = false;        // it will not ask again
  ps used{0};                // processor time
  unsigned unproven = 0;     // times in a row that it was taken for waiting without a proof, and nothing landed

  // Queues that it has polled, and found empty, since it asked for anything else; the last one behind.
  struct empty_queue {
    channel::handle cq;
    std::uint64_t landings;  // when it was told so
  };
  std::vector<empty_queue> found_empty{};

  // Kept, so that they are allocated once.
  std::vector<verbs::ibv_wc> completions{};
  std::vector<verbs::ibv_send_wr> sends{};
  std::vector<verbs::ibv_recv_wr> receives{};
  std::vector<verbs::ibv_sge> segments{};
  struct bound {  // the program's structs, as they are at that request
    verbs::ibv_mw window;
    verbs::ibv_mr region;
  };
  std::vector<bound> binds{};
};

using request_handler = int (*)(caller& k, const std::byte* arguments, std::byte* answer);
using handler_table = std::array<request_handler, static_cast<std::size_t>(channel::request_id::count)>;

// 0 or an errno value. EOPNOTSUPP: there is no such request.
int serve(caller& k, std::uint32_t id, const std::byte* arguments, std::byte* answer);

// Each fills in its part of the table.
void add_time_requests(handler_table& t);
void add_context_requests(handler_table& t);
void add_device_requests(handler_table& t);
void add_memory_requests(handler_table& t);
void add_completion_requests(handler_table& t);
void add_queue_requests(handler_table& t);
void add_group_requests(handler_table& t);
void add_connection_requests(handler_table& t);
void add_timer_requests(handler_table& t);

}  // namespace hcasim::applications
