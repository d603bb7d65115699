// The hostile peer: it hears what is sent to it, and sends whatever comes to its mind.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "testbenches/hostile/hostile.h"
#include "testbenches/hostile/key_ledger.h"
#include "testbenches/hostile/shadow.h"
#include "testbenches/kit/forger.h"
#include "tlm/base/random.h"
#include "tlm/base/ring.h"

namespace hcasim::kit {

// A QP of the victim that the hostile peer is, was or will be the peer of, as it knows it.
struct prey {
  std::uint32_t qpn = 0;   // 0: there is none
  std::uint32_t here = 0;  // its peer's
  ibv_qp_type type = IBV_QPT_RC;
  bool granted = true;         // it is of the PD of the grants
  std::uint32_t expected = 0;  // PSN of the next request, as far as the answers tell
  std::uint32_t left = 0;      // bytes of the message under way
  bool writing = false;
  std::deque<packet_header> asked;  // its own requests
  struct read {
    packet_header header;
    ps arrived;
  };
  std::deque<read> reads;  // that have reached it

  void begin(std::uint32_t number, std::uint32_t peer, std::uint32_t psn);
};

// What a key reaches, or once did.
struct bait {
  std::uint32_t key = 0;
  std::uint64_t va = 0;
  std::uint64_t bytes = 0;
};

class attacker {
 public:
  static constexpr std::uint16_t lid = 0x5aa5;  // many bits from those of the others
  static constexpr std::uint32_t qkey = 0x11111111;
  static constexpr std::uint32_t mtu = 1024;

  attacker(hcasim::system& s, const shadow& memory, std::uint64_t seed, hostile_outcome& out);
  ~attacker();
  attacker(const attacker&) = delete;
  attacker& operator=(const attacker&) = delete;

  std::vector<prey> preys;
  key_ledger keys;
  std::vector<bait> baits;  // the newest of each thing that was granted, and older ones

  void start(std::uint64_t packets, ps apart);
  void stop();
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] bool done() const { return sent_ >= most_; }
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  packet* next();
  packet* attack_with(attack a);
  packet& request(prey& q, bool in_place);
  packet& response(prey& q);
  packet& anything();
  void aim(packet_header& h);
  void flip(packet& p);
  void cut(packet& p);
  void remember(std::vector<packet>& kept, const packet& p);
  packet* again(const std::vector<packet>& kept);
  prey& some_prey() { return preys[random_.below(preys.size())]; }
  [[nodiscard]] std::uint32_t any_psn(const prey& q);

  void on_wire(const packet& p);     // to the victim, whoever sent it
  void on_arrival(const packet& p);  // at its responder
  void on_answer(const packet& p);
  void on_request(const packet& p);
  prey* peer_of(const packet_header& h);
  void shown(bool ok, std::uint64_t bytes, const char* what);

  hcasim::system& system_;
  const shadow& memory_;
  hostile_outcome& out_;
  random_stream random_;
  forger wire_;
  tap<packet> arrivals_;
  tap<packet> all_;
  std::vector<packet> own_, good_;  // to replay
  std::vector<packet*> held_;       // to be sent later
  std::uint64_t sent_ = 0;
  std::uint64_t most_ = 0;
  double resident_ = 0;
  std::string violation_;
};

}  // namespace hcasim::kit
