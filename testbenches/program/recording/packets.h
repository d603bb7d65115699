// Writes every packet sent by an adapter's port into a pcapng file, with simulated time in nanoseconds. Forms: native
// InfiniBand (ERF records, link type 197, ERF type 21) or RoCEv2 (Ethernet, IPv4, UDP port 4791).
//
// InfiniBand: the bytes of the simulation, LRH to ICRC, and a VCRC, which the simulation only counts. RoCEv2: the same packet
// from the BTH on, behind Ethernet, IPv4 and UDP headers, with the ICRC of this form. The headers come from the LIDs (MAC
// 02:00:00:00:hi:lo, 10.0.hi.lo) or the GID of a multicast group. A packet of an operation (tlm/operation.h) has the number as
// its comment: "operation 3.17". The file also holds packets that the fabric loses on purpose.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tlm/base/kernel.h"
#include "tlm/packet.h"

namespace hcasim {

enum class packet_form : std::uint8_t { infiniband, roce };

// Returns the whole frame as in a capture; `p` has its headers encoded.
std::vector<std::uint8_t> infiniband_record(const packet& p, ps t);
std::vector<std::uint8_t> roce_frame(const packet& p);

class packet_recorder : public sc_core::sc_module {
 public:
  // Throws input_error when the file cannot be written.
  packet_recorder(const std::filesystem::path& file, packet_form form, const std::string& version);
  ~packet_recorder() override;

  // Writes the remaining packets.
  void finish();
  [[nodiscard]] std::uint64_t packets() const { return written_; }

 private:
  class tap;
  struct captured {
    ps at;
    std::uint32_t port;
    std::uint64_t operation;  // 0 = none
    std::vector<std::uint8_t> bytes;
  };

  void end_of_elaboration() override;
  void take(const packet& p, std::uint32_t port, ps t);
  // Writes packets before `until`: ports run ahead of the kernel, so only these are in order.
  void flush(ps until);
  void block(std::uint32_t type, std::span<const std::uint8_t> body);

  std::FILE* file_;
  std::string path_;
  packet_form form_;
  std::vector<std::shared_ptr<tap>> taps_;
  std::vector<captured> pending_;
  std::uint64_t written_ = 0;
  int error_ = 0;  // the errno of the first write that failed
};

}  // namespace hcasim
