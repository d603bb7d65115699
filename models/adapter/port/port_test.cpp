#include "models/adapter/port/port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tlm/base/random.h"
#include "tlm/checker/checker_set.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim {
namespace {

using testing::run_for;
using testing::run_until_idle;
using testing::value_of;

constexpr std::uint16_t own_lid = 5;
constexpr std::uint16_t far_lid = 9;

packet& make(packet_pool& packets, std::uint8_t opcode, std::uint32_t psn, std::uint16_t dest, std::uint8_t sl = 0,
             std::uint32_t payload = 64) {
  packet& p = packets.get();
  p.header = {};
  p.header.opcode = opcode;
  p.header.psn = psn;
  p.header.dest_lid = dest;
  p.header.dest_qpn = 77;
  p.header.service_level = sl;
  p.payload = p.header.shape().payload ? payload : 0;
  p.last_bit = ps(0);
  p.waiter = {};
  p.on_response = nullptr;
  std::fill_n(p.data(), p.payload, static_cast<std::byte>(psn));
  encode(p);
  return p;
}

// Sends packets and notes when they are taken.
class source : public unit {
 public:
  initiator_socket<packet> out{"out"};
  struct done {
    std::uint32_t psn;
    ps at;
    bool in_call;
  };
  std::vector<done> taken;
  // Sent from inside the first answer that comes later than its call.
  packet* follow_up = nullptr;

  explicit source(const sc_core::sc_module_name& n) : unit(n) {}
  void send(packet& p, ps at) {
    jobs_.push_back({this, &p, p.header.psn});
    queue_.at(at, {[](void* c) {
                     auto& j = *static_cast<job*>(c);
                     j.self->go(j);
                   },
                   &jobs_.back()});
  }

 private:
  struct job {
    source* self;
    packet* p;
    std::uint32_t psn;
  };
  void send_now(packet& p) {
    jobs_.push_back({this, &p, p.header.psn});
    go(jobs_.back());
  }
  void go(job& j) {
    j.p->context = &j;
    j.p->on_response = [](void* c, transaction&, ps t) {
      auto& answered = *static_cast<job*>(c);
      answered.self->taken.push_back({answered.psn, t, false});
      if (packet* next = std::exchange(answered.self->follow_up, nullptr)) answered.self->send_now(*next);
    };
    ps t = now();
    if (out.send(*j.p, t) == tlm::TLM_COMPLETED) taken.push_back({j.psn, t, true});
  }
  std::deque<job> jobs_;
};

// A consumer or the link: notes packets; answers in the call, after a while, or on demand, and then pools them.
class sink : public unit {
 public:
  target_socket<packet> in{"in"};
  enum class answer { at_once, later, on_demand };
  answer mode = answer::at_once;
  ps latency{0};
  struct arrival {
    std::uint32_t psn;
    ps at;
    unsigned lane;
    bool intact;
    unsigned port;
  };
  std::vector<arrival> arrivals;
  std::deque<packet*> kept;

  sink(const sc_core::sc_module_name& n, packet_pool& packets) : unit(n), packets_(packets) { in.on<&sink::take>(this); }
  void answer_one(ps at) {
    queue_.at(at, {[](void* c) { static_cast<sink*>(c)->answer_oldest(); }, this});
  }

 private:
  tlm::tlm_sync_enum take(packet& p, tlm::tlm_phase, ps& t) {
    arrivals.push_back({p.header.psn, t, p.lane(), icrc_ok(p, p.on_wire().size()), p.port});
    if (mode == answer::at_once) {
      t += latency;
      packets_.put(p);
      return tlm::TLM_COMPLETED;
    }
    kept.push_back(&p);
    if (mode == answer::later) answer_one(t + latency);
    return tlm::TLM_ACCEPTED;
  }
  void answer_oldest() {
    packet& p = *kept.front();
    kept.pop_front();
    target_socket<packet>::respond(p, now());
    packets_.put(p);
  }
  packet_pool& packets_;
};

struct bench {
  packet_pool packets;
  port dut;
  std::deque<source> senders;
  source line{"line"};
  sink wire{"wire", packets};
  sink requester{"requester", packets};
  sink responder{"responder", packets};
  checker_set checkers{violation_log::action::collect};

