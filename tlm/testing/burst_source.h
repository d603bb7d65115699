// For tests: sends PCIe bursts at given times and notes the time and the kind of each response.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstring>
#include <deque>
#include <vector>

#include "tlm/access.h"
#include "tlm/base/unit.h"
#include "tlm/pcie.h"

namespace hcasim::testing {

class burst_source : public unit {
 public:
  tlm_utils::simple_initiator_socket<burst_source, 64> out{"out"};
  struct burst : tlm::tlm_generic_payload {
    burst_source* self = nullptr;
    std::vector<unsigned char> data;
    pcie_extension extension;
    std::uint64_t sent_to = 0;
    ps sent = never;
    bool taken = false;     // taken in the call, with END_REQ
    ps free_again = never;  // the time of that
    ps answered = never;
    [[nodiscard]] bool ok() const { return get_response_status() == tlm::TLM_OK_RESPONSE; }
    [[nodiscard]] bool done() const { return answered != never; }
    [[nodiscard]] std::uint64_t word() const {
      std::uint64_t v = 0;
      std::memcpy(&v, data.data(), sizeof v);
      return v;
    }
  };
  std::deque<burst> bursts;

  explicit burst_source(const sc_core::sc_module_name& n) : unit(n) {
    out.register_nb_transport_bw(this, &burst_source::backward);
  }
  ~burst_source() override {
    for (burst& b : bursts) b.clear_extension(&b.extension);
  }
  burst& send(bool write, std::uint64_t address, ps at, unsigned bytes, bool relaxed = false) {
    burst& b = bursts.emplace_back();
    b.self = this;
    b.data.resize(bytes);
    b.sent_to = address;
    b.extension.relaxed_ordering = relaxed;
    b.set_extension(&b.extension);
    set_access(b, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, b.data.data(), bytes);
    queue_.at(at, {[](void* x) { static_cast<burst*>(x)->self->go(*static_cast<burst*>(x)); }, &b});
    return b;
  }

 private:
  void go(burst& b) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = to_delay(now());
    b.sent = now();
    const tlm::tlm_sync_enum status = out->nb_transport_fw(b, phase, delay);
    b.taken = status == tlm::TLM_UPDATED && phase == tlm::END_REQ;
    if (b.taken) b.free_again = from_delay(delay);
    if (status == tlm::TLM_COMPLETED) b.answered = from_delay(delay);
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase == tlm::BEGIN_RESP) static_cast<burst&>(p).answered = from_delay(delay);
    return tlm::TLM_COMPLETED;
  }
};

}  // namespace hcasim::testing
