// Peer memory in whole systems: both ways of PCIe to it, the two paths of a stream, memory taken away under load.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/peer.h"
#include "testbenches/scenarios/peer_direct.h"
#include "testbenches/scenarios/sample_client.h"

namespace hcasim::kit {
namespace {

system_config pair_with_gpus(bool with_switch = false) {
  system_config s = with_peers(world::two_nodes());
  for (node_config& n : s.nodes) n.pcie.has_switch = with_switch;
  return s;
}

const path_outcome& of(const paths_result& r, bool into, bool bounced, std::uint64_t size) {
  const auto it = std::find_if(r.outcomes.begin(), r.outcomes.end(),
                               [&](const path_outcome& o) { return o.into == into && o.bounced == bounced && o.size == size; });
  if (it == r.outcomes.end()) throw std::logic_error("no such stream");
  return *it;
}

paths_result paths(const system_config& config, const path_options& o) {
  world w(config);
  paths_result r;
  start_paths(w.sys(), o, r);
  sc_core::sc_start();
  EXPECT_EQ(r.problem, "");
  EXPECT_TRUE(r.ok);
  EXPECT_EQ(w.sys().packets().in_use(), 0U);
  return r;
}

double per_byte(std::uint64_t on_link, const path_outcome& o) {
  return static_cast<double>(on_link) / static_cast<double>(o.size * o.messages);
}

TEST(peer_direct, streams_arrive_on_both_paths_and_use_the_links_they_should) {
  const std::uint64_t size = 64_KiB;
  const paths_result r = paths(pair_with_gpus(), {.smallest = size, .largest = size, .bytes = 2_MiB});
  ASSERT_EQ(r.outcomes.size(), 4U);
  for (const path_outcome& o : r.outcomes) {
    EXPECT_TRUE(o.intact);
    EXPECT_GT(o.latency, 0_ps);
    EXPECT_GT(o.cpu, 0_ps);
  }
  const path_outcome& in = of(r, true, false, size);
  const path_outcome& in_bounced = of(r, true, true, size);
  // TLPs of 256 B with 26 B around them, and a few WQEs, CQEs and doorbells.
  const double written = 282.0 / 256;
  EXPECT_NEAR(per_byte(in.pcie.adapter_up, in), written, 0.02);
  EXPECT_NEAR(per_byte(in.pcie.gpu_down, in), written, 0.02);
  EXPECT_LT(per_byte(in.pcie.gpu_up, in), 0.01);
  EXPECT_NEAR(per_byte(in_bounced.pcie.adapter_up, in_bounced), written, 0.02);
  // The copy engine reads: requests up, completions of 256 B with 22 B around them down.
  EXPECT_NEAR(per_byte(in_bounced.pcie.gpu_down, in_bounced), 278.0 / 256, 0.02);
  EXPECT_NEAR(per_byte(in_bounced.pcie.gpu_up, in_bounced), 26.0 / 512, 0.02);
  EXPECT_LT(in.latency, in_bounced.latency);
  EXPECT_LT(in.cpu, in_bounced.cpu);
  const path_outcome& out = of(r, false, false, size);
  const path_outcome& out_bounced = of(r, false, true, size);
  EXPECT_NEAR(per_byte(out.pcie.gpu_up, out), 278.0 / 256, 0.02);
  EXPECT_NEAR(per_byte(out.pcie.adapter_down, out), 278.0 / 256, 0.03);
  EXPECT_NEAR(per_byte(out_bounced.pcie.gpu_up, out_bounced), written, 0.02);
}

// Reads of the BAR are slower than the link, the copy engine is not: so large messages out of the GPU are faster bounced, and
// small ones, for which a copy must be started, are not.
TEST(peer_direct, the_paths_out_of_the_gpu_cross_over) {
  system_config s = pair_with_gpus();
  s.link.rate = {100e9};
  for (node_config& n : s.nodes) n.pcie.generation = 4;
  const paths_result r = paths(s, {.smallest = 4_KiB, .largest = 1_MiB, .bytes = 2_MiB});
  EXPECT_GT(of(r, false, false, 4_KiB).goodput(), of(r, false, true, 4_KiB).goodput());
  EXPECT_LT(of(r, false, false, 1_MiB).goodput(), of(r, false, true, 1_MiB).goodput());
  EXPECT_GT(of(r, true, false, 4_KiB).goodput(), 1.1 * of(r, true, true, 4_KiB).goodput());
  EXPECT_GT(of(r, true, false, 1_MiB).goodput(), 0.99 * 100e9 * 4096 / 4122) << "a stream, and not its beginning and end";
  // Direct: what the BAR gives.
  EXPECT_NEAR(of(r, false, false, 1_MiB).goodput() / s.nodes[1].peer[0].read_rate.bits_per_second, 1.0, 0.05);
  for (const std::uint64_t size : {4_KiB, 64_KiB, 1_MiB}) {
    const double direct = of(r, true, false, size).goodput();
    const double bounced = of(r, true, true, size).goodput();
    EXPECT_LT(bounced, 1.005 * direct) << "into the GPU direct is ahead, or both have what the link gives: " << size;
    EXPECT_LT(std::max(direct, bounced), 1.005 * 100e9 * 4096 / 4122) << "4 KiB of payload in a packet of 4122 bytes";
  }
}

// From the memory of one GPU into that of another, neither host having a byte of it: what the BAR that is read gives. Bounced
// at both ends it is behind until a copy is small beside its message.
TEST(peer_direct, one_gpu_writes_into_another) {
  const system_config s = pair_with_gpus();
  const paths_result r = paths(s, {.smallest = 4_KiB, .largest = 256_KiB, .bytes = 2_MiB, .both_ends = true});
  const auto between = [&](bool bounced, std::uint64_t size) -> const path_outcome& {
    const auto it = std::find_if(r.outcomes.begin(), r.outcomes.end(),
                                 [&](const path_outcome& o) { return o.from_gpu && o.bounced == bounced && o.size == size; });
    if (it == r.outcomes.end()) throw std::logic_error("no such stream");
    return *it;
  };
  for (const std::uint64_t size : {4_KiB, 16_KiB, 64_KiB, 256_KiB}) {
    EXPECT_TRUE(between(false, size).intact);
    EXPECT_TRUE(between(true, size).intact);
    EXPECT_LT(between(false, size).latency, between(true, size).latency);
    const double slowest = std::min(s.nodes[0].peer[0].read_rate.bits_per_second, s.link.rate.bits_per_second * 4096 / 4122);
    EXPECT_NEAR(between(false, size).goodput() / slowest, 1, 0.02) << size;
  }
  EXPECT_GT(between(false, 4_KiB).goodput(), 3 * between(true, 4_KiB).goodput());
}

// One WRITE of 64 bytes into the GPU of a node: when it reaches the device's port. Then 16 of 4 KiB: payload that the root
// complex has seen meanwhile.
struct way {
  ps at{0};
  double root_bytes = 0;
};
void go(cpu& c, node& n, way& result) {
  driver::peer::memory_owner owner(n.host, node::peer_bar(0), "gpu0");
  EXPECT_EQ(owner.open(c), 0);
  EXPECT_TRUE(owner.join(n.device().peers()));
  port_monitor monitor(n.peer(0));
  process_context p(c, n);
  ibv_qp* qp = p.create_qp();
  EXPECT_EQ(p.connect(qp, p.address_of(qp)), 0);
  const region here = p.allocate(4096);
  const std::uint64_t va = owner.allocate(c, p.memory, 64_KiB);
  ibv_mr* mr = ibv_reg_mr(c, p.pd, va, 64_KiB, all_rights);
  request r{.sges = {{here.addr, 64, here.mr->lkey}}, .remote = va, .rkey = mr->rkey};
  EXPECT_EQ(complete(c, qp, r).status, IBV_WC_SUCCESS);  // caches are warm now
  c.spend(100_us);
  c.sync();
  const ps begin = c.time();
  EXPECT_EQ(complete(c, qp, r).status, IBV_WC_SUCCESS);
  result.at = monitor.last_access() - begin;
  const bool behind_switch = n.pcie.config().has_switch;
  const double before = behind_switch ? statistic_of(n.pcie, "root_up_payload_bytes") : 0;
  r.sges[0].length = 4096;
  for (int i = 0; i < 16; ++i) EXPECT_EQ(complete(c, qp, r).status, IBV_WC_SUCCESS);
  if (behind_switch) result.root_bytes = statistic_of(n.pcie, "root_up_payload_bytes") - before;
  EXPECT_TRUE(p.close());
  owner.leave(c);
}

// Two nodes that differ in one knob, each talking to itself: the WRITE is later by just that.
TEST(peer_direct, a_slower_root_complex_delays_the_write_exactly) {
  system_config s = with_peers(world::two_nodes());
  s.nodes[1].pcie.root_forward_latency = s.nodes[0].pcie.root_forward_latency + 1_us;
  world w(s);
  way ways[2];
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) { go(c, n, ways[0]); }, [&](cpu& c, node& n) { go(c, n, ways[1]); }}));
  EXPECT_EQ(ways[1].at - ways[0].at, 1_us);
}

