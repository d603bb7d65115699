// The payload of the TLM-2.0 base protocol, filled in for one access.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlm/base/kernel.h"

namespace hcasim {

// Sets every attribute but memory manager and extensions; no byte enables. A write does not change `data`.
inline void set_access(tlm::tlm_generic_payload& p, tlm::tlm_command command, std::uint64_t address, void* data,
                       std::size_t bytes) {
  p.set_command(command);
  p.set_address(address);
  p.set_data_ptr(static_cast<unsigned char*>(data));
  p.set_data_length(static_cast<unsigned>(bytes));
  p.set_streaming_width(static_cast<unsigned>(bytes));
  p.set_byte_enable_ptr(nullptr);
  p.set_byte_enable_length(0);
  p.set_dmi_allowed(false);
  p.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

}  // namespace hcasim
