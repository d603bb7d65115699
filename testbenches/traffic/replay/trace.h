// A recorded traffic: the objects and the verbs of each thread, as `--record-traffic` writes them (docs/replay.md).
#pragma once

#include <compare>
#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/driver/verbs/verbs.h"
#include "testbenches/traffic/options.h"
#include "tlm/base/units.h"

namespace hcasim::replay {

// An error of the file, with file, line and mend.
class trace_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::uint32_t nothing = ~0U;  // instead of an object's number

struct trace_region {
  std::uint32_t node = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // of its begin in its page
  traffic::memory_kind memory = traffic::memory_kind::host;
};
struct trace_queue {
  std::uint32_t node = 0;
  std::uint32_t entries = 0;
  bool events = false;  // a thread waits for it by events
};
struct trace_shared {
  std::uint32_t node = 0;
  std::uint32_t receives = 0;
  std::uint32_t segments = 0;
  std::uint32_t queue = nothing;  // of completions, XRC
};
// A multicast group and its QPs, from the begin.
struct trace_group {
  verbs::ibv_gid gid{};
  std::uint16_t lid = 0;
  std::vector<std::uint32_t> qps;
};

// The way of a QP's packets, or of a datagram.
struct trace_way {
  std::uint8_t service_level = 0;
  bool global = false;  // with a GRH
  auto operator<=>(const trace_way&) const = default;
};

struct trace_qp {
  std::uint32_t node = 0;
  verbs::ibv_qp_type type = verbs::IBV_QPT_RC;
  verbs::ibv_qp_cap cap{};
  std::uint32_t send_queue = nothing;  // nothing = the record has no such QP
  std::uint32_t receive_queue = nothing;
  std::uint32_t shared = nothing;
  std::uint32_t peer = nothing;
  verbs::ibv_mtu mtu = verbs::IBV_MTU_1024;
  std::uint8_t reads = 0;
  std::uint8_t timeout = 0;
  std::uint8_t retry = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t rnr_timer = 0;
  std::uint8_t port = 1;  // of its adapter
  trace_way way;
  bool privileged = false;  // makes or ends keys of fast registrations
};

enum class key_kind : std::uint8_t { window1, window2, fast };

// A window, or a region for fast registrations: requests give it another key and another place.
struct trace_key {
  std::uint32_t node = 0;
  key_kind kind = key_kind::window2;
  std::uint32_t pages = 0;  // of a region, at most
};

// A place in a region, or in what a key covers at that time.
struct trace_place {
  std::uint32_t of = nothing;  // number of the region or the key; of a datagram: of its QP or group
  bool keyed = false;
  bool group = false;
  std::uint64_t offset = 0;
};

// A piece of memory of a request.
struct trace_piece {
  std::uint32_t length = 0;
  trace_place at;
};

// Completions of one side of a QP.
struct trace_completions {
  std::uint32_t qp = 0;
  bool receives = false;
  std::uint32_t count = 0;
  std::uint32_t so_far = 0;  // of the QP in the record, these included
};

enum class step_kind : std::uint8_t { post, receive, done };

// A verb of a thread: a request posted, or completions polled.
struct trace_step {
  step_kind kind = step_kind::post;
  bool more = false;    // the next request belongs to the same post
  bool events = false;  // done: the thread waited by events
  bool to_shared = false;
  trace_way way;  // of a datagram
  verbs::ibv_wr_opcode opcode = verbs::IBV_WR_SEND;
  std::uint32_t flags = 0;
  std::uint32_t object = 0;  // QP, shared queue, or completion queue
  std::uint32_t line = 0;
  std::uint32_t first = 0;  // in `pieces` or `completions`
  std::uint32_t count = 0;
  ps at{0};                        // since the begin of the record
  ps gap{0};                       // the thread's own time before
  trace_place remote;              // at the peer, but a key that is made or ended here is of this node
  std::uint32_t access = 0;        // rights of a key
  std::uint32_t shared = nothing;  // SRQ of the receive, XRC
};

struct trace_thread {
  std::uint32_t node = 0;
  std::vector<trace_step> steps;
};

struct trace {
  std::string name;
  std::uint32_t nodes = 0;
  std::vector<trace_region> regions;
  std::vector<trace_key> keys;
  std::vector<trace_queue> queues;
  std::vector<trace_shared> shared;
  std::vector<trace_qp> qps;  // also places of QPs that were never used
  std::vector<trace_group> groups;
  std::vector<trace_thread> threads;
  std::vector<trace_piece> pieces;
  std::vector<trace_completions> completions;
  std::uint64_t posts = 0;
  std::uint64_t bytes = 0;  // of all requests posted
  ps end{0};                // of the last event
};

// Reads the number of nodes only. Throws trace_error.
std::uint32_t read_nodes(std::istream& in, const std::string& name);
// Reads and checks a whole file. Throws trace_error.
trace read_trace(std::istream& in, const std::string& name);

}  // namespace hcasim::replay
