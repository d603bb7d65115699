// An AXI4 or AXI-Lite slave that is RTL, as a TLM-2.0 target: any initiator of the base protocol can be bound (tlm/pcie.h).
//
// An access becomes INCR bursts of full beats that do not cross 4 KiB; ids are used in turn, so that answers may overtake each
// other, and the beats of reads may come interleaved. AXI orders nothing between them: an access waits for those before it that
// touch the same bytes when one of the two writes. Byte enables become strobes. An access with a streaming width becomes FIXED
// bursts of beats of so many bytes. axi_extension asks for WRAP bursts, narrow beats and attributes, which RTL that has no
// signals for them does not see, and for exclusive accesses.
//
// SLVERR: TLM_GENERIC_ERROR_RESPONSE, DECERR: TLM_ADDRESS_ERROR_RESPONSE. Not tried: FIXED bursts without AxBURST and such that
// AXI has not (TLM_BURST_ERROR_RESPONSE); parts of beats without WSTRB (TLM_BYTE_ENABLE_ERROR_RESPONSE); exclusive accesses
// without AxLOCK, and what there are no channels for (TLM_COMMAND_ERROR_RESPONSE).
//
// On top of the handshake, violations: an answer to nothing, `last` on the wrong beat, a write answered before its last beat
// was taken, EXOKAY where nothing was exclusive. Debug transport has no way into the RTL: it moves nothing.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <deque>
#include <string>
#include <vector>

#include "tlm/base/pool.h"
#include "tlm/rtl/axi/axi.h"
#include "tlm/rtl/endpoint.h"

namespace hcasim::rtl {

struct axi_memory_options {
  unsigned longest_burst = 16;  // beats, 1..256
  std::string endpoint{};       // its name in PINS; empty = that of the module
};

class axi_memory : public sc_core::sc_module, public endpoint {
 public:
  tlm_utils::simple_target_socket<axi_memory, 64> memory{"memory"};

  // Throws std::invalid_argument that names the design, the endpoint and what is wrong.
  axi_memory(const sc_core::sc_module_name& name, shell& of, const axi_memory_options& options = {});

  [[nodiscard]] std::uint64_t bursts() const { return bursts_; }
  void was_reset(ps t, std::vector<lost>& losses) override;

 private:
  struct access {
    tlm::tlm_generic_payload* payload = nullptr;
    axi_extension* asks = nullptr;
    std::uint64_t first = 0;  // bytes [first, last], those of a FIXED burst once
    std::uint64_t last = 0;
    bool write = false;
    axi_kind kind = axi_kind::incrementing;
    unsigned size = 0;        // bytes of a beat
    std::uint64_t items = 1;  // beats of FIXED bursts
    unsigned bursts_left = 0;
    bool exclusive_done = true;
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  };
  struct burst {
    access* of = nullptr;
    std::uint64_t address = 0;  // of the first beat, aligned
    std::uint64_t item = 0;     // FIXED: the number of the first beat
    unsigned beats = 0;
    unsigned moved = 0;
  };
  struct beat_bytes {
    std::uint64_t at;     // address of the first byte of the beat, aligned
    std::uint64_t place;  // of byte `of.first` in the payload, for this beat
  };

  tlm::tlm_sync_enum begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  // OK: it can be asked for.
  [[nodiscard]] tlm::tlm_response_status understand(access& a) const;
  [[nodiscard]] tlm::tlm_response_status understand_exclusive(const access& a) const;
  void start_waiting(ps t);
  void start(access& a, ps t);
  void start_burst(access& a, std::uint64_t address, std::uint64_t item, std::uint64_t beats, ps t);
  void push_address(unsigned id, const burst& b, ps t);
  void push_data(burst& b, unsigned id, ps t);
  [[nodiscard]] static beat_bytes beat(const burst& b, unsigned n);
  void written(const payload& p, ps t);
  void came(const payload& p, ps t);
  void note(access& a, unsigned response, const stream& s);
  void finish(burst& b, ps t);
  void answer(access& a, ps t);

  const axi_memory_options options_;
  stream *aw_, *w_, *b_, *ar_, *r_;
  const axi_address_fields awf_, arf_;
  field w_data_, w_strb_, w_last_, w_id_, b_id_, b_resp_, r_id_, r_data_, r_resp_, r_last_;
  unsigned bus_ = 0;  // bytes

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
