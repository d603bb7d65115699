#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

// The answer to the sender of a SEND_WITH_INV whose key could not be invalidated [C6.9].
enum class class_j_answer : std::uint8_t { silent, ack, nak_rae };

// The effect of a bad L_Key of its own receive on a QP of UC or UD.
enum class unreliable_receive_error : std::uint8_t { drop, error };

struct responder_config {
  double packet_interval = 3;
  double packet_latency = 20;
  std::uint32_t buffers = 256;
  std::uint32_t ack_coalesce = 4;
  std::uint32_t receive_prefetch = 4;
  class_j_answer class_j = class_j_answer::silent;
  bool atomic_align_first = true;
  hcasim::unreliable_receive_error unreliable_receive_error = hcasim::unreliable_receive_error::drop;

  void knobs(knob_visitor& k) {
    k.cycles("packet_interval", packet_interval, 1, 1000, "between the starts of two packets, requests and responses in turns");
    k.cycles("packet_latency", packet_latency, 0, 1000, "from a packet's start to its memory access");
    k.count("buffers", buffers, 1, 65536, "packet buffers for READ responses under way from memory to the port");
    k.count("ack_coalesce", ack_coalesce, 1, 1024, "acknowledge requests that one acknowledge may answer while packets wait");
    k.count("receive_prefetch", receive_prefetch, 1, 64, "receive WQEs fetched by one DMA read");
    k.choice("class_j", class_j, {"silent", "ack", "nak_rae"}, "answer to a SEND_WITH_INV whose key cannot be invalidated");
    k.flag("atomic_align_first", atomic_align_first,
           "a misaligned atomic is an invalid request with any key; off: the key is checked first");
    k.choice("unreliable_receive_error", unreliable_receive_error, {"drop", "error"},
             "a bad L_Key of a UC or UD receive drops the message, or puts the QP into ERR");
  }
};

}  // namespace hcasim
