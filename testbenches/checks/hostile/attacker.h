// The hostile peer: observes incoming packets, and sends random ones.
#pragma once

#include <vector>

#include "testbenches/checks/hostile/hostile.h"
#include "testbenches/checks/hostile/protection_monitor.h"
#include "testbenches/kit/packet_injector.h"
#include "tlm/base/random.h"

namespace hcasim::kit {

// The memory that a key reaches, or once did.
struct known_grant {
  std::uint32_t key = 0;
  std::uint64_t va = 0;
  std::uint64_t bytes = 0;
  unsigned access = 0;  // 0 = a dead key
  bool may_go = false;  // a peer may invalidate it
};

class attacker {
 public:
  static constexpr std::uint16_t lid = protection_monitor::lid;
  static constexpr std::uint32_t qkey = protection_monitor::qkey;
  static constexpr std::uint32_t mtu = protection_monitor::mtu;

  attacker(hcasim::system& s, std::vector<target_qp>& target_qps, std::uint64_t seed, hostile_outcome& out);
  ~attacker();
  attacker(const attacker&) = delete;
  attacker& operator=(const attacker&) = delete;

  std::vector<known_grant> known_grants;  // the newest of each thing that was granted, and older ones

  void start(std::uint64_t packets, ps apart);
  void stop();
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] bool done() const { return sent_ >= most_; }

 private:
  packet* next();
  packet* attack_with(attack a);
  packet& request(target_qp& q, bool in_place);
  packet& response(target_qp& q);
  packet& due(target_qp& q);
  packet& anything();
  packet& repetition(target_qp& q);
  packet& variation(target_qp& q);
  std::uint32_t other_key(const packet_header& h);
  const known_grant& choose_grant(unsigned needs);
  std::uint32_t key_to_invalidate();
  void aim(packet_header& h, const known_grant& b);
  void miss(packet_header& h, const known_grant& b);
  std::uint8_t choose_opcode(const target_qp& q, bool right);
  // Chooses the ways of packets: attacker_ways.cpp.
  [[nodiscard]] global_route way_to(const hca_gid& dest);
  packet& send_to(target_qp& q, packet_header h, bool right, std::uint32_t payload);
  packet& answer_to(const target_qp& q, packet_header h, std::uint32_t payload);
  void lose_way(packet_header& h, global_route& way);
  void flip(packet& p);
  void cut(packet& p);
  void remember(std::vector<packet>& kept, const packet& p);
  packet* again(const std::vector<packet>& kept);
  target_qp& some_target_qp();
  [[nodiscard]] std::uint32_t any_psn(const target_qp& q);

  void on_wire(const packet& p);  // to the victim, from either sender
  void on_answer(const packet& p);

  hcasim::system& system_;
  std::vector<target_qp>& target_qps_;
  hostile_outcome& out_;
  random_stream random_;
  packet_injector wire_;
  const hca_gid victim_;
  tap<packet> all_;
  std::vector<packet> own_, good_;  // to replay
  std::vector<packet*> held_;       // to be sent later
  std::uint64_t sent_ = 0;
  std::uint64_t most_ = 0;
  double resident_ = 0;
};

}  // namespace hcasim::kit
