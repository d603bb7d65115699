// Writes every packet that an adapter's port sends into a pcapng file, with simulated time in nanoseconds: as native InfiniBand
// (ERF records, link type 197, ERF type 21) or as RoCEv2 (Ethernet, IPv4, UDP port 4791).
//
// InfiniBand: the bytes of the simulation, LRH to ICRC, and a VCRC, which the simulation only counts. RoCEv2: the same packet
// from the BTH on, behind Ethernet, IPv4 and UDP headers made of the LIDs (MAC 02:00:00:00:hi:lo, 10.0.hi.lo) or of the GID of
// a multicast group, with the ICRC of that form. Written at the end is what is dropped nowhere: a packet that the fabric loses
// on purpose is in the file.
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

// The whole frame as a capture shows it; `p` has its headers encoded.
std::vector<std::uint8_t> infiniband_record(const packet& p, ps t);
std::vector<std::uint8_t> roce_frame(const packet& p);

class packet_recorder : public sc_core::sc_module {
 public:
  // Throws input_error when the file cannot be written.
  packet_recorder(const std::filesystem::path& file, packet_form form, const std::string& version);
  ~packet_recorder() override;

  // Writes what is left.
  void finish();
  [[nodiscard]] std::uint64_t packets() const { return written_; }

 private:
  class tap;
  struct captured {
    ps at;
    std::uint32_t port;
    std::vector<std::uint8_t> bytes;
  };

  void end_of_elaboration() override;
  void take(const packet& p, std::uint32_t port, ps t);
  // Ports run ahead of the kernel: only what is before its time is in order.
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
