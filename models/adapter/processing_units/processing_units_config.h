// Knobs of the processing units.
#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

struct processing_units_config {
  std::uint32_t units = 0;
  double wqe = 0;
  double request_in = 0;
  double response_in = 0;
  double acknowledge_in = 0;
  double response_out = 0;
  double read_line = 0;
  double write_piece = 0;
  std::uint64_t piece = 256;

  void knobs(knob_visitor& k) {
    k.count("units", units, 0, 256,
            "processing units that both roles of all QPs share; 0: requester and responder have their own");
    k.cycles("wqe", wqe, 0, 1e6, "a unit's time for a work request that is begun");
    k.cycles("request_in", request_in, 0, 1e6, "the same for a request packet that arrives");
    k.cycles("response_in", response_in, 0, 1e6, "the same for a response with data that arrives");
    k.cycles("acknowledge_in", acknowledge_in, 0, 1e6, "the same for an acknowledge or a NAK that arrives");
    k.cycles("response_out", response_out, 0, 1e6, "the same for a response of a READ that leaves");
    k.cycles("read_line", read_line, 0, 1e6, "more of response_out for each further 64 B of payload that it reads");
    k.cycles("write_piece", write_piece, 0, 1e6, "more of request_in and response_in for each further piece that they write");
    k.bytes("piece", piece, 64, 4096, "payload that is written at once");
  }
};

}  // namespace hcasim
