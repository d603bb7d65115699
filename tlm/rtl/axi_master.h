// RTL that masters an AXI4 or AXI-Lite bus, as a TLM-2.0 initiator: its bursts go to whatever memory is bound (tlm/pcie.h).
//
// PINS of hca_add_rtl (fields of a bundle lowest first, as in tlm/rtl/axi.h, with the directions of a master):
//   AXI4      out aw data=id,addr,len,size,burst   out w data=data,strb,last   in b data=id,resp
//             out ar data=id,addr,len,size,burst   in r data=id,data,resp,last        (without ids: leave them out)
//   AXI-Lite  out aw data=addr   out w data=data,strb   in b data=resp   out ar data=addr   in r data=data,resp
//
// A burst becomes one access of the base protocol, a write with strobes left out one for each run of bytes that has them: host
// memory and PCIe take no byte enables. A WRAP burst is one access of the bytes that it wraps in, a FIXED one an access for
// each beat, in their order. Beats may be narrower than the bus. A write goes when its last beat has come, which may be before
// its address. Answers of one id keep the order of their bursts, those of others may overtake; the beats of a read are not
// interleaved. TLM_ADDRESS_ERROR_RESPONSE: DECERR, any other error: SLVERR.
//
// On top of the handshake, violations: a burst that crosses 4 KiB, is longer or wider than there is, or of a kind that is
// reserved; a FIXED one of more than 16 beats; a WRAP one that is unaligned or not of 2, 4, 8 or 16 beats; `last` on the wrong
// beat; a strobe outside the beat.
//
// The clock runs from the start until nothing has moved for a while (a design with an idle pin: until it says so) and again
// when an answer or a stream of a derived shell comes.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <deque>
#include <string>
#include <vector>

#include "tlm/base/pool.h"
#include "tlm/rtl/axi.h"

namespace hcasim::rtl {

class axi_master : public shell {
 public:
  tlm_utils::simple_initiator_socket<axi_master, 64> memory{"memory"};

  // Throws std::invalid_argument that names the design and the bundle, or the member of `config` that is out of range.
  axi_master(const sc_core::sc_module_name& name, const axi_config& config, const clock_domain& clock, design_factory make,
             const shell_options& options = {});

  void start_of_simulation() override { run(); }
  [[nodiscard]] std::uint64_t bursts() const { return bursts_; }

 private:
  struct burst {
    bool write = false;
    unsigned id = 0;
    std::uint64_t address = 0;
    unsigned beats = 0;
    unsigned size = 0;  // bytes of a beat
    axi_kind kind = axi_kind::incrementing;
    unsigned moved = 0;  // beats of a write that have come
    unsigned left = 0;   // accesses that have not been answered
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
    std::vector<unsigned char> bytes;
    std::vector<bool> strobes;  // of a write
  };
  struct access : tlm::tlm_generic_payload {
    burst* of = nullptr;
  };

  void address(const payload& p, bool write, ps t);
  void take_beats(ps t);
  [[nodiscard]] bool take_beat(burst& b, const payload& p);
  void send(burst& b, ps t);
  void send_part(burst& b, std::size_t first, std::size_t n, std::uint64_t to, ps t);
  void send(burst& b, std::size_t first, std::size_t n, std::uint64_t to, ps t);
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void answer_in_order(std::deque<burst*>& of_id, ps t);
  void answer(burst& b, ps t);
  [[nodiscard]] unsigned bus_bytes() const { return config_.data_bits / 8; }
  // Where beat `n` begins, and where it lies in `bytes`; the first one may be unaligned.
  [[nodiscard]] static std::uint64_t beat_at(const burst& b, unsigned n);
  [[nodiscard]] static std::uint64_t place_of(const burst& b, unsigned n);
  // The lowest byte of a burst that wraps.
  [[nodiscard]] static std::uint64_t wrap_base(const burst& b) {
    return b.address / (std::uint64_t{b.beats} * b.size) * b.beats * b.size;
  }
  // Why AXI has no such burst; empty: it has.
  [[nodiscard]] std::string refusal(const burst& b) const;

  const axi_config config_;
  stream& b_;
  stream& r_;
  stream& aw_;
  stream& w_;
  stream& ar_;

  pool<burst> pool_;
  pool<access> accesses_;
  std::deque<payload> beats_;                // that have come before their address
  std::deque<burst*> collecting_;            // writes, in the order of their addresses
  std::vector<std::deque<burst*>> writing_;  // by id
  std::vector<std::deque<burst*>> reading_;
  ps newest_{0};
  std::uint64_t bursts_ = 0;
};

}  // namespace hcasim::rtl
