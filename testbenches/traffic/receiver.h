// A receiver: one thread of software that keeps the receive queues of its QPs filled.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/flow_record.h"
#include "testbenches/traffic/key_granter.h"
#include "testbenches/traffic/thread_queues.h"

namespace hcasim::traffic {

struct receiver_settings {
  flow_record* record = nullptr;
  std::size_t host = 0;
  std::uint32_t header = 0;           // bytes of a receive before the payload: a GRH
  thread_queues queues;               // of all receives
  std::vector<kit::ibv_srq*> shared;  // empty = each QP has receives of its own
  kit::ibv_xrcd* domain = nullptr;    // XRC
  std::vector<kit::ibv_qp*> qps;
  std::vector<std::unique_ptr<key_granter>> granters;  // by QP; empty = no message needs a key
  kit::region buffer;                                  // all messages land here
  std::uint32_t depth = 0;                             // receives of each queue
};

// Posts the first receives; before the peers send. False = a receive was refused.
bool fill_receives(cpu& c, const receiver_settings& s);
// Grants the first keys. Posts a receive, and grants a key, for each completed receive, until `over` returns true and nothing
// comes any more.
void receive(cpu& c, receiver_settings& s, const std::function<bool()>& over);

}  // namespace hcasim::traffic
