// Serves one request of a program: finds its handler, checks its objects, and runs the driver on behalf of the thread. The
// answer to any page is a result or an errno value.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "testbenches/verbs_programs/channel/requests.h"
#include "testbenches/verbs_programs/simulator/client.h"

namespace hcasim::applications {

// A thread of a program that has made a request.
struct caller {
  cpu& c;
  client& who;
  waiting::sleeper& bed;
  std::span<std::byte> data;  // of the page, which the program shares: copied before use
  // Returns the first descriptors of the request; fewer than asked for = the request has no more.
  std::function<std::vector<descriptor>(std::size_t)> descriptors;

  std::uint64_t landings = 0;  // count at the last answer
  std::uint64_t slices = 0;
  std::uint64_t waking = 0;  // signals that end a sleep, bit n - 1 for signal n
  bool ended = false;        // the thread makes no further request
  ps used{0};                // processor time
  unsigned unproven = 0;     // times in a row that the thread was taken to wait without a proof, and no DMA landed

  bool in_vain = false;  // the latest poll or look at memory slept as long as it may, and found nothing

  // CQs polled and found empty since the last request of another kind; the latest is the last.
  struct empty_queue {
    channel::handle cq;
    std::uint64_t landings;  // count at that poll
  };
  std::vector<empty_queue> found_empty{};

  // Buffers, kept so that each is allocated once.
  std::vector<verbs::ibv_wc> completions{};
  std::vector<verbs::ibv_send_wr> sends{};
  std::vector<verbs::ibv_recv_wr> receives{};
  std::vector<verbs::ibv_sge> segments{};
  struct bound {  // the program's structs at the time of the request
    verbs::ibv_mw window;
    verbs::ibv_mr region;
  };
  std::vector<bound> binds{};
  std::vector<driver::address_handle> addresses{};  // as they were at the time of the request
};

struct request_handler {
  int (*serve)(caller& k, const std::byte* arguments, std::byte* answer) = nullptr;
  claims (*claims_of)(const std::byte* arguments) = nullptr;
};
using handler_table = std::array<request_handler, static_cast<std::size_t>(channel::request_id::count)>;

// Serves the request. Returns 0 or an errno value; EOPNOTSUPP = there is no such request.
int serve(caller& k, std::uint32_t id, const std::byte* arguments, std::byte* answer);

// Fills in the handlers of one kind of request, as do the functions below.
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