TEST(peer_direct, behind_one_switch_the_root_complex_sees_nothing_of_it) {
  system_config s = with_peers(world::one_node());
  s.nodes[0].pcie.has_switch = true;
  world w(s);
  way result;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) { go(c, n, result); }}));
  // 16 WRITEs of 4 KiB went by: the root complex has carried CQEs only.
  EXPECT_GT(result.root_bytes, 0);
  EXPECT_LT(result.root_bytes, 16 * 512);
}

takings_result takings(const system_config& config, const taking_options& o) {
  world w(config);
  takings_result r;
  start_takings(w.sys(), o, 11, r);
  sc_core::sc_start();
  EXPECT_EQ(r.problem, "");
  EXPECT_TRUE(r.ok);
  EXPECT_EQ(r.late_bytes, 0U) << r.violation;
  EXPECT_EQ(r.takings.size(), o.times);
  const auto& files = w.sys().at(1).device().peers();
  EXPECT_EQ(files.count("gpu0", "num_free_callbacks"), o.times);
  EXPECT_EQ(files.count("gpu0", "num_alloc_mrs"), o.times + 1U);
  EXPECT_EQ(files.count("gpu0", "num_dealloc_mrs"), o.times + 1U);
  EXPECT_EQ(w.sys().packets().in_use(), 0U);
  return r;
}

