// RTL that masters an AXI4 or AXI-Lite bus, as a TLM-2.0 initiator: its bursts go to whatever memory is bound (tlm/pcie.h).
//
// A burst becomes one access of the base protocol. A write with gaps in its strobes becomes one access for each run of bytes,
// since host memory and PCIe take no byte enables. A WRAP burst is one access of the bytes in which it wraps, a FIXED one an
// access for each beat, in their order. Beats may be narrower than the bus. A write goes when its last beat has come, which may
// be before its address. Responses of one id keep the order of their bursts, other ids may overtake. On demand the read beats
// of different ids come interleaved. TLM_ADDRESS_ERROR_RESPONSE: DECERR, any other error: SLVERR.
//
// Each access carries an axi_extension with the attributes of its burst. An exclusive access is answered EXOKAY if the target
// says so in the extension (tlm/rtl/axi/axi_monitor.h). An exclusive write is one access, with byte enables if its strobes have
// gaps.
//
// Violations, in addition to broken handshakes:
//   a burst across 4 KiB, wider than the bus, too long, or of a reserved kind
//   FIXED of more than 16 beats; WRAP unaligned or not of 2, 4, 8 or 16 beats
//   exclusive and not aligned to its size, a power of two up to 128 bytes
//   `last` on the wrong beat; a strobe outside the beat
//
// The clock runs from the start until nothing has moved for a while (a design with an idle pin: until the pin is high). A
// response, or another stream of its shell, starts the clock again.
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
  std::optional<std::uint16_t> requester{};  // requester of its bursts on PCIe; none = not given
};

class axi_master : public sc_core::sc_module, public endpoint {
 public:
  tlm_utils::simple_initiator_socket<axi_master, 64> memory{"memory"};

  // Throws std::invalid_argument, which names the design, the endpoint and the fault.
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
    unsigned moved = 0;  // beats: of a write, arrived; of a read, returned
    unsigned left = 0;   // unanswered accesses
    bool exclusive_done = true;
    ps answered_at{0};
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
    std::vector<unsigned char> bytes;
    std::vector<unsigned char> strobes;  // strobes of a write, as byte enables
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
  // Returns why AXI forbids the burst; empty = allowed.
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
  // Returns the lowest byte of a burst that wraps.
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
  std::deque<payload> beats_;      // beats that came before their address
  std::deque<burst*> collecting_;  // writes, in the order of their addresses
  std::vector<of_id> writing_;
  std::vector<of_id> reading_;
  std::deque<burst*> returning_;  // reads with beats on their way back
  random_stream choice_;          // chooses the next of returning_
  ps newest_{0};
  std::uint64_t bursts_ = 0;
};

}  // namespace hcasim::rtl
