// For tests: memory behind a link of constant latency, TLM-2.0 base protocol. Bytes are read and written when they get there,
// in the order of the requests.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "tlm/base/unit.h"
#include "tlm/pcie.h"

namespace hcasim::testing {

class fake_pcie : public unit {
 public:
  enum class style { end_request, accept, complete };  // how BEGIN_REQ is answered

  tlm_utils::simple_target_socket<fake_pcie, 64> up{"up"};
  style answers = style::end_request;
  ps latency = 500_ns;               // BEGIN_REQ to BEGIN_RESP
  ps take{0};                        // BEGIN_REQ to END_REQ
  std::uint64_t fails_from = ~0ULL;  // addresses from here on
  std::vector<std::byte> memory = std::vector<std::byte>(1_MiB);

  struct burst {
    bool write;
    std::uint64_t address;
    std::uint32_t bytes;
    ps at;
    std::uint64_t operation;
  };
  std::vector<burst> log;

  explicit fake_pcie(const sc_core::sc_module_name& n) : unit(n) { up.register_nb_transport_fw(this, &fake_pcie::forward); }

  [[nodiscard]] std::uint64_t word(std::uint64_t address) const {
    std::uint64_t v = 0;
    std::memcpy(&v, &memory[address], sizeof v);
    return v;
  }
  void set_word(std::uint64_t address, std::uint64_t v) { std::memcpy(&memory[address], &v, sizeof v); }

 private:
  struct job {
    fake_pcie* self;
    tlm::tlm_generic_payload* gp;
    tlm::tlm_phase phase;
  };

  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& gp, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    const ps t = from_delay(delay);
    const auto* const extension = gp.get_extension<pcie_extension>();
    log.push_back({gp.is_write(), gp.get_address(), gp.get_data_length(), t, extension ? extension->operation : 0});
    if (answers == style::complete) {
      access(gp);
      delay += to_sc(latency);
      return tlm::TLM_COMPLETED;
    }
    later(gp, t + latency, tlm::BEGIN_RESP);
    if (answers == style::accept) {
      later(gp, t + take, tlm::END_REQ);
      return tlm::TLM_ACCEPTED;
    }
    phase = tlm::END_REQ;
    delay += to_sc(take);
    return tlm::TLM_UPDATED;
  }

  void later(tlm::tlm_generic_payload& gp, ps when, tlm::tlm_phase phase) {
    gp.acquire();
    jobs_.push_back({this, &gp, phase});
    queue_.at(when, {[](void* p) {
                       auto& j = *static_cast<job*>(p);
                       sc_core::sc_time delay = to_delay(now());
                       if (j.phase == tlm::BEGIN_RESP) j.self->access(*j.gp);
                       j.self->up->nb_transport_bw(*j.gp, j.phase, delay);
                       j.gp->release();
                     },
                     &jobs_.back()});
  }

  void access(tlm::tlm_generic_payload& gp) {
    const std::uint64_t a = gp.get_address();
    if (a >= fails_from || a + gp.get_data_length() > memory.size()) {
      gp.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    auto* const data = reinterpret_cast<std::byte*>(gp.get_data_ptr());
    if (gp.is_write()) {
      std::memcpy(&memory[a], data, gp.get_data_length());
    } else {
      std::memcpy(data, &memory[a], gp.get_data_length());
    }
    gp.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  std::deque<job> jobs_;
};

}  // namespace hcasim::testing
