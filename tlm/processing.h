// A step of the work on a QP, from requester and responder to the processing units. Answered when the step is done; in the call
// if the step costs nothing.
#pragma once

#include <array>
#include <string_view>

#include "tlm/socket.h"

namespace hcasim {

enum class processing_step : std::uint8_t { wqe, request_in, response_in, acknowledge_in, response_out };

inline constexpr std::array<std::string_view, 5> processing_step_names = {"wqe", "request_in", "response_in", "acknowledge_in",
                                                                          "response_out"};

struct processing_request : transaction {
  std::uint32_t qpn = 0;
  processing_step step = processing_step::wqe;
  std::uint32_t bytes = 0;  // payload of the packet
  void* holder = nullptr;   // the unit that serves the step
  processing_request* next = nullptr;
};

}  // namespace hcasim