void expect_load(const takings_result& r) {
  std::uint64_t most = 0;
  ps longest{0};
  for (const taking& t : r.takings) {
    most = std::max(most, t.in_flight);
    longest = std::max(longest, t.latency);
    EXPECT_GT(t.latency, 0_ps);
  }
  EXPECT_GT(most, 2U) << "accesses were in flight";
  EXPECT_LT(longest, 1_ms);
}

TEST(peer_direct, memory_is_taken_away_under_load) {
  expect_load(takings(pair_with_gpus(), {.times = 60}));
}
TEST(peer_direct, memory_is_taken_away_under_load_behind_a_switch) {
  expect_load(takings(pair_with_gpus(true), {.times = 60, .size = 16_KiB}));
}
TEST(peer_direct, memory_of_a_slow_device_is_taken_away_under_load) {
  system_config s = pair_with_gpus();
  for (node_config& n : s.nodes) {
    n.peer[0].write_rate = {5e9};
    n.peer[0].write_latency = 3_us;
    n.peer[0].read_slots = 1;
  }
  expect_load(takings(s, {.times = 30, .doomed = 4}));
}

// The sample client through its life: RDMA reaches pages of the host that no process maps, until they are taken back.
TEST(peer_direct, the_sample_client_lends_host_memory_and_takes_it_back) {
  world w(world::one_node());
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context owner(c, n);
    process_context p(c, n);
    sample_client client(owner.memory, 0x5000'0000'0000, 256_KiB);
    ASSERT_TRUE(client.join(n.device().peers()));
    ibv_qp* a = p.create_qp();
    ibv_qp* b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    const region here = p.allocate(64_KiB);
    const std::uint64_t at = client.va() + 5000;
    EXPECT_EQ(ibv_reg_mr(c, p.pd, client.va() + 200_KiB, 64_KiB, all_rights), nullptr) << "not wholly its memory";
    ibv_mr* mr = ibv_reg_mr(c, p.pd, at, 60000, all_rights);
    ASSERT_NE(mr, nullptr);
    p.fill(here.addr, 60000, 41);
    const request r{.sges = {{here.addr, 60000, here.mr->lkey}}, .remote = at, .rkey = mr->rkey};
    EXPECT_EQ(complete(c, a, r).status, IBV_WC_SUCCESS);
    EXPECT_EQ(client.bytes(at, 60000), p.bytes(here.addr, 60000)) << "over 16 pages that lie apart";
    EXPECT_EQ(client.take_back(c), 0);
    p.fill(here.addr, 60000, 42);
    EXPECT_EQ(complete(c, a, r).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_NE(client.bytes(at, 64), p.bytes(here.addr, 64));
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    EXPECT_TRUE(client.idle());
    EXPECT_EQ(n.device().peers().count("sample", "num_alloc_mrs"), n.device().peers().count("sample", "num_dealloc_mrs"));
    client.leave(c);
    EXPECT_TRUE(p.close());
    EXPECT_TRUE(owner.close());
  }}));
}

TEST(peer_direct, the_exported_files_are_written) {
  world w(with_peers(world::one_node()));
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    driver::peer::memory_owner owner(n.host, node::peer_bar(0), "gpu0", {.version = "2.7"});
    EXPECT_EQ(owner.open(c), 0);
    EXPECT_TRUE(owner.join(n.device().peers()));
    process_context p(c, n);
    const std::uint64_t va = owner.allocate(c, p.memory, 64_KiB);
    EXPECT_NE(ibv_reg_mr(c, p.pd, va + 8, 100, all_rights), nullptr);
    EXPECT_EQ(n.device().peers().read("gpu0", "num_reg_bytes"), "100") << "read while it runs";
    EXPECT_TRUE(p.close());
    owner.leave(c);
  }}));
  const auto folder = std::filesystem::temp_directory_path() / ("hcasim_peers_" + std::to_string(getpid()));
  w.at(0).device().peers().write(folder);
  const auto read = [&](const char* file) {
    std::ifstream in(folder / "memory_peers" / "gpu0" / file);
    std::string line;
    std::getline(in, line);
    return line;
  };
  EXPECT_EQ(read("version"), "2.7");
  EXPECT_EQ(read("num_alloc_mrs"), "1");
  EXPECT_EQ(read("num_dealloc_mrs"), "1");
  EXPECT_EQ(read("num_reg_pages"), "1");
  EXPECT_EQ(read("num_dereg_bytes"), "100");
  EXPECT_EQ(read("num_free_callbacks"), "0");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hcasim::kit
