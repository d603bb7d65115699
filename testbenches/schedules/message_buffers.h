// The buffers of a rank's messages, and the rights by which adapters reach them. Each way of registration costs what the verbs
// of this way cost the thread that calls them.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>
#include <vector>

#include "testbenches/kit/endpoint.h"

namespace hcasim::schedules {

// each: every message registers its buffer and de-registers it. cached: a registration stays until others need its place, the
// one used longest ago goes first. A longer message in the same buffer registers the buffer anew. window: buffers are
// registered once, and a type 2 window is bound for each remote access.
enum class registration : std::uint8_t { each, cached, window };

struct buffer_options {
  registration way = registration::cached;
  std::uint32_t cached = 64;   // registrations that are kept, 1 or more
  std::uint32_t buffers = 16;  // that messages use in turn; there are more while all of them are in use
  std::uint64_t bytes = 4096;  // of each; larger messages of the rank make them larger
};

struct buffer_counts {
  std::uint64_t registered = 0;  // calls of ibv_reg_mr for messages
  std::uint64_t reused = 0;      // found in the cache
  std::uint64_t bound = 0;
};

class message_buffers {
 public:
  struct buffer {
    std::uint64_t address = 0;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;     // 0 = no remote access
    kit::ibv_mr* mr = nullptr;  // each: registered for this message
    kit::ibv_mw* window = nullptr;
    std::size_t slot = 0;
  };

  message_buffers(kit::process_context& p, const buffer_options& o);

  // Takes a buffer for a message of `bytes`, for local access only.
  buffer take(cpu& c, std::uint64_t bytes);
  // Takes a buffer for remote access. One with a window has its next key, and the window must be bound before the peer hears
  // it.
  buffer take_for_remote(cpu& c, std::uint64_t bytes);
  [[nodiscard]] kit::ibv_mw_bind_info bound_to(const buffer& b, std::uint64_t bytes, unsigned rights) const {
    return {slots_[b.slot].mr, b.address, bytes, rights};
  }
  // Gives a buffer back. A window was invalidated before, by the peer or by `invalidate`.
  void give_back(cpu& c, buffer& b);

  [[nodiscard]] const buffer_counts& counts() const { return counts_; }

 private:
  struct slot {
    std::uint64_t address = 0;
    kit::ibv_mr* mr = nullptr;  // window: of the whole slot; cached: of the longest message so far, while it is registered
    bool used = false;
    std::list<std::size_t>::iterator age{};  // cached
  };

  std::size_t free_slot(cpu& c);
  void add_slot(cpu& c);
  void register_for(cpu& c, buffer& b, std::uint64_t bytes);
  void register_cached(cpu& c, std::size_t index, std::uint64_t bytes);
  void evict_one(cpu& c);
  void drop_cached(cpu& c, slot& s);
  kit::ibv_mw* free_window(cpu& c);

  kit::process_context& p_;
  buffer_options options_;
  std::vector<slot> slots_;
  std::deque<std::size_t> free_;
  std::list<std::size_t> ages_;  // cached: registered slots, the one used longest ago first
  std::vector<kit::ibv_mw*> windows_;
  buffer_counts counts_;
};

}  // namespace hcasim::schedules
