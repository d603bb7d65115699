// The program that is attacked: QPs whose peer is the hostile one come, go through every state and go; memory is granted and
// taken away all the while, with whatever right, by registrations and by windows.
#pragma once

#include <memory>
#include <vector>

#include "testbenches/hostile/attacker.h"
#include "testbenches/hostile/hostile.h"
#include "testbenches/hostile/shadow.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {

class victim {
 public:
  victim(hcasim::system& s, const hostile_options& o, std::uint64_t seed, hostile_outcome& out, cpu& c, node& n);

  void run();

 private:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t slot_bytes = 4 * page;
  static constexpr std::uint64_t inbox_bytes = 2048;
  static constexpr std::uint32_t receives = 4;
  static constexpr std::uint64_t receive_bytes = 512;
  static constexpr std::uint32_t grounds = 8;
  static constexpr std::uint32_t windows = 4;  // of the grounds, the last ones

  // A QP and the memory that its requests and receives use.
  struct lair {
    ibv_qp* qp = nullptr;
    qp_options options;
    ibv_pd* pd = nullptr;
    bool connected = false;
    ibv_ah* ah = nullptr;
    region inbox, receive, outbox;  // of each PD
  };
  // Four pages, and what of them is granted.
  struct ground {
    std::uint64_t begin = 0;
    ibv_mr* mr = nullptr;
    ibv_mw* mw = nullptr;
    std::uint64_t va = 0;
    std::uint64_t bytes = 0;  // 0: nothing
    unsigned access = 0;
  };

  [[nodiscard]] bool good() const { return out_.problem.empty(); }
  void need(bool ok, const char* what) {
    if (!ok && good()) out_.problem = what;
  }
  region part(std::uint64_t va, std::uint64_t bytes, int access, std::uint8_t rights, ibv_pd* pd);
  void set_up();
  void step();
  void step_qp(std::size_t i);
  void make_qp(std::size_t i);
  void connect(std::size_t i);
  void leave(std::size_t i, bool for_ever);
  void modify(lair& l);
  void post_sends(lair& l);
  void post_receives(lair& l);
  void change(ground& g);
  void change_window(ground& g);
  void take(ground& g);
  void choose(ground& g);
  void hand_over(ground& g);
  void set_bait(const ground& g, std::uint32_t key, ps order);
  void drain();
  void clean_up();

  const hostile_options& o_;
  hostile_outcome& out_;
  cpu& c_;
  process_context p_;
  random_stream random_;
  shadow memory_;
  attacker attacker_;
  ibv_pd* other_pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_cq* binds_ = nullptr;
  ibv_qp* control_ = nullptr;
  std::vector<lair> lairs_;
  std::vector<ground> grounds_;
  std::uint32_t peers_ = 0x1000;  // QPNs of the hostile peer, a new one for each life
};

}  // namespace hcasim::kit
