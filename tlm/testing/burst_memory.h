// For tests: memory with real bytes that PCIe bursts reach; notes each access.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "tlm/base/unit.h"
#include "tlm/base/units.h"

namespace hcasim::testing {

class burst_memory : public unit {
 public:
  tlm_utils::simple_target_socket<burst_memory, 64> in{"in"};
  // The way of an answer, `latency` after the request. In the call it is TLM_COMPLETED or BEGIN_RESP. On the backward path the
  // call may have taken the request with END_REQ.
  enum class style { in_call, begin_response, backward, taken_then_backward };
  style answers = style::in_call;
  ps latency{0};
  std::vector<std::byte> bytes = std::vector<std::byte>(1_MiB);
  bool repeats = true;  // beyond its end it begins anew; false = accesses there are refused

  struct access {
    bool write;
    std::uint64_t address;
    std::uint64_t bytes;
    ps at;
  };
  std::vector<access> log;
  std::size_t under_way = 0;
  std::size_t most_under_way = 0;

  explicit burst_memory(const sc_core::sc_module_name& n) : unit(n) {
    in.register_nb_transport_fw(this, &burst_memory::forward);
    in.register_transport_dbg(this, &burst_memory::debug);
  }

 protected:
  // Moves the bytes and sets the response.
  virtual void move(tlm::tlm_generic_payload& p) {
    const std::uint64_t at = repeats ? p.get_address() % bytes.size() : p.get_address();
    if (at + p.get_data_length() > bytes.size()) return p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (p.is_write()) {
      std::memcpy(&bytes[at], p.get_data_ptr(), p.get_data_length());
    } else {
      std::memcpy(p.get_data_ptr(), &bytes[at], p.get_data_length());
    }
    p.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  virtual tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    log.push_back({p.is_write(), p.get_address(), p.get_data_length(), from_delay(delay)});
    move(p);
    if (answers == style::in_call || answers == style::begin_response) {
      delay += to_sc(latency);
      phase = tlm::BEGIN_RESP;
      return answers == style::in_call ? tlm::TLM_COMPLETED : tlm::TLM_UPDATED;
    }
    most_under_way = std::max(most_under_way, ++under_way);
    jobs_.push_back({this, &p});
    queue_.at(from_delay(delay) + latency,
              {[](void* j) { static_cast<job*>(j)->self->answer(*static_cast<job*>(j)->p); }, &jobs_.back()});
    if (answers == style::backward) return tlm::TLM_ACCEPTED;
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }

 private:
  struct job {
    burst_memory* self;
    tlm::tlm_generic_payload* p;
  };
  void answer(tlm::tlm_generic_payload& p) {
    --under_way;
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = to_delay(now());
    in->nb_transport_bw(p, phase, delay);
  }
  unsigned debug(tlm::tlm_generic_payload& p) {
    move(p);
    return p.get_data_length();
  }
  std::deque<job> jobs_;
};

}  // namespace hcasim::testing
