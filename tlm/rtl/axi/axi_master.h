// RTL that masters an AXI4 or AXI-Lite bus, as a TLM-2.0 initiator: its bursts go to whatever memory is bound (tlm/pcie.h).
//
// A burst becomes one access of the base protocol, a write with strobes left out one for each run of bytes that has them: host
// memory and PCIe take no byte enables. A WRAP burst is one access of the bytes that it wraps in, a FIXED one an access for
// each beat, in their order. Beats may be narrower than the bus. A write goes when its last beat has come, which may be before
// its address. Answers of one id keep the order of their bursts, those of others may overtake; on demand the beats of reads of
// different ids come interleaved. TLM_ADDRESS_ERROR_RESPONSE: DECERR, any other error: SLVERR.
//
// Each access carries an axi_extension with the attributes of its burst. An exclusive access is answered EXOKAY if its target
// says so there (tlm/rtl/axi/axi_monitor.h); an exclusive write is one access, with byte enables if it has strobes left out.
//
// On top of the handshake, violations: a burst that crosses 4 KiB, is wider than the bus, longer than is allowed or of a kind
// that is reserved; a FIXED one of more than 16 beats; a WRAP one that is unaligned or not of 2, 4, 8 or 16 beats; an exclusive
// one that is not aligned to its size, a power of two up to 128 bytes; `last` on the wrong beat; a strobe outside the beat.
//
// The clock runs from the start until nothing has moved for a while (a design with an idle pin: until it says so) and again
// when an answer or another stream of its shell comes.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tlm/base/pool.h"
#include "tlm/base/random.h"
#include "tlm/pcie.h"
#include "tlm/rtl/axi/axi.h"
#include "tlm/rtl/endpoint.h"

namespace hcasim::rtl {

struct axi_master_options {
  unsigned longest_burst = 256;              // beats that the RTL may ask for
  bool interleave = false;                   // beats of reads of different ids, as the seed says
  std::string endpoint{};                    // its name in PINS; empty = that of the module
  std::optional<std::uint16_t> requester{};  // who its bursts come from on PCIe; none = they do not say
};

class axi_master : public sc_core::sc_module, public endpoint {
 public:
  tlm_utils::simple_initiator_socket<axi_master, 64> memory{"memory"};

  // Throws std::invalid_argument that names the design, the endpoint and what is wrong.
  axi_master(const sc_core::sc_module_name& name, shell& of, const axi_master_options& options = {});

  void start_of_simulation() override { run(); }
  [[nodiscard]] std::uint64_t bursts() const { return bursts_; }
  void was_reset(ps t, std::vector<lost>& losses) override;

 private:
  struct burst {
    bool write = false;
    bool gone = false;  // a reset has ended it
    std::uint32_t id = 0;
    std::uint64_t address = 0;
    unsigned beats = 0;
    unsigned size = 0;  // bytes of a beat
    axi_kind kind = axi_kind::incrementing;
    axi_extension asks;
    unsigned moved = 0;  // beats of a write that have come, of a read that have gone back
    unsigned left = 0;   // accesses that have not been answered
    bool exclusive_done = true;
    ps answered_at{0};
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
    std::vector<unsigned char> bytes;
    std::vector<unsigned char> strobes;  // of a write, as byte enables
  };
  struct access : tlm::tlm_generic_payload {
    ~access() override {
      clear_extension(&asks);
      clear_extension(&pcie);
    }
    burst* of = nullptr;
    axi_extension asks;
    pcie_extension pcie;
  };
  struct of_id {
    std::uint32_t id;
    std::deque<burst*> bursts;
  };

  void address(const payload& p, bool write, ps t);
  // Why AXI has no such burst; empty = it has.
  [[nodiscard]] std::string refusal(const burst& b) const;
  void take_beats(ps t);
  [[nodiscard]] bool take_beat(burst& b, const payload& p);
  void send(burst& b, ps t);
  void send_part(burst& b, std::size_t first, std::size_t n, std::uint64_t to, ps t);
  void send(burst& b, std::size_t first, std::size_t n, std::uint64_t to, ps t);
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void answer_in_order(burst& b, ps t);
  void answer_write(const burst& b, ps t);
  void next_beat(ps t);
  [[nodiscard]] std::deque<burst*>& queue_of(std::vector<of_id>& all, std::uint32_t id);
  [[nodiscard]] unsigned response_of(const burst& b) const;
  // Returns where beat `n` begins, and where it lies in `bytes`; the first one may be unaligned.
  [[nodiscard]] static std::uint64_t beat_at(const burst& b, unsigned n);
  [[nodiscard]] static std::uint64_t place_of(const burst& b, unsigned n);
  // The lowest byte of a burst that wraps.
  [[nodiscard]] static std::uint64_t wrap_base(const burst& b) {
    return b.address / (std::uint64_t{b.beats} * b.size) * b.beats * b.size;
  }

  const axi_master_options options_;
  stream *b_, *r_, *aw_, *w_, *ar_;
  const axi_address_fields awf_, arf_;
  field w_data_, w_strb_, w_last_, b_id_, b_resp_, r_id_, r_data_, r_resp_, r_last_;
  unsigned bus_ = 0;  // bytes

  pool<burst> pool_;
  pool<access> accesses_;
  std::deque<payload> beats_;      // that have come before their address
  std::deque<burst*> collecting_;  // writes, in the order of their addresses
  std::vector<of_id> writing_;
  std::vector<of_id> reading_;
  std::deque<burst*> returning_;  // reads whose beats go back
  random_stream choice_;          // which of them is next
  ps newest_{0};
  std::uint64_t bursts_ = 0;
};

}  // namespace hcasim::rtl
