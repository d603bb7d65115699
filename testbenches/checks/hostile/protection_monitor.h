// The record of rights. Bytes placed by DMA in guarded memory, and leaving responses, are compared with the packets that have
// come. One packet must be the cause, with the right of its QP, whose peer sent it, and of its key. The content of a packet is
// read here from the wire, without asking the adapter.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "testbenches/checks/hostile/key_ledger.h"
#include "testbenches/checks/hostile/shadow.h"
#include "testbenches/checks/hostile/target_qp.h"
#include "testbenches/kit/tap.h"

namespace hcasim::kit {

// Returns the opcode of the response to a READ that has `count` of them.
inline std::uint8_t read_response(std::uint32_t index, std::uint32_t count) {
  if (count == 1) return wire::read_only;
  return index == 0 ? wire::read_first : index + 1 == count ? wire::read_last : wire::read_middle;
}

class protection_monitor {
 public:
  static constexpr std::uint16_t lid = 0x5aa5;  // LID of the hostile peer, many bits different from other LIDs
  static constexpr std::uint32_t qkey = 0x11111111;
  static constexpr std::uint32_t mtu = 1024;

  // `frames`: the pages of guarded memory.
  protection_monitor(hcasim::system& s, const shadow& memory, const virtual_memory& frames);

  std::vector<target_qp> target_qps;
  std::deque<shared_receives> srqs;  // the existing ones, and the last destroyed ones
  key_ledger keys;

  [[nodiscard]] std::uint64_t bytes_shown() const { return shown_; }
  [[nodiscard]] std::uint64_t wrongly_shown() const { return wrongly_shown_; }
  // Returns the bytes of violations so far; keys may still add some, while it is unknown whether a key allowed them.
  [[nodiscard]] std::uint64_t seen() const { return wrongly_shown_ + misused_; }
  [[nodiscard]] std::uint64_t misused() const { return misused_ + keys.misused(); }
  // Returns the first violation.
  [[nodiscard]] std::string violation() const;
  // Reports that software was told of a key's invalidation by a peer.
  void invalidated(std::uint32_t qpn, std::uint32_t key);

 private:
  using arrival = target_qp::arrival;
  void came(const packet& p);
  void answered(const packet& p);
  void asked(const packet& p);
  void moved(const dma_request& r);
  void placed(const dma_request& r, std::uint64_t va);
  [[nodiscard]] bool placed_without_key(const target_qp& q, const arrival& a, const dma_request& r, std::uint64_t va) const;
  void add_atomic(std::vector<key_ledger::use>& uses, const target_qp& q, const arrival& a, std::uint64_t va) const;
  void add_writes(std::vector<key_ledger::use>& uses, const target_qp& q, const arrival& a, const dma_request& r,
                  std::uint64_t va) const;

  target_qp* peer_of(const packet_header& h);
  [[nodiscard]] bool for_victim(const packet& p) const;
  [[nodiscard]] bool admitted(const target_qp& q, const arrival& a, unsigned access) const;
  [[nodiscard]] bool reaches(const target_qp& q, const arrival& a) const;
  [[nodiscard]] bool received(const target_qp& q, const arrival& a, const dma_request& r, std::uint64_t va) const;
  [[nodiscard]] bool responds(const target_qp& q, const arrival& a, const dma_request& r, std::uint64_t va) const;
  // A READ or an atomic as the possible cause of a response, and the part shown by this response.
  struct cause {
    arrival* by;
    std::uint32_t index;  // index of the response
    target_qp::place what;
  };
  std::vector<cause> causes(target_qp& q, const packet& p);
  void shows(target_qp& q, const packet& p);
  void note(bool ok, std::uint64_t& count, std::uint64_t bytes, const char* what);

  const shadow& memory_;
  const std::uint16_t victim_;
  const hca_gid gid_;
  const hca_gid peer_gid_ = hca_port_gid(lid);
  std::unordered_map<std::uint64_t, std::uint64_t> frames_;  // physical page -> VA
  tap<packet> requests_, responses_, answers_, asked_;
  tap<dma_request> responder_, requester_;
  std::uint64_t shown_ = 0;
  std::uint64_t wrongly_shown_ = 0;
  std::uint64_t misused_ = 0;
  std::string violation_;
};

}  // namespace hcasim::kit
