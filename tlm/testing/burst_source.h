// For tests: sends PCIe bursts at given times and notes the time and the kind of each response.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "tlm/access.h"
#include "tlm/base/unit.h"
#include "tlm/pcie.h"

namespace hcasim::testing {

class burst_source : public unit, private tlm::tlm_mm_interface {
 public:
  tlm_utils::simple_initiator_socket<burst_source, 64> out{"out"};
  struct burst : tlm::tlm_generic_payload {
    burst_source* self = nullptr;
    std::vector<std::byte> data;
    pcie_extension extension;
    std::uint64_t sent_to = 0;
    std::function<void()> before;  // runs ahead of the burst, at its time
    ps sent = never;
    bool taken = false;     // taken in the call, with END_REQ
    bool in_call = false;   // answered in the call
    ps free_again = never;  // the time of END_REQ
    ps answered = never;
    [[nodiscard]] bool ok() const { return get_response_status() == tlm::TLM_OK_RESPONSE; }
    [[nodiscard]] bool done() const { return answered != never; }
    [[nodiscard]] std::uint64_t word() const {
      std::uint64_t v = 0;
      std::memcpy(&v, data.data(), std::min(sizeof v, data.size()));
      return v;
    }
    void fill(std::byte value) { std::fill(data.begin(), data.end(), value); }
    void fill(const void* from, std::size_t bytes) { std::memcpy(data.data(), from, bytes); }
  };
  std::deque<burst> bursts;

  explicit burst_source(const sc_core::sc_module_name& n) : unit(n) {
    out.register_nb_transport_bw(this, &burst_source::backward);
  }
  ~burst_source() override {
    for (burst& b : bursts) b.clear_extension(&b.extension);
  }
  burst& send(bool write, std::uint64_t address, ps at, std::size_t bytes, bool relaxed = false) {
    burst& b = make(write, address, bytes);
    b.extension.relaxed_ordering = relaxed;
    queue_.at(at, {[](void* x) { static_cast<burst*>(x)->self->go(*static_cast<burst*>(x), now()); }, &b});
    return b;
  }
  // Sends in the caller's activation, with an annotated delay.
  burst& send_ahead(bool write, std::uint64_t address, ps delay, std::size_t bytes) {
    burst& b = make(write, address, bytes);
    go(b, now() + delay);
    return b;
  }

  // Returns whether each burst that was sent was answered in the call.
  [[nodiscard]] bool all_in_call() const {
    return std::all_of(bursts.begin(), bursts.end(), [](const burst& b) { return b.in_call || b.sent == never; });
  }

 protected:
  // Sees each answer, also one in the call.
  virtual void on_answer(burst& /*answered*/) {}

 private:
  burst& make(bool write, std::uint64_t address, std::size_t bytes) {
    burst& b = bursts.emplace_back();
    b.self = this;
    b.data.resize(std::max<std::size_t>(bytes, 1));
    b.sent_to = address;
    b.set_mm(this);
    b.acquire();
    b.set_extension(&b.extension);
    set_access(b, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, b.data.data(), bytes);
    return b;
  }
  void go(burst& b, ps at) {
    if (b.before) b.before();
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = to_delay(at);
    b.sent = at;
    const tlm::tlm_sync_enum status = out->nb_transport_fw(b, phase, delay);
    b.taken = status == tlm::TLM_UPDATED && phase == tlm::END_REQ;
    b.in_call = status == tlm::TLM_COMPLETED;
    if (b.taken) b.free_again = from_delay(delay);
    if (b.in_call) note(b, from_delay(delay));
  }
  void note(burst& b, ps at) {
    b.answered = at;
    on_answer(b);
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase == tlm::BEGIN_RESP) note(static_cast<burst&>(p), from_delay(delay));
    return tlm::TLM_COMPLETED;
  }
  void free(tlm::tlm_generic_payload*) override {}
};

}  // namespace hcasim::testing
