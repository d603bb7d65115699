// RTL that completes memory requests by TLPs, registers or memory in a BAR, as a TLM-2.0 target: any initiator of the base
// protocol can be bound (tlm/pcie.h).
//
// An access becomes memory requests, none of which crosses a multiple of its limit. A write is posted: it is answered when the
// RTL has taken the last beat of its TLPs. A read is answered with its last completion; tags are used in turn, so that reads
// may overtake each other. Requests go out in the order they came, but a write does not wait for a read that waits for a tag
// [PCIe base specification, 2.4.1].
//
// Unsupported request: TLM_ADDRESS_ERROR_RESPONSE; completer abort and poisoned data: TLM_GENERIC_ERROR_RESPONSE. Not tried:
// byte enables (TLM_BYTE_ENABLE_ERROR_RESPONSE) and a streaming width (TLM_BURST_ERROR_RESPONSE).
//
// On top of those of its streams, violations: a completion of no read, of another completer or requester, with other attributes
// than its read, with a byte count or lower address that are not those of the bytes that are to come, longer than is allowed or
// than its bytes, or one that ends before the last of them and not at a read completion boundary.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tlm/base/pool.h"
#include "tlm/rtl/tlp/tlp_stream.h"

namespace hcasim::rtl {

struct tlp_completer_options {
  unsigned max_payload = 256;         // bytes of a write, and of a completion: 128 to 4096, a power of two
  unsigned max_read_request = 512;    // bytes: 128 to 4096, a power of two
  unsigned completion_boundary = 64;  // or 128
  unsigned tags = 32;                 // reads under way: 1 to 256
  std::string requests = "rx_req";    // streams in PINS
  std::string completions = "tx_cpl";
  std::uint16_t requester = 0;
  std::optional<std::uint16_t> completer{};  // that completions must come from; none = whatever they say
  std::uint64_t base = 0;                    // of the BAR: requests are for this and the address of the access
  unsigned bar_id = 0;
};

class tlp_completer : public sc_core::sc_module, public tlp_source {
 public:
  tlm_utils::simple_target_socket<tlp_completer, 64> memory{"memory"};

  // Throws std::invalid_argument that names the design, the endpoint and what is wrong.
  tlp_completer(const sc_core::sc_module_name& name, shell& of, const tlp_completer_options& options = {});

  [[nodiscard]] std::uint64_t reads() const { return reads_; }  // memory requests
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }  // reads that the RTL refused
  void was_reset(ps t, std::vector<lost>& losses) override;

 private:
  struct access {
    tlm::tlm_generic_payload* payload = nullptr;
    unsigned left = 0;  // requests that are not over
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  };
  struct request {
    access* of = nullptr;
    tlp_header header;
    std::uint64_t first = 0;  // byte
    unsigned bytes = 0;
    unsigned place = 0;     // of its first byte in the access
    unsigned returned = 0;  // bytes of a read
  };

  tlm::tlm_sync_enum begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void write(const request& r, ps t);
  void start_reads(ps t);
  [[nodiscard]] std::optional<unsigned> free_tag() const;
  void sent(ps t);
  void came(const tlp& p, ps t);
  // Why it may not be here; empty = it may.
  [[nodiscard]] std::string refusal_here(const tlp_header& h) const;
  static unsigned bytes_of(const tlp_header& completion, const request& r);
  void end_read(unsigned tag, ps t);
  void end_request(access& a, ps t);
  void answer(access& a, ps t);

  const tlp_completer_options options_;
  const tlp_aside aside_;
  tlp_sink completions_;
  pool<access> accesses_;
  pool<request> requests_;
  std::vector<access*> active_;    // in the order they came
  std::deque<access*> sending_;    // TLPs that have not been taken: whose write it is, null of a read
  std::deque<request*> waiting_;   // reads without a tag
  std::vector<request*> reading_;  // by tag
  unsigned next_tag_ = 0;
  ps newest_{0};
  std::uint64_t reads_ = 0, writes_ = 0, errors_ = 0;
};

}  // namespace hcasim::rtl