  static port_config config() {
    port_config c;
    c.lid = own_lid;
    c.egress_latency = 20;
    c.egress_interval = 2;
    c.ingress_latency = 30;
    c.ingress_interval = 3;
    c.egress_packets = 4;
    return c;
  }
  explicit bench(const port_config& c = config(), unsigned n = 2, unsigned number = 0)
      : dut("port", c, number, clock_domain(frequency{1e9}), n, packets) {
    for (unsigned i = 0; i < n; ++i) senders.emplace_back(("sender" + std::to_string(i)).c_str()).out.bind(dut.egress[i]);
    line.out.bind(dut.link_in);
    dut.link_out.bind(wire.in);
    dut.requester.bind(requester.in);
    dut.responder.bind(responder.in);
    for (source& s : senders) checkers.watch(s.out);
    checkers.watch(line.out, {.sealed = false});
    for (auto* out : {&dut.requester, &dut.responder, &dut.link_out}) checkers.watch(*out);
  }
  ~bench() {
    checkers.finish(1_ms);
    for (const violation& v : checkers.log().all()) ADD_FAILURE() << v.binding << ": " << name_of(v.broken) << ' ' << v.text;
  }
  bench(const bench&) = delete;
  bench& operator=(const bench&) = delete;
  double counted(std::string_view name) const { return value_of(dut, name); }
};

std::vector<std::uint32_t> psns(const sink& s) {
  std::vector<std::uint32_t> v;
  for (const auto& a : s.arrivals) v.push_back(a.psn);
  return v;
}

TEST(PortEgress, AddsItsLatencyAndIssueInterval) {
  bench t;
  for (std::uint32_t i = 0; i < 3; ++i) t.senders[0].send(make(t.packets, wire::send_only, i, far_lid), 100_ns);
  run_until_idle();
  ASSERT_EQ(t.wire.arrivals.size(), 3U);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(t.wire.arrivals[i].at, 100_ns + i * 2_ns + 20_ns);
    EXPECT_EQ(t.senders[0].taken[i].at, 100_ns + i * 2_ns);
  }
}

TEST(PortEgress, KeepsAsManyPacketsAsItsKnobSays) {
  bench t;
  t.wire.mode = sink::answer::on_demand;
  for (std::uint32_t i = 0; i < 6; ++i) t.senders[0].send(make(t.packets, wire::send_only, i, far_lid), 0_ps);
  run_for(1_us);
  EXPECT_EQ(t.senders[0].taken.size(), 4U);
  EXPECT_EQ(t.wire.arrivals.size(), 4U);
  t.wire.answer_one(2_us);
  run_for(1_us);
  EXPECT_EQ(t.senders[0].taken.size(), 4U);  // not before 2 us
  run_for(1_ps);
  ASSERT_EQ(t.senders[0].taken.size(), 5U);
  EXPECT_EQ(t.senders[0].taken[4].at, 2_us);
  EXPECT_FALSE(t.senders[0].taken[4].in_call);
  run_for(20_ns);
  EXPECT_EQ(t.wire.arrivals.back().at, 2_us + 20_ns);
}

