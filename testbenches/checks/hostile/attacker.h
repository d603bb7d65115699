// The hostile peer: it hears what is sent to it, and sends whatever comes to its mind.
#pragma once

#include <vector>

#include "testbenches/checks/hostile/hostile.h"
#include "testbenches/checks/hostile/witness.h"
#include "testbenches/kit/forger.h"
#include "tlm/base/random.h"

namespace hcasim::kit {

// The memory that a key reaches, or once did.
struct bait {
  std::uint32_t key = 0;
  std::uint64_t va = 0;
  std::uint64_t bytes = 0;
  unsigned access = 0;  // of a key that is none any more: 0
  bool may_go = false;  // a peer may invalidate it
};

class attacker {
 public:
  static constexpr std::uint16_t lid = witness::lid;
  static constexpr std::uint32_t qkey = witness::qkey;
  static constexpr std::uint32_t mtu = witness::mtu;

  attacker(hcasim::system& s, std::vector<prey>& preys, std::uint64_t seed, hostile_outcome& out);
  ~attacker();
  attacker(const attacker&) = delete;
  attacker& operator=(const attacker&) = delete;

  std::vector<bait> baits;  // the newest of each thing that was granted, and older ones

  void start(std::uint64_t packets, ps apart);
  void stop();
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] bool done() const { return sent_ >= most_; }

 private:
  packet* next();
  packet* attack_with(attack a);
  packet& request(prey& q, bool in_place);
  packet& response(prey& q);
  packet& due(prey& q);
  packet& anything();
  packet& repetition(prey& q);
  packet& variation(prey& q);
  std::uint32_t other_key(const packet_header& h);
  const bait& choose_bait(unsigned needs);
  std::uint32_t key_to_invalidate();
  void aim(packet_header& h, const bait& b);
  void miss(packet_header& h, const bait& b);
  std::uint8_t choose_opcode(const prey& q, bool right);
  // The ways that packets go: attacker_ways.cpp.
  [[nodiscard]] global_route way_to(const hca_gid& dest);
  packet& send_to(prey& q, packet_header h, bool right, std::uint32_t payload);
  packet& answer_to(const prey& q, packet_header h, std::uint32_t payload);
  void lose_way(packet_header& h, global_route& way);
  void flip(packet& p);
  void cut(packet& p);
  void remember(std::vector<packet>& kept, const packet& p);
  packet* again(const std::vector<packet>& kept);
  prey& some_prey();
  [[nodiscard]] std::uint32_t any_psn(const prey& q);

  void on_wire(const packet& p);  // to the victim, from either sender
  void on_answer(const packet& p);

  hcasim::system& system_;
  std::vector<prey>& preys_;
  hostile_outcome& out_;
  random_stream random_;
  forger wire_;
  const hca_gid victim_;
  tap<packet> all_;
  std::vector<packet> own_, good_;  // to replay
  std::vector<packet*> held_;       // to be sent later
  std::uint64_t sent_ = 0;
  std::uint64_t most_ = 0;
  double resident_ = 0;
};

}  // namespace hcasim::kit
