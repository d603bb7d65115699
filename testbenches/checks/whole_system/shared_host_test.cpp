// Two adapters in one host share memory, PCIe tree and interrupts. Each has its own traffic and failures.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"
#include "testbenches/scenarios/message_rate.h"

namespace hcasim::kit {
namespace {

system_config hosts(std::initializer_list<const char*> beside) {
  system_config c = world::two_nodes();
  c.nodes.resize(beside.size(), node_config(c.nodes[0]));
  std::size_t i = 0;
  for (const char* const name : beside) c.nodes[i++].beside = name;
  return c;
}

std::string refusal_of(const system_config& c) {
  try {
    const world w(c);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "none";
}

TEST(SharedHost, OneAdapterWritesToTheOther) {
  hcasim::system s("system", hosts({"", "node0"}));
  EXPECT_EQ(&s.at(0).host, &s.at(1).host);
  EXPECT_NE(&s.at(0).hca, &s.at(1).hca);
  stream_options o;
  o.messages = 300;
  stream_result r;
  start_stream(s, o, r);
  run_simulation();
  EXPECT_TRUE(r.ok);
  EXPECT_EQ(r.completed, 300U);
}

double goodput_of(const std::string& knobs) {
  const outcome o =
      run_program(places::program,
                  "run message_rate --messages 300 --size '4 KiB' --region '4 KiB' --no-trace --json -o out --force "
                  "--set 'node*.host.memory_bandwidth=40 Gb/s' " +
                      knobs);
  EXPECT_EQ(o.status, 0) << o.text;
  return nlohmann::json::parse(o.text)["figures"]["goodput"]["value"];
}

class shared_memory : public test_in_own_folder {};

// Payload crosses the host's memory twice.
TEST_F(shared_memory, has_half_the_bandwidth_for_each_adapter) {
  const double two_hosts = goodput_of("");
  const double one_host = goodput_of("--set node1.beside=node0");
  EXPECT_LT(one_host, 0.62 * two_hosts);
  EXPECT_GT(one_host, 0.4 * two_hosts);
}

struct two_targets {
  out_of_band<address> to_writer[2], to_target[2];
  out_of_band<region> memory[2];
  out_of_band<int> written[2], failed;
  std::vector<std::uint8_t> sent[2], seen[2];
};

// A program on the `i`-th adapter of the host. The first one's adapter fails when its bytes have come.
program target_of(two_targets& x, std::size_t i) {
  return [&x, i](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* const qp = p.create_qp();
    x.to_writer[i].send(c, p.address_of(qp));
    EXPECT_EQ(p.connect(qp, x.to_target[i].receive(c)), 0);
    const region r = p.allocate(4096);
    x.memory[i].send(c, r);
    x.written[i].receive(c);
    x.seen[i] = p.bytes(r.addr, 4096);
    if (i != 0) return;
    n.device().fail();
    x.failed.send(c, 0);
  };
}

TEST(SharedHost, AnAdapterLivesOnWhenTheOtherFails) {
  world w(hosts({"", "node0", ""}));
  two_targets x;
  const program writer = [&x](cpu& c, node& n) {
    process_context p(c, n);
    for (std::size_t i = 0; i < 2; ++i) {
      ibv_qp* const qp = p.create_qp();
      x.to_target[i].send(c, p.address_of(qp));
      EXPECT_EQ(p.connect(qp, x.to_writer[i].receive(c)), 0);
      const region from = p.allocate(4096);
      p.fill(from.addr, 4096, static_cast<std::uint8_t>(0x51 + i));
      const region to = x.memory[i].receive(c);
      const request write{.sges = {{from.addr, 4096, from.mr->lkey}}, .remote = to.addr, .rkey = to.mr->rkey};
      EXPECT_EQ(complete(c, qp, write).status, IBV_WC_SUCCESS) << i;
      x.written[i].send(c, 0);
      if (i == 0) x.failed.receive(c);
      x.sent[i] = p.bytes(from.addr, 4096);
    }
  };
  EXPECT_TRUE(w.run({target_of(x, 0), target_of(x, 1), writer}));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(x.seen[i], x.sent[i]) << i;
  EXPECT_NE(x.sent[0], x.sent[1]);
  EXPECT_EQ(w.at(0).device().counters().failures.value(), 1U);
  EXPECT_EQ(w.at(1).device().counters().failures.value(), 0U);
}

struct refusal {
  const char* name;
  system_config config;
  const char* text;

  friend std::ostream& operator<<(std::ostream& to, const refusal& r) { return to << r.name; }
};

system_config changed(std::initializer_list<const char*> beside, void (*change)(system_config&)) {
  system_config c = hosts(beside);
  change(c);
  return c;
}

class impossible : public ::testing::TestWithParam<refusal> {};

TEST_P(impossible, hosts_are_refused) {
  EXPECT_EQ(refusal_of(GetParam().config), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    shared, impossible,
    ::testing::Values(
        refusal{"first", hosts({"node0", ""}),
                "node0.beside: 'node0' is no earlier node; the first node has a host of its own"},
        refusal{"later", hosts({"", "node2", ""}), "node1.beside: 'node2' is no earlier node; the first is node0"},
        refusal{"chain", hosts({"", "node0", "node1"}), "node2.beside: node1 is in the host of node0; name that"},
        refusal{"iommu", changed({"", "node0"}, [](system_config& c) { c.nodes[0].iommu.enabled = true; }),
                "node0.iommu.enabled: a host with an IOMMU has one adapter, and node1.beside puts another one there"},
        refusal{"peer", changed({"", "node0"}, [](system_config& c) { c.nodes[1].peer[0].kind = peer_kind::gpu; }),
                "node1: peer devices of a host belong to node0, whose host it is"},
        refusal{"atc", changed({"", "node0"}, [](system_config& c) { c.nodes[1].hca.atc.enabled = true; }),
                "hca.atc.enabled: an adapter's own translations need an IOMMU"}),
    [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace hcasim::kit
