// An SRQ: its list of receive WQEs serves several QPs. One QP at a time takes a WQE from the list.
#pragma once

#include "models/adapter/responder/receive_qp.h"
#include "models/adapter/responder/shared_queue_rules.h"
#include "tlm/base/wait.h"

namespace hcasim {

// The owner of an XRC request: the PD, CQ and domain of the SRQ named by the request.
struct xrc_domain {
  std::uint32_t pd = 0;
  std::uint32_t cqn = 0;
  std::uint32_t xrcd = 0;
  std::uint16_t function = 0;
  std::uint32_t life = 0;  // of the SRQ; 0 = it has not been looked up
};

// The record of its number says whether the SRQ is being stopped, counts its coroutines, and drops packets sent to the number.
struct shared_queue {
  shared_queue(std::uint32_t n, receive_qp& of_number) : number(n), line(of_number) {}

  std::uint32_t number;
  receive_qp& line;
  shared_queue_state state;
  std::uint32_t life = 0;  // how often it was started
  receive_ring posted;
  std::uint16_t usable = 0;  // WQEs of the list, from the next one on, posted at the time of the read
  wait_list takers;          // QPs that wait for the list
  xrc_domain domain;

  void on(shared_queue_event e) { state = shared_queue_table.step(state, e); }
};

}  // namespace hcasim
