// The keys that a target grants to the peer of one QP. Each key is for one message into one slot: a window, a registration or a
// fast registration. A SEND's immediate data carries the key. Slots are granted and used in turn.
#pragma once

#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/issuer.h"
#include "testbenches/traffic/options.h"

namespace hcasim::traffic {

class key_granter {
 public:
  // Makes memory and windows for `slots` messages of `bytes`.
  key_granter(kit::process_context& p, operation kind, kit::ibv_qp* qp, std::uint32_t slots, std::uint64_t bytes);

  [[nodiscard]] keyed_memory memory() const { return {address_, slot_bytes_, static_cast<std::uint32_t>(slots_.size())}; }
  // Grants the first key of every slot. False = a request was refused.
  bool grant_all(cpu& c);
  // Takes the oldest key back, which its message has used, and grants the next one. False = a request was refused.
  bool renew(cpu& c);

 private:
  struct slot {
    kit::ibv_mw* window = nullptr;
    kit::ibv_mr* region = nullptr;
  };

  bool grant(cpu& c, std::size_t i);
  [[nodiscard]] std::uint64_t place(std::size_t i) const { return address_ + i * slot_bytes_; }

  kit::ibv_pd* pd_;
  operation kind_;
  kit::ibv_qp* qp_;
  std::uint64_t bytes_;
  std::uint64_t slot_bytes_;
  std::uint64_t address_;
  kit::ibv_mr* whole_ = nullptr;  // under the windows
  std::vector<slot> slots_;
  std::uint64_t renewed_ = 0;
};

}  // namespace hcasim::traffic
