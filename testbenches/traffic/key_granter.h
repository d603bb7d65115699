// The keys that a target grants to the peer of one QP. Each key is for one message into one slot: a window, a registration or a
// fast registration. Or one key stays, and each slot gets other memory for each message. A SEND's immediate data carries the
// key. Slots are granted and used in turn.
#pragma once

#include <vector>

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/flow_memory.h"
#include "testbenches/traffic/issuer.h"
#include "testbenches/traffic/options.h"

namespace hcasim::traffic {

class key_granter {
 public:
  struct settings {
    operation kind = operation::bind_write;
    kit::ibv_qp* qp = nullptr;
    std::uint32_t slots = 0;
    std::uint64_t bytes = 0;  // of a message
    memory_kind where = memory_kind::host;
  };

  // Makes memory, and windows or an address space, for the messages of all slots.
  key_granter(kit::process_context& p, flow_memory& memory, const settings& s);

  [[nodiscard]] keyed_memory memory() const;
  // Grants the first key of every slot. False = a request was refused.
  bool grant_all(cpu& c);
  // Takes the oldest key back, which its message has used, and grants the next one. False = a request was refused.
  bool renew(cpu& c);

 private:
  struct slot {
    kit::ibv_mw* window = nullptr;
    kit::ibv_mr* region = nullptr;
    std::uint32_t handle = 0;  // of the slot's memory in the address space
    std::uint64_t changes = 0;
  };

  void open_space(kit::process_context& p);
  bool grant(cpu& c, std::size_t i);
  bool tell(cpu& c, kit::ibv_send_wr* first, kit::ibv_send_wr& with_key);
  bool bind(cpu& c, std::size_t i);
  bool register_fast(cpu& c, std::size_t i);
  bool register_slot(cpu& c, std::size_t i);
  // Puts memory behind the slot's addresses, or takes it away.
  bool add_memory(cpu& c, std::size_t i);
  bool remove_memory(cpu& c, std::size_t i);
  bool exchange_memory(cpu& c, std::size_t i);
  [[nodiscard]] verbs::x_buffer next_memory(std::size_t i);
  [[nodiscard]] std::uint64_t place(std::size_t i) const { return i * slot_bytes_; }

  kit::ibv_pd* pd_;
  settings s_;
  std::uint64_t slot_bytes_;
  memory_piece memory_;           // of all slots; of a kept key twice
  kit::ibv_mr* whole_ = nullptr;  // under the windows
  std::uint32_t kept_key_ = 0;
  std::uint64_t first_va_ = 0;  // of the slots in the address space
  std::vector<slot> slots_;
  std::uint64_t renewed_ = 0;
};

}  // namespace hcasim::traffic