TEST(PortEgress, APacketSentInResponseDoesNotOvertakeWaitingPackets) {
  bench t;
  t.wire.mode = sink::answer::on_demand;
  for (std::uint32_t i = 0; i < 5; ++i) t.senders[0].send(make(t.packets, wire::send_only, i, far_lid), 0_ps);
  t.senders[0].follow_up = &make(t.packets, wire::send_only, 5, far_lid);
  run_for(1_us);
  for (unsigned i = 0; i < 6; ++i) t.wire.answer_one(2_us + i * 100_ns);
  run_until_idle();
  EXPECT_EQ(psns(t.wire), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(PortEgress, APacketLeavesThePortWithItsLastByte) {
  bench t;
  t.wire.latency = 100_ns;  // the link's answer: when the last byte has left
  for (std::uint32_t i = 0; i < 5; ++i) t.senders[0].send(make(t.packets, wire::send_only, i, far_lid), 0_ps);
  run_until_idle();
  ASSERT_EQ(t.senders[0].taken.size(), 5U);
  EXPECT_EQ(t.senders[0].taken[4].at, 120_ns);
}

TEST(PortEgress, SendersTakeTurnsUnderBackPressure) {
  bench t;
  t.wire.mode = sink::answer::later;
  t.wire.latency = 1_us;
  for (std::uint32_t i = 0; i < 20; ++i) t.senders[0].send(make(t.packets, wire::send_only, i, far_lid), 0_ps);
  for (std::uint32_t i = 0; i < 20; ++i) t.senders[1].send(make(t.packets, wire::acknowledge, 100 + i, far_lid), 1_ns);
  run_until_idle();
  const std::vector<std::uint32_t> got = psns(t.wire);
  ASSERT_EQ(got.size(), 40U);
  for (std::size_t i = 5; i < 36; ++i) EXPECT_NE(got[i] >= 100, got[i - 1] >= 100) << i;
}

TEST(PortEgress, AFullLaneDoesNotHoldUpAnother) {
  port_config c = bench::config();
  c.virtual_lanes = 2;
  bench t(c);
  t.wire.mode = sink::answer::on_demand;
  for (std::uint32_t i = 0; i < 10; ++i) t.senders[0].send(make(t.packets, wire::send_only, i, far_lid, 0), 0_ps);
  t.senders[1].send(make(t.packets, wire::send_only, 100, far_lid, 3), 50_ns);
  run_for(1_us);
  ASSERT_EQ(t.wire.arrivals.size(), 5U);
  EXPECT_EQ(t.wire.arrivals[4].psn, 100U);
  EXPECT_EQ(t.wire.arrivals[4].at, 70_ns);
  EXPECT_EQ(t.wire.arrivals[4].lane, 1U);
  EXPECT_TRUE(t.wire.arrivals[4].intact);
}

// Port 2 has its LID, and units see where a packet has come.
TEST(PortIngress, OfASecondPortKnowsItsLid) {
  port_config c = bench::config();
  c.second_lid = far_lid;
  bench t(c, 2, 1);
  t.line.send(make(t.packets, wire::send_only, 1, own_lid), 0_ps);
  t.line.send(make(t.packets, wire::send_only, 2, far_lid), 0_ps);
  run_until_idle();
  ASSERT_EQ(psns(t.responder), std::vector<std::uint32_t>{2});
  EXPECT_EQ(t.responder.arrivals[0].port, 1U);
  EXPECT_EQ(t.counted("dropped_wrong_lid"), 1);
}

TEST(PortIngress, HandsOverAfterCheckAndInterval) {
  bench t;
  for (std::uint32_t i = 0; i < 2; ++i) t.line.send(make(t.packets, wire::send_only, i, own_lid), 10_ns);
  run_until_idle();
  ASSERT_EQ(t.responder.arrivals.size(), 2U);
  EXPECT_EQ(t.responder.arrivals[0].at, 40_ns);
  EXPECT_EQ(t.responder.arrivals[1].at, 43_ns);
}

TEST(PortIngress, WaitsForTheLastByte) {
  bench t;
  packet& p = make(t.packets, wire::send_only, 0, own_lid);
  p.last_bit = 500_ns;
  t.line.send(p, 10_ns);
  run_until_idle();
  EXPECT_EQ(t.responder.arrivals.at(0).at, 530_ns);
}

TEST(PortIngress, SeparatesResponsesFromRequestsForEveryOpcode) {
  bench t;
  std::vector<std::uint32_t> requests;
  std::vector<std::uint32_t> responses;
  for (unsigned op = 0; op < 256; ++op) {
    const wire::shape& s = wire::shape_of(static_cast<std::uint8_t>(op));
    if (!s.known) continue;
    (s.response ? responses : requests).push_back(op);
    t.line.send(make(t.packets, static_cast<std::uint8_t>(op), op, own_lid), 0_ps);
  }
  run_until_idle();
  EXPECT_EQ(psns(t.requester), responses);
  EXPECT_EQ(psns(t.responder), requests);
  EXPECT_EQ(responses, (std::vector<std::uint32_t>{0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0xad, 0xae, 0xaf, 0xb0, 0xb1, 0xb2}));
}

TEST(PortIngress, DropsBadPacketsAndPoolsThem) {
  bench t;
  packet& bad_icrc = make(t.packets, wire::send_only, 1, own_lid);
  bad_icrc.raw()[wire::max_header + 3] ^= std::byte{4};
  packet& unknown = make(t.packets, wire::send_only, 2, own_lid);
  unknown.raw()[unknown.head + 8] = std::byte{0xff};
  seal(unknown);
  packet& other = make(t.packets, wire::send_only, 3, far_lid);
  for (packet* p : {&bad_icrc, &unknown, &other}) t.line.send(*p, 0_ps);
  t.line.send(make(t.packets, wire::send_only, 4, own_lid), 0_ps);
  run_until_idle();
  EXPECT_EQ(psns(t.responder), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(t.counted("dropped_icrc"), 1);
  EXPECT_EQ(t.counted("dropped_malformed"), 1);
  EXPECT_EQ(t.counted("dropped_wrong_lid"), 1);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_EQ(t.line.taken.size(), 4U);
}

TEST(PortIngress, TellsTheReceiverWhatIsOnTheWire) {
  bench t;
  packet& p = make(t.packets, wire::send_only, 1, own_lid);
  p.header.psn = 999;  // differs from the bytes
  t.line.send(p, 0_ps);
  run_until_idle();
  EXPECT_EQ(psns(t.responder), (std::vector<std::uint32_t>{1}));
}

TEST(PortIngress, AnswersTheLinkWhenTheConsumerHasAnswered) {
  bench t;
  t.responder.mode = sink::answer::on_demand;
  t.line.send(make(t.packets, wire::send_only, 0, own_lid), 0_ps);
  t.line.send(make(t.packets, wire::acknowledge, 1, own_lid), 0_ps);
  t.responder.answer_one(5_us);
  run_for(5_us);
  ASSERT_EQ(t.line.taken.size(), 1U);  // the requester's
  EXPECT_EQ(t.line.taken[0].psn, 1U);
  EXPECT_EQ(t.line.taken[0].at, 33_ns);
  run_for(1_ps);
  ASSERT_EQ(t.line.taken.size(), 2U);
  EXPECT_EQ(t.line.taken[1].at, 5_us);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(PortLoopback, TurnsPacketsToItselfAround) {
  bench t;
  t.senders[0].send(make(t.packets, wire::send_only, 3, own_lid), 0_ps);
  run_until_idle();
  EXPECT_TRUE(t.wire.arrivals.empty());
  ASSERT_EQ(t.responder.arrivals.size(), 1U);
  EXPECT_EQ(t.responder.arrivals[0].at, 50_ns);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

packet& make_global(packet_pool& packets, std::uint32_t psn, std::uint16_t dest, const hca_gid& gid, std::uint8_t opcode,
                    std::uint32_t qpn) {
  packet& p = make(packets, opcode, psn, dest);
  p.header.dest_qpn = qpn;
  p.header.global = true;
  p.grh = {.source = hca_port_gid(far_lid), .dest = gid, .flow = 0, .hop_limit = 1};
  encode(p);
  return p;
}

constexpr std::uint16_t group_lid = 0xc007;
constexpr std::uint8_t datagram = wire::ud | wire::send_only;

hca_gid group_gid() {
  hca_gid g{};
  g.byte[0] = 0xff;
  return g;
}

TEST(PortLoopback, MulticastGoesToTheLinkAndComesToItsOwnAdapter) {
  bench t;
  t.senders[0].send(make_global(t.packets, 3, group_lid, group_gid(), datagram, wire::group_qpn), 0_ps);
  run_until_idle();
  packet& back = make_global(t.packets, 4, group_lid, group_gid(), datagram, wire::group_qpn);
  back.header.source_lid = own_lid;
  encode(back);
  t.line.send(back, 1_us);
  run_until_idle();
  ASSERT_EQ(t.wire.arrivals.size(), 1U);
  ASSERT_EQ(t.responder.arrivals.size(), 1U) << "and not again from the link";
  EXPECT_EQ(t.wire.arrivals[0].at, 20_ns);
  EXPECT_EQ(t.responder.arrivals[0].at, 50_ns);
  EXPECT_TRUE(t.responder.arrivals[0].intact);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_EQ(t.senders[0].taken.size(), 1U);
}

TEST(PortIngress, ReadsTheGlobalRouteHeader) {
  bench t;
  const hca_gid own = hca_port_gid(own_lid);
  const auto put = [&t](std::uint32_t psn, std::uint16_t dest, const hca_gid& gid, std::uint8_t opcode, std::uint32_t qpn) {
    t.line.send(make_global(t.packets, psn, dest, gid, opcode, qpn), 0_ps);
  };
  put(1, own_lid, own, wire::send_only, 77);
  put(2, own_lid, hca_port_gid(far_lid), wire::send_only, 77);
  put(3, own_lid, group_gid(), datagram, wire::group_qpn);
  put(4, group_lid, own, datagram, wire::group_qpn);
  put(5, group_lid, group_gid(), datagram, 77);
  put(6, group_lid, group_gid(), wire::send_only, wire::group_qpn);
  put(7, group_lid, group_gid(), datagram, wire::group_qpn);
  put(8, 0xffff, group_gid(), datagram, wire::group_qpn);
  run_until_idle();
  EXPECT_EQ(psns(t.responder), (std::vector<std::uint32_t>{1, 7}));
  EXPECT_EQ(t.counted("dropped_wrong_gid"), 5);
  EXPECT_EQ(t.counted("dropped_wrong_lid"), 1);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(PortLoopback, LeavesItsPlaceBeforeASlowLinkDoes) {
  port_config c = bench::config();
  c.egress_packets = 2;
  bench t(c);
  t.wire.latency = 10_us;
  t.senders[0].send(make(t.packets, wire::send_only, 0, far_lid), 0_ps);
  t.senders[0].send(make(t.packets, wire::send_only, 1, own_lid), 0_ps);
  t.senders[0].send(make(t.packets, wire::send_only, 2, far_lid), 0_ps);
  run_until_idle();
  ASSERT_EQ(t.senders[0].taken.size(), 3U);
  EXPECT_EQ(t.senders[0].taken[2].at, t.responder.arrivals.at(0).at);
  EXPECT_EQ(t.responder.arrivals[0].at, 52_ns);
}

TEST(PortLoopback, IsHeldBackByAConsumerThatKeepsItsPackets) {
  bench t;
  t.responder.mode = sink::answer::later;
  t.responder.latency = 1_us;
  for (std::uint32_t i = 0; i < 12; ++i) t.senders[0].send(make(t.packets, wire::send_only, i, own_lid), 0_ps);
  run_for(900_ns);
  EXPECT_EQ(t.senders[0].taken.size(), 4U);
  run_until_idle();
  std::vector<std::uint32_t> expected(12);
  for (std::uint32_t i = 0; i < 12; ++i) expected[i] = i;
  EXPECT_EQ(psns(t.responder), expected);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

// Whatever the mixture: nothing is lost, no packet overtakes on its own lane, every packet is answered once and pooled.
TEST(PortTraffic, IsConservedAndStaysInOrder) {
  port_config c = bench::config();
  c.virtual_lanes = 2;
  bench t(c, 3);
  t.wire.mode = sink::answer::later;
  t.wire.latency = 200_ns;
  t.responder.mode = sink::answer::later;
  t.responder.latency = 300_ns;
  t.requester.latency = 50_ns;
  random_stream r(3, "traffic");
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const auto who = static_cast<std::uint32_t>(r.below(4));
    const std::uint8_t op = r.chance(0.5) ? wire::send_only : wire::acknowledge;
    const std::uint8_t sl = static_cast<std::uint8_t>(r.below(2));
    const ps at = ps(static_cast<std::int64_t>(r.below(100))) + i * 20_ns;
    if (who == 3) {
      t.line.send(make(t.packets, op, i, own_lid, sl), at);
    } else {
      t.senders[who].send(make(t.packets, op, (who << 16) | i, r.chance(0.2) ? own_lid : far_lid, sl), at);
    }
  }
  run_until_idle();
  EXPECT_EQ(t.packets.in_use(), 0U);
  std::size_t taken = t.line.taken.size();
  for (const source& s : t.senders) taken += s.taken.size();
  EXPECT_EQ(taken, 3000U);
  EXPECT_GT(t.counted("egress_waits"), 0);
  EXPECT_GT(t.counted("loopback_packets"), 0);
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> last;
  for (const auto& a : t.wire.arrivals) {
    std::uint32_t& before = last[{a.psn >> 16, a.lane}];
    ASSERT_GE(a.psn, before);
    before = a.psn;
    ASSERT_TRUE(a.intact);
  }
}

}  // namespace
}  // namespace hcasim
