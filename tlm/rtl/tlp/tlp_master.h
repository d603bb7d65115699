// RTL that requests memory by TLPs, as a TLM-2.0 initiator: its reads and writes go to whatever memory is bound (tlm/pcie.h).
//
// A read becomes one access, a write one for each run of bytes that it enables. Each access says the TLP's requester, tag and
// attributes in a pcie_extension. A read that enables nothing is an access of one byte, which like every read comes behind the
// writes before it; a write that enables nothing is none.
//
// Completions of a read go back in the order of their addresses when its access has been answered; each but the last ends at a
// read completion boundary. They are as long as max_payload lets them be, or on demand end at any boundary; on demand, those of
// different tags come mixed. An error has one completion without data: TLM_ADDRESS_ERROR_RESPONSE is an unsupported request,
// any other a completer abort.
//
// On top of those of its streams, violations: a request longer than is allowed, of another requester than there is, of a tag
// whose read has not been completed, with byte enables that are not allowed, across 4 KiB, with a long header below 4 GiB,
// poisoned, or that is no memory request.
//
// The clock runs as that of an axi_master does.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tlm/base/pool.h"
#include "tlm/base/random.h"
#include "tlm/pcie.h"
#include "tlm/rtl/tlp/tlp_stream.h"

namespace hcasim::rtl {

struct tlp_master_options {
  unsigned max_payload = 256;                             // bytes of a write, and of a completion: 128 to 4096, a power of two
  unsigned max_read_request = 512;                        // bytes: 128 to 4096, a power of two
  unsigned completion_boundary = 64;                      // or 128
  bool split_anywhere = false;                            // completions end at any boundary, as the seed says
  bool interleave = false;                                // completions of different tags, as the seed says
  std::vector<std::string> requests{"rd_req", "wr_req"};  // streams in PINS: reads and writes may come on any of them
  std::string completions = "cpl";
  std::optional<std::uint16_t> requester{};  // that TLPs must come from; none = whatever they say
  std::uint16_t completer = 0;
};

class tlp_master : public sc_core::sc_module, public tlp_source {
 public:
  tlm_utils::simple_initiator_socket<tlp_master, 64> memory{"memory"};

  // Throws std::invalid_argument that names the design, the endpoint and what is wrong.
  tlp_master(const sc_core::sc_module_name& name, shell& of, const tlp_master_options& options = {});

  void start_of_simulation() override { run(); }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  void was_reset(ps t, std::vector<lost>& losses) override;

 private:
  struct request {
    tlp_header header;
    bool gone = false;      // a reset has ended it
    unsigned left = 0;      // accesses that have not been answered
    unsigned returned = 0;  // bytes of a read
    ps answered_at{0};
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
    std::vector<unsigned char> bytes;  // of a read from its first byte, of a write from its first word
  };
  struct access : tlm::tlm_generic_payload {
    ~access() override { clear_extension(&pcie); }
    request* of = nullptr;
    pcie_extension pcie;
  };

  void take(const tlp& p, const std::string& stream_name, ps t);
  // Why it may not be here; empty = it may.
  [[nodiscard]] std::string refusal_here(const tlp_header& h) const;
  void read(request& r, ps t);
  void write(request& r, ps t);
  void send(request& r, std::uint64_t to, unsigned char* bytes, std::size_t n, ps t);
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void finish(request& r, ps t);
  void next_completion(ps t);
  void end_read();
  // Bytes of the one that is next.
  [[nodiscard]] unsigned next_bytes(const request& r);

  const tlp_master_options options_;
  std::deque<tlp_sink> requests_of_rtl_;
  pool<request> pool_;
  pool<access> accesses_;
  std::vector<request*> reading_;   // that the memory owes
  std::deque<request*> returning_;  // whose completions go back
  std::size_t completing_ = 0;      // of these, whose completion is on its way
  random_stream choice_;
  ps newest_{0};
  std::uint64_t requests_ = 0;
};

}  // namespace hcasim::rtl
