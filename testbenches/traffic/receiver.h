// A receiver: one thread of software that keeps the receive queues of its QPs filled.
#pragma once

#include <functional>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/flow_record.h"

namespace hcasim::traffic {

struct receiver_settings {
  flow_record* record = nullptr;
  kit::ibv_cq* cq = nullptr;  // of all receives
  kit::ibv_srq* shared = nullptr;
  std::vector<kit::ibv_qp*> qps;
  kit::region buffer;       // all messages land here
  std::uint32_t depth = 0;  // receives of each queue
};

// Posts the first receives; before the peers send. False = a receive was refused.
bool fill_receives(cpu& c, const receiver_settings& s);
// Posts a receive for each completed one, until `over` returns true and nothing comes any more.
void receive(cpu& c, const receiver_settings& s, const std::function<bool()>& over);

}  // namespace hcasim::traffic
