// Who was allowed to do what. Bytes that DMA is asked to place in what is guarded, and answers that leave, are held against the
// packets that have come: one of them must have caused it, and been allowed to - by its QP, whose peer it came from, and by
// its key. What a packet says is what is read here from the wire; the adapter is asked nothing.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "testbenches/hostile/key_ledger.h"
#include "testbenches/hostile/prey.h"
#include "testbenches/hostile/shadow.h"
#include "testbenches/kit/tap.h"

namespace hcasim::kit {

class witness {
 public:
  static constexpr std::uint16_t lid = 0x5aa5;  // of the hostile peer: many bits from those of the others
  static constexpr std::uint32_t qkey = 0x11111111;
  static constexpr std::uint32_t mtu = 1024;

  // `frames`: the pages of what is guarded.
  witness(hcasim::system& s, const shadow& memory, const virtual_memory& frames);

  std::vector<prey> preys;
  key_ledger keys;

  [[nodiscard]] std::uint64_t bytes_shown() const { return shown_; }
  [[nodiscard]] std::uint64_t wrongly_shown() const { return wrongly_shown_; }
  // Bytes, so far: of some more it is not known yet whether a key allowed it.
  [[nodiscard]] std::uint64_t seen() const { return wrongly_shown_ + misused_; }
  [[nodiscard]] std::uint64_t misused() const { return misused_ + keys.misused(); }
  // The first of these.
  [[nodiscard]] std::string violation() const;

 private:
  using arrival = prey::arrival;
  void came(const packet& p);
  void answered(const packet& p);
  void asked(const packet& p);
  void moved(const dma_request& r);
  void placed(const dma_request& r, std::uint64_t va);

  prey* peer_of(const packet_header& h);
  [[nodiscard]] bool admitted(const prey& q, const arrival& a, unsigned access) const;
  [[nodiscard]] bool responds(const prey& q, const arrival& a, const dma_request& r, std::uint64_t va) const;
  // READs and atomics that may have been answered so, each with the place of the bytes that this answer shows.
  std::vector<prey::place> causes(prey& q, const packet& p, std::vector<key_ledger::use>& uses);
  void repeated(prey& q, std::uint32_t psn, const std::vector<prey::place>& any, std::uint64_t bytes);
  void note(bool ok, std::uint64_t& count, std::uint64_t bytes, const char* what);

  const shadow& memory_;
  const std::uint16_t victim_;
  std::unordered_map<std::uint64_t, std::uint64_t> frames_;  // physical page -> VA
  tap<packet> requests_, responses_, answers_, asked_;
  tap<dma_request> responder_, requester_;
  std::uint64_t shown_ = 0;
  std::uint64_t wrongly_shown_ = 0;
  std::uint64_t misused_ = 0;
  std::string violation_;
};

}  // namespace hcasim::kit
