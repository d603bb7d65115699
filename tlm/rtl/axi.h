// Memory that is RTL behind AXI4 or AXI-Lite, as a TLM-2.0 target: any initiator of the base protocol can be bound
// (tlm/pcie.h).
//
// PINS of hca_add_rtl (fields of a bundle lowest first; what is constant, such as awprot, goes to straps and stays 0):
//   AXI4      in aw data=id,addr,len,size,burst   in w data=data,strb,last   out b data=id,resp
//             in ar data=id,addr,len,size,burst   out r data=id,data,resp,last        (without ids: leave them out)
//   AXI-Lite  in aw data=addr   in w data=data,strb   out b data=resp   in ar data=addr   out r data=data,resp
//
// An access becomes bursts of full beats (INCR) that do not cross 4 KiB; ids are used in turn, so that answers may overtake
// each other. AXI orders nothing between them: an access waits for those before it that touch the same bytes when one of the
// two writes. Byte enables become strobes. SLVERR: TLM_GENERIC_ERROR_RESPONSE, DECERR: TLM_ADDRESS_ERROR_RESPONSE.
//
// On top of the handshake, violations: an answer to nothing, `last` on the wrong beat, a write answered before its last beat
// was taken, EXOKAY. Debug transport has no way into the RTL: it moves nothing.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <deque>
#include <vector>

#include "tlm/base/pool.h"
#include "tlm/rtl/shell.h"

namespace hcasim::rtl {

struct axi_config {
  bool lite = false;
  unsigned address_bits = 32;   // 1..64; what lies beyond is TLM_ADDRESS_ERROR_RESPONSE
  unsigned data_bits = 64;      // 8..1024, a power of two
  unsigned id_bits = 0;         // AXI4: 0..8; 0: no ids, everything in order
  unsigned longest_burst = 16;  // AXI4: beats, 1..256
};
// AWBURST and ARBURST.
enum class axi_kind : std::uint8_t { fixed, incrementing, wrapping, reserved };
// No burst crosses this many bytes.
inline constexpr std::uint64_t axi_boundary = 4096;
// Throws std::invalid_argument that names the member that is out of range.
const axi_config& checked(const axi_config& c);
// Bits of AW and of AR.
unsigned address_width(const axi_config& c);

class axi_memory : public shell {
 public:
  tlm_utils::simple_target_socket<axi_memory, 64> memory{"memory"};

  // Throws std::invalid_argument that names the design and the bundle, or the member of `config` that is out of range.
  axi_memory(const sc_core::sc_module_name& name, const axi_config& config, const clock_domain& clock, design_factory make,
             const shell_options& options = {});

  [[nodiscard]] std::uint64_t bursts() const { return bursts_; }

 private:
  struct access {
    tlm::tlm_generic_payload* payload = nullptr;
    std::uint64_t first = 0;  // bytes [first, last]
    std::uint64_t last = 0;
    bool write = false;
    unsigned bursts_left = 0;
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  };
  struct burst {
    access* of = nullptr;
    std::uint64_t address = 0;  // of the first beat, aligned
    unsigned beats = 0;
    unsigned moved = 0;
  };

  tlm::tlm_sync_enum begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void start_waiting(ps t);
  void start(access& a, ps t);
  void push_address(stream& s, unsigned id, const burst& b, ps t);
  void push_data(burst& b, ps t);
  void taken_data(ps t);
  void written(const payload& p, ps t);
  void read(const payload& p, ps t);
  void note(access& a, unsigned response, const stream& s);
  void finish(burst& b, ps t);
  [[nodiscard]] unsigned beat_bytes() const { return config_.data_bits / 8; }

  const axi_config config_;
  stream& aw_;
  stream& w_;
  stream& b_;
  stream& ar_;
  stream& r_;

  pool<access> accesses_;
  pool<burst> burst_pool_;
  std::deque<access*> waiting_;  // in the order they came
  std::vector<access*> active_;
  std::deque<burst*> sending_;               // writes whose beats have not all been taken
  std::vector<std::deque<burst*>> writing_;  // by id
  std::vector<std::deque<burst*>> reading_;
  unsigned next_id_ = 0;
  ps newest_{0};  // bursts go out in the order they were asked for
  std::uint64_t bursts_ = 0;
};

}  // namespace hcasim::rtl
