// The program that is attacked: QPs whose peer is the hostile one come, go through every state and go; memory is granted and
// taken away all the while, with whatever right, by registrations and by windows.
#pragma once

#include <memory>
#include <vector>

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/checks/hostile/attacker.h"
#include "testbenches/checks/hostile/hostile.h"
#include "testbenches/checks/hostile/shadow.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {

class victim {
 public:
  victim(hcasim::system& s, const hostile_options& o, std::uint64_t seed, hostile_outcome& out, cpu& c, node& n);

  void run();

 private:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t slot_bytes = 4 * page;
  static constexpr std::uint64_t inbox_bytes = 3500;
  static constexpr std::uint32_t receives = 2;
  static constexpr std::uint64_t receive_bytes = 1900;
  static constexpr std::uint32_t regions = 4;
  static constexpr std::uint32_t windows = 4;
  static constexpr std::uint32_t fast_regions = 2;
  static constexpr std::uint32_t grounds = regions + windows + fast_regions;

  // A QP and the memory that its requests and receives use.
  struct lair {
    ibv_qp* qp = nullptr;
    qp_options options;
    ibv_pd* pd = nullptr;
    bool connected = false;
    ibv_ah* ah = nullptr;
    std::array<bool, groups> member{};
    region inbox, receive, outbox;  // of each PD
  };
  // An SRQ of one of two domains, in each life of any PD, and the memory of its receives.
  struct shared_end {
    std::size_t domain = 0;
    ibv_srq* srq = nullptr;
    bool granted = false;           // of the PD of the grants
    std::array<region, 2> receive;  // as of the other PD, and as of that one
  };
  enum class kind : std::uint8_t { region, window, fast_region };
  // Four pages, and what of them is granted.
  struct ground {
    kind way = kind::region;
    std::uint64_t begin = 0;
    ibv_mr* mr = nullptr;
    ibv_mw* mw = nullptr;
    std::uint64_t va = 0;
    std::uint64_t bytes = 0;  // 0 = nothing
    unsigned access = 0;
  };

  [[nodiscard]] bool good() const { return out_.problem.empty(); }
  void need(bool ok, const char* what) {
    if (!ok && good()) out_.problem = what;
  }
  region part(std::uint64_t va, std::uint64_t bytes, int access, std::uint8_t rights, ibv_pd* pd);
  void set_up();
  void step();
  std::size_t some_lair();
  void step_qp(std::size_t i);
  void make_qp(std::size_t i);
  ibv_qp* target(std::size_t domain);
  void connect(std::size_t i);
  void leave(std::size_t i, bool for_ever);
  void modify(lair& l);
  void change_access(lair& l);
  // The rights of its QP: without room for READs and atomics there are none to these.
  [[nodiscard]] static unsigned effective(const lair& l) {
    constexpr unsigned fetches = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    return l.options.access & ~(l.options.read_depth == 0 ? fetches : 0U);
  }
  void post_sends(lair& l);
  void post_receives(lair& l);
  template <class Queue>
  void post_receives(Queue* queue, const region& at, std::deque<posted_receive>& posted);
  void change_membership(lair& l, std::size_t group);
  void make_srq(shared_end& e);
  void destroy_srq(shared_end& e);
  void change(ground& g);
  void change_window(ground& g);
  void change_fast_region(ground& g);
  void change_ties();
  void tie(ibv_qp* to);
  void take(ground& g);
  void choose(ground& g);
  void hand_over(ground& g);
  void set_bait(const ground& g, std::uint32_t key, ps order);
  void show_bait(std::size_t place, const bait& b);
  void drain();
  void clean_up();

  const hostile_options& o_;
  hostile_outcome& out_;
  cpu& c_;
  process_context p_;
  random_stream random_;
  shadow memory_;
  witness witness_;
  attacker attacker_;
  ibv_pd* other_pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_cq* binds_ = nullptr;
  ibv_qp* control_ = nullptr;
  std::vector<lair> lairs_;
  std::vector<ground> grounds_;
  std::array<ibv_xrcd*, 2> domains_{};
  std::array<shared_end, 4> ends_{};
  // Keys of a QP that the hostile peer is not the peer of, and that comes and goes.
  ibv_qp* tied_ = nullptr;
  ibv_mw* tied_window_ = nullptr;
  ibv_mr* tied_region_ = nullptr;
  std::uint64_t receives_posted_ = 1ULL << 32;
  std::uint32_t peers_ = 0x1000;  // QPNs of the hostile peer, a new one for each life
};

}  // namespace hcasim::kit
