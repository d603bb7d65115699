// Memory for requesters by TLPs: 64 KiB from 0 and 64 KiB from 4 GiB. It answers each access after a while, in any order.
#pragma once

#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include <deque>
#include <vector>

#include "tlm/base/random.h"
#include "tlm/base/unit.h"
#include "tlm/pcie.h"
#include "tlm/rtl/testing/clock_400.h"

namespace hcasim::rtl {

class tlp_memory : public unit {
 public:
  static constexpr std::uint64_t half = 1 << 16;
  static constexpr std::uint64_t refused = 0x20000, broken = 0x30000;  // answered with an error

  struct seen {
    bool write;
    std::uint64_t address;
    unsigned bytes;
    std::uint16_t requester, tag;
    bool operator==(const seen&) const = default;
  };

  tlm_utils::simple_target_socket<tlp_memory, 64> in{"in"};
  std::vector<unsigned char> bytes = std::vector<unsigned char>(2 * half);
  std::vector<seen> accesses;

  // `cycles`: the longest time of an answer; 0 = in the call.
  tlp_memory(const sc_core::sc_module_name& n, unsigned cycles, std::uint64_t seed)
      : unit(n), cycles_(cycles), choice_(seed, "memory") {
    in.register_nb_transport_fw(this, &tlp_memory::access);
  }
  [[nodiscard]] static std::uint64_t place_of(std::uint64_t address) { return address % (half << 16) + (address >> 32) * half; }

 private:
  struct job {
    tlp_memory* self;
    tlm::tlm_generic_payload* p;
  };
  tlm::tlm_sync_enum access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    EXPECT_EQ(p.get_byte_enable_ptr(), nullptr) << "host memory and PCIe refuse them";
    const std::uint64_t at = p.get_address();
    const pcie_extension& said = *p.get_extension<pcie_extension>();
    accesses.push_back({p.is_write(), at, p.get_data_length(), said.requester, said.tag});
    if (at == refused || at == broken) {
      p.set_response_status(at == refused ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE);
    } else {
      for (unsigned i = 0; i < p.get_data_length(); ++i) {
        unsigned char& here = bytes.at(place_of(at + i));
        if (p.is_read()) {
          p.get_data_ptr()[i] = here;
        } else {
          here = p.get_data_ptr()[i];
        }
      }
      p.set_response_status(tlm::TLM_OK_RESPONSE);
    }
    if (cycles_ == 0) return tlm::TLM_COMPLETED;
    jobs_.push_back({this, &p});
    queue_.at(now() + clock_400.cycles(static_cast<double>(1 + choice_.below(cycles_))),
              {[](void* context) {
                 const job& j = *static_cast<job*>(context);
                 tlm::tlm_phase respond = tlm::BEGIN_RESP;
                 sc_core::sc_time none;
                 j.self->in->nb_transport_bw(*j.p, respond, none);
               },
               &jobs_.back()});
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  const unsigned cycles_;
  random_stream choice_;
  std::deque<job> jobs_;
};

}  // namespace hcasim::rtl
