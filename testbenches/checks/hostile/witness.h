// The record of rights. Bytes that DMA is asked to place in guarded memory, and answers that leave, are held against the
// packets that have come: one of them must have caused it, and been allowed to - by its QP, whose peer it came from, and by its
// key. The content of a packet is read here from the wire; the adapter is asked nothing.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "testbenches/checks/hostile/key_ledger.h"
#include "testbenches/checks/hostile/prey.h"
#include "testbenches/checks/hostile/shadow.h"
#include "testbenches/kit/tap.h"

namespace hcasim::kit {

// Returns the opcode of the response to a READ that has `count` of them.
inline std::uint8_t read_response(std::uint32_t index, std::uint32_t count) {
  if (count == 1) return wire::read_only;
  return index == 0 ? wire::read_first : index + 1 == count ? wire::read_last : wire::read_middle;
}

class witness {
 public:
  static constexpr std::uint16_t lid = 0x5aa5;  // of the hostile peer: many bits from those of the others
  static constexpr std::uint32_t qkey = 0x11111111;
  static constexpr std::uint32_t mtu = 1024;

  // `frames`: the pages of what is guarded.
  witness(hcasim::system& s, const shadow& memory, const virtual_memory& frames);

  std::vector<prey> preys;
  std::deque<shared_receives> srqs;  // those that there are, and the last ones that there were
  key_ledger keys;

  [[nodiscard]] std::uint64_t bytes_shown() const { return shown_; }
  [[nodiscard]] std::uint64_t wrongly_shown() const { return wrongly_shown_; }
  // Bytes, so far: of some more it is not known yet whether a key allowed it.
  [[nodiscard]] std::uint64_t seen() const { return wrongly_shown_ + misused_; }
  [[nodiscard]] std::uint64_t misused() const { return misused_ + keys.misused(); }
  // The first of these.
  [[nodiscard]] std::string violation() const;
  // Its software is told that a peer has invalidated a key.
  void invalidated(std::uint32_t qpn, std::uint32_t key);

 private:
  using arrival = prey::arrival;
  void came(const packet& p);
  void answered(const packet& p);
  void asked(const packet& p);
  void moved(const dma_request& r);
  void placed(const dma_request& r, std::uint64_t va);

  prey* peer_of(const packet_header& h);
  [[nodiscard]] bool for_victim(const packet& p) const;
  [[nodiscard]] bool admitted(const prey& q, const arrival& a, unsigned access) const;
  [[nodiscard]] bool reaches(const prey& q, const arrival& a) const;
  [[nodiscard]] bool received(const prey& q, const arrival& a, const dma_request& r, std::uint64_t va) const;
  [[nodiscard]] bool responds(const prey& q, const arrival& a, const dma_request& r, std::uint64_t va) const;
  // A READ or an atomic that may have been answered so, and what this answer shows of it.
  struct cause {
    arrival* by;
    std::uint32_t index;  // of the response
    prey::place what;
  };
  std::vector<cause> causes(prey& q, const packet& p);
  void shows(prey& q, const packet& p);
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
