// Node 1 of a walk.
#pragma once

#include <array>
#include <memory>

#include "testbenches/checks/key_walk/packet_monitor.h"
#include "testbenches/checks/key_walk/walk_state.h"
#include "testbenches/kit/grant_monitor.h"
#include "tlm/base/random.h"

namespace hcasim::testing {

// Owns all objects, and keeps the oracle.
class walk_owner {
 public:
  walk_owner(walk_state& s, cpu& c, node& n) : s_(s), c_(c), n_(n), p_(c, n), random_(s.o.seed, "key_walk") {}

  void run();

 private:
  struct thing {
    oracle::kind what = oracle::kind::region;
    std::uint32_t pd = 0;  // 0 or 1
    bool exists = false;
    std::uint32_t key = 0;
    std::uint64_t start = 0;  // first VA, as the key is used
    std::uint64_t length = 0;
    std::uint64_t host = 0;        // where `start` lies
    oracle::rights remote;         // of the peer, while the thing exists (a window: while bound)
    bool pinned_writable = false;  // a region that was pinned for reading cannot be made writable in place
    ibv_mr* mr = nullptr;
    ibv_mw* mw = nullptr;
    std::array<std::uint64_t, pieces> piece_va{};  // 0 = not there
  };
  struct lane_state {
    ibv_qp* qp = nullptr;
    oracle::connection who;
    address peer;
    ibv_sge scratch{};
    bool busy = false;
    peer_order order;
    bool may_pass = false;
    bool may_fail = false;
  };
  [[nodiscard]] bool failed() const { return !s_.result.problem.empty(); }
  void problem(const std::string& text) { s_.problem(where_ + text); }

  void set_up();
  void create_lane(std::uint32_t i);
  void create_object(std::uint32_t i);

  // Uses the object about to change, when racing: the peer accesses it on every free lane but the changing one.
  void race(std::uint32_t i, std::uint32_t not_on = lanes);
  void take(const key_step& k);
  static oracle::rights rights_of(std::uint32_t bits);
  static int flags_of(const oracle::rights& r);
  static std::uint32_t key_of(const thing& t, bool stale) { return stale ? ibv_inc_rkey(t.key) : t.key; }

  // Notes memory before an order for a grant; changed() follows the completed order.
  void may_grant(std::uint64_t host, std::uint64_t bytes);
  void changed(bool took_effect);
  // Allows the peer's accesses at the monitor; the owner's own accesses are allowed while they run.
  void show_grants();
  // Notes the verdicts possible now for an access under way.
  void see(lane_state& l);
  void register_region(std::uint32_t i, const oracle::rights& r, std::uint32_t first, std::uint32_t length);
  void deregister(std::uint32_t i);
  void reregister(std::uint32_t i, oracle::rights r);
  void bind_window(std::uint32_t i, const std::array<std::uint32_t, 6>& n);

  // Handles a refused request. GENERAL_ERR: not even posted, and the QP is unchanged.
  void after_refusal(std::uint32_t lane, ibv_wc_status status, ibv_wc_status expected);
  void invalidate(std::uint32_t lane, std::uint32_t i, bool stale);
  void send_inv(std::uint32_t lane, std::uint32_t i, bool stale);
  void invalidated(thing& t);
  void fast_register(std::uint32_t i, std::uint32_t lane, const oracle::rights& r);
  [[nodiscard]] std::uint64_t piece_host(std::uint32_t i, std::uint32_t k) const;
  void add_piece(std::uint32_t i, std::uint32_t k);
  void remove_piece(std::uint32_t i, std::uint32_t k);

  // Returns the VA where an access to the object begins, mostly inside the object.
  static std::uint64_t place(const thing& t, std::uint32_t first) { return t.start + first % (t.length + 64); }
  [[nodiscard]] std::uint64_t host_of(const thing& t, std::uint64_t va, std::uint32_t i) const;
  void access(std::uint32_t lane, std::uint32_t i, use how, std::uint32_t first, std::uint32_t length, bool stale);

  // Checks the bytes of a granted access, one after the other.
  void moved(const thing& t, std::uint32_t i, const peer_order& o, const peer_answer& a);

  // Accesses the object from the owner: a WRITE to the peer reads with the L_Key, a READ writes with it.
  void local(std::uint32_t lane, std::uint32_t i, bool write, std::uint32_t first, std::uint32_t length, bool stale);

  // Makes a QP with another number or another life, which inherits no window.
  void renew(std::uint32_t lane);
  void repair(std::uint32_t lane);
  void reconnect_peer(std::uint32_t lane);

  // Stores answers of other lanes that come before the awaited one.
  void store_answers(peer_answer a, std::uint32_t lane);
  peer_answer answer_of(std::uint32_t lane);
  void collect();
  void wait_lane(std::uint32_t lane);

  // Returns whether the status denies: on a bad link the NAK may get lost, and the peer's QP in error then says nothing more.
  [[nodiscard]] bool denies(ibv_wc_status status) const;
  static std::string describe(const peer_order& o);

  // Ends an access, and checks whether it was granted or denied correctly.
  void finish(const peer_answer& a);
  void mend_broken();
  void check_counts();
  void check_memory();

  walk_state& s_;
  cpu& c_;
  node& n_;
  process_context p_;
  random_stream random_;
  oracle told_{false};
  std::array<ibv_pd*, 2> pds_{};
  std::array<lane_state, lanes> lanes_;
  std::array<thing, objects> things_;
  std::array<std::uint32_t, windows> bound_by_{};
  std::uint32_t lives_ = 0;
  std::uint64_t arena_ = 0;
  std::uint64_t arena_bytes_ = 0;
  std::vector<std::uint8_t> shadow_;
  std::unique_ptr<grant_monitor> monitor_;
  std::unique_ptr<packet_monitor> packets_;
  peer_answer awaited_;
  std::vector<std::uint32_t> broken_;
  std::uint32_t patterns_ = 0;
  std::string where_;
};

}  // namespace hcasim::testing
