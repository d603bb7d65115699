// An adapter is removed while it answers READs. From this moment its ports are dark, whatever its units still do, so its peer
// meets silence. Once the adapter is back, both work with new QPs.
#include <gtest/gtest.h>

#include <ostream>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/leak_check.h"
#include "testbenches/kit/world.h"
#include "testbenches/scenarios/faults/breaker.h"
#include "testbenches/scenarios/faults/recovery.h"

namespace hcasim::faults {
namespace {

using namespace hcasim::kit;  // NOLINT(google-build-using-namespace)

constexpr std::uint32_t reads = 16;
constexpr std::uint64_t read_bytes = 64_KiB;

struct joined {
  const char* name;
  topology fabric = topology::direct;
  std::uint8_t port = 1;  // of two, if it is the second
  bool iommu = false;
  ps gone = 500_us;

  friend std::ostream& operator<<(std::ostream& to, const joined& j) { return to << j.name; }
};

struct invitation {
  address at;
  std::uint64_t memory = 0;
  std::uint32_t rkey = 0;
};

struct removal_scene {
  removal_scene(const joined& machine, hcasim::system& on) : how(machine), s(on) {
    options.timeout = 6;
    options.retry = 1;
    options.port = how.port;
  }

  const joined& how;
  hcasim::system& s;
  qp_options options{};
  out_of_band<invitation> to_reader{}, to_target{};

  [[nodiscard]] node& target() const { return s.at(1); }
  [[nodiscard]] double sent_by_target() const {
    return statistic_of(target().hca.port_at(how.port - 1U), "egress_packets") -
           statistic_of(target().hca.port_at(how.port - 1U), "loopback_packets");
  }
  [[nodiscard]] double received_by_target() const {
    return statistic_of(target().hca.port_at(how.port - 1U), "ingress_packets");
  }
  // Returns the packets that the target's end of its cable has sent.
  [[nodiscard]] double on_the_wire() const {
    if (how.fabric == topology::direct) return statistic_of(s.cable(how.port - 1U), "end1_packets");
    return statistic_of(s.cable(how.port == 1 ? 1 : 3), "end0_packets");
  }
  void remove_target() const {
    for (const weakness& w : weaknesses(s)) {
      if (w.place == "node1.pcie" && w.what().name == "surprise_removal") w.unit->inject(w.kind, {.length = how.gone});
    }
  }
  // Makes a QP with memory, and connects it with the peer's.
  ibv_qp* meet(process_context& p, region& memory, out_of_band<invitation>& out, out_of_band<invitation>& in,
               invitation& peer) const {
    memory = p.allocate(read_bytes);
    ibv_qp* const qp = p.create_qp(options);
    out.send(p.c, {p.address_of(qp, options), memory.addr, memory.mr->rkey});
    peer = in.receive(p.c);
    p.must_connect(qp, peer.at, options);
    out.send(p.c, {});
    (void)in.receive(p.c);
    return qp;
  }

  void read(cpu& c, node& n) {
    process_context p(c, n);
    region here;
    invitation peer;
    ibv_qp* const qp = meet(p, here, to_target, to_reader, peer);
    for (std::uint32_t i = 0; i < reads; ++i) {
      const request r{.opcode = IBV_WR_RDMA_READ,
                      .id = i,
                      .sges = {{here.addr, read_bytes, here.mr->lkey}},
                      .remote = peer.memory,
                      .rkey = peer.rkey};
      ASSERT_EQ(post(c, qp, r), 0);
    }
    ASSERT_EQ(next_completion(c, p.cq, 1_ms)->status, IBV_WC_SUCCESS);
    c.sync();
    remove_target();
    const double on_wire = on_the_wire();
    const double received = received_by_target();
    const double sent = sent_by_target();
    c.spend(how.gone / 2);
    c.sync();
    EXPECT_EQ(on_the_wire(), on_wire);
    EXPECT_EQ(received_by_target(), received);
    EXPECT_GT(sent_by_target(), sent) << "its units had more to send";
    if (how.gone > 100_us) {
      EXPECT_EQ(n.device().port_up(how.port), how.fabric == topology::with_switch);
    }
    ibv_wc_status ended = IBV_WC_SUCCESS;
    for (std::uint32_t i = 1; i < reads; ++i) {
      const auto wc = next_completion(c, p.cq, 10_ms);
      ASSERT_TRUE(wc.has_value());
      if (ended == IBV_WC_SUCCESS) ended = wc->status;
    }
    EXPECT_EQ(ended, IBV_WC_RETRY_EXC_ERR);
    region again;
    ibv_qp* const other = meet(p, again, to_target, to_reader, peer);
    const request r{.id = 7, .sges = {{again.addr, read_bytes, again.mr->lkey}}, .remote = peer.memory, .rkey = peer.rkey};
    EXPECT_EQ(complete(c, other, r).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(n.device().port_up(how.port));
    to_target.send(c, {});
    EXPECT_TRUE(p.close());
  }

  void serve(cpu& c, node& n) {
    process_context p(c, n);
    region here;
    invitation peer;
    (void)meet(p, here, to_reader, to_target, peer);
    while (!n.device().dead()) {
      c.spend(10_us);
      c.sync();
    }
    ASSERT_EQ(n.device().open(c), 0);
    EXPECT_TRUE(p.close());
    process_context fresh(c, n);
    (void)meet(fresh, here, to_reader, to_target, peer);
    (void)to_target.receive(c);
    EXPECT_TRUE(fresh.close());
  }
};

class removals : public ::testing::TestWithParam<joined> {};

TEST_P(removals, silence_the_ports) {
  system_config config = world::two_nodes();
  watch_closely(config);
  config.fabric = GetParam().fabric;
  for (node_config& n : config.nodes) {
    n.hca.port.count = GetParam().port;
    n.iommu.enabled = GetParam().iommu;
  }
  world w(config);
  removal_scene scene(GetParam(), w.sys());
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) { scene.read(c, n); }, [&](cpu& c, node& n) { scene.serve(c, n); }}));
  for (const std::string& what : leak_check(w.sys())) ADD_FAILURE() << what;
}

INSTANTIATE_TEST_SUITE_P(
    all, removals,
    ::testing::Values(joined{.name = "direct"}, joined{.name = "behind_a_switch", .fabric = topology::with_switch},
                      joined{.name = "second_port", .port = 2},
                      joined{.name = "second_port_behind_a_switch", .fabric = topology::with_switch, .port = 2},
                      joined{.name = "with_iommu", .iommu = true}, joined{.name = "shorter_than_its_reset", .gone = 1_us}),
    [](const ::testing::TestParamInfo<joined>& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::faults
