#include "models/machine/pcie/pcie.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "models/machine/pcie/pcie_bench.h"

namespace hcasim {
namespace {

using testing::bench;
using testing::burst_memory;
using testing::run_until_idle;

pcie_config plain() {
  pcie_config c;
  c.dllp_overhead = 0;
  return c;
}
ps wire(const pcie_config& c, std::uint64_t bytes) {
  return pcie_rate(c.generation, c.lanes).time_for(bytes);
}

TEST(pcie, read_round_trip_is_exact) {
  const pcie_config c = plain();
  bench b(c);
  b.memory.bytes[0x1040] = std::byte{7};
  auto& r = b.dma[0].send(false, 0x1040, 64, 10_ns);
  run_until_idle();
  const ps at_memory = 10_ns + wire(c, 26) + c.link_latency + c.root_read_latency;
  ASSERT_EQ(b.memory.log.size(), 1u);
  EXPECT_EQ(b.memory.log[0].at, at_memory);
  EXPECT_EQ(r.extension.memory_at, at_memory);
  EXPECT_EQ(r.answered, at_memory + 80_ns + wire(c, 64 + 22) + c.link_latency);
  EXPECT_EQ(r.data[0], std::byte{7});
  EXPECT_TRUE(r.is_response_ok());
  EXPECT_EQ(r.get_address(), 0x1040u);
}

TEST(pcie, read_sees_what_is_there_when_it_reaches_memory) {
  const pcie_config c = plain();
  bench b(c);
  auto& r = b.dma[0].send(false, 0x40, 64, 0_ps);
  const ps at = wire(c, 26) + c.link_latency + c.root_read_latency;
  testing::run_for(at - 1_ps);
  b.memory.bytes[0x40] = std::byte{1};
  testing::run_for(2_ps);
  b.memory.bytes[0x40] = std::byte{2};
  run_until_idle();
  EXPECT_EQ(r.data[0], std::byte{1});
}

TEST(pcie, large_read_round_trip_is_exact) {
  pcie_config c = plain();
  c.rcb = 128;
  bench b(c);
  auto& r = b.dma[0].send(false, 0x2040, 4096 - 0x40, 0_ps);
  run_until_idle();
  // 8 requests; the first has reached memory after its own time on the link. Every request ends 64 B beyond a completion
  // boundary and gives 192 + 256 + 64 bytes, the last one (448 bytes) 192 + 256.
  const ps first = wire(c, 8 * 26) / 8;
  const ps completions = wire(c, 4032 + (7 * 3 + 2) * 22);
  EXPECT_EQ(r.answered, first + c.link_latency + c.root_read_latency + 80_ns + completions + c.link_latency);
  EXPECT_EQ(b.value("device0_up_tlps"), 8);
  EXPECT_EQ(b.value("device0_down_tlps"), 23);
  EXPECT_EQ(b.value("device0_down_header_bytes"), 23 * 22);
  EXPECT_EQ(b.value("device0_down_payload_bytes"), 4032);
}

TEST(pcie, write_lands_and_is_answered_exactly) {
  const pcie_config c = plain();
  bench b(c);
  auto& w = b.dma[0].send(true, 0x100, 1024, 5_ns);
  w.data[1023] = std::byte{9};
  run_until_idle();
  const ps land = 5_ns + wire(c, 1024 + 4 * 26) + c.link_latency + c.root_write_latency;
  EXPECT_EQ(b.memory.log[0].at, land);
  EXPECT_EQ(w.extension.memory_at, land);
  EXPECT_EQ(w.answered, land + 80_ns);
  EXPECT_EQ(b.memory.bytes[0x100 + 1023], std::byte{9});
}

// A message of a device is a header, goes to the root complex whatever its address, and stays behind the writes before it.
TEST(pcie, messages_of_a_device_are_posted_behind_its_writes) {
  const pcie_config c = plain();
  bench b(c);
  b.dma[0].send(true, 0x100, 1024, 5_ns);
  auto& m = b.dma[0].send(true, bench::bar_base, 0, 5_ns);
  m.extension.message = pcie_message::invalidate_done;
  run_until_idle();
  ASSERT_EQ(b.memory.log.size(), 2U);
  EXPECT_EQ(b.bar[0].log.size(), 0U);
  const ps written = wire(c, 1024 + 4 * 26);
  EXPECT_EQ(b.memory.log[1].at, 5_ns + written + wire(c, 26) + c.link_latency + c.root_write_latency);
  EXPECT_EQ(b.value("device0_up_tlps"), 5);
  EXPECT_EQ(b.value("device0_up_payload_bytes"), 1024) << "the message has none";
}

TEST(pcie, messages_of_the_root_complex_go_to_their_requester) {
  const pcie_config c = plain();
  bench b(c, 2);
  b.tree.map_requester(1, 7);
  auto& m = b.core.send(true, 0, 8, 5_ns);
  m.extension.message = pcie_message::invalidate;
  m.extension.requester = 7;
  auto& unknown = b.core.send(true, 0, 0, 50_ns);
  unknown.extension.message = pcie_message::page_response;
  unknown.extension.requester = 9;
  run_until_idle();
  ASSERT_EQ(b.bar[1].log.size(), 1U);
  EXPECT_EQ(b.bar[0].log.size(), 0U);
  EXPECT_EQ(b.bar[1].log[0].at, 5_ns + c.root_mmio_latency + wire(c, 8 + 26) + c.link_latency);
  EXPECT_EQ(b.value("device1_down_tlps"), 1);
  EXPECT_NE(unknown.get_response_status(), tlm::TLM_OK_RESPONSE);
}

TEST(pcie, a_translation_request_is_a_read_of_eight_bytes) {
  const pcie_config c = plain();
  bench b(c);
  auto& q = b.dma[0].send(false, 0x5000, 8, 5_ns);
  q.extension.address_type = pcie_address_type::translation_request;
  run_until_idle();
  EXPECT_EQ(q.answered, 5_ns + wire(c, 26) + c.link_latency + c.root_read_latency + 80_ns + wire(c, 8 + 22) + c.link_latency);
}

TEST(pcie, kernel_events_per_burst) {
  bench b(plain());
  for (int i = 0; i < 100; ++i) b.dma[0].send(true, 0, 256, i * 1_us);
  run_until_idle();
  const auto writes = event_queue::instance().hand_overs();
  EXPECT_EQ(writes, 300u);  // one to send, one to land, one to acknowledge
}

TEST(pcie, kernel_events_per_read) {
  bench b(plain());
  for (int i = 0; i < 100; ++i) b.dma[0].send(false, 0, 256, i * 1_us);
  run_until_idle();
  EXPECT_EQ(event_queue::instance().hand_overs(), 400u);
}

TEST(pcie, other_answers_of_a_memory_take_the_same_time) {
  const pcie_config c = plain();
  bench b(c, 2);
  b.memory.answers = burst_memory::style::backward;
  auto& r = b.dma[0].send(false, 0x40, 64, 0_ps);
  run_until_idle();
  const ps rtt = wire(c, 26) + c.link_latency + c.root_read_latency + 80_ns + wire(c, 86) + c.link_latency;
  EXPECT_EQ(r.answered, rtt);
  b.memory.answers = burst_memory::style::begin_response;
  const ps t = now() + 1_us;
  auto& r2 = b.dma[1].send(false, 0x40, 64, t);
  auto& w2 = b.dma[1].send(true, 0x40, 64, t + 1_us);
  run_until_idle();
  EXPECT_EQ(r2.answered, t + rtt);
  EXPECT_TRUE(w2.is_response_ok());
}

TEST(pcie, writes_land_in_order_and_reads_stay_behind_them) {
  pcie_config c = plain();
  c.root_write_latency = 500_ns;
  c.root_read_latency = 10_ns;
  bench b(c);
  auto& w1 = b.dma[0].send(true, 0x1000, 4096, 0_ps);
  auto& w2 = b.dma[0].send(true, 0x1000, 4, 0_ps);
  auto& r = b.dma[0].send(false, 0x1000, 8, 0_ps);
  w1.fill(std::byte{1});
  w2.fill(std::byte{2});
  run_until_idle();
  EXPECT_EQ(r.data[0], std::byte{2});
  EXPECT_EQ(r.data[4], std::byte{1});
  ASSERT_EQ(b.memory.log.size(), 3u);
  EXPECT_EQ(b.memory.log[0].bytes, 4096u);
  EXPECT_EQ(b.memory.log[1].bytes, 4u);
  EXPECT_FALSE(b.memory.log[2].write);
  EXPECT_EQ(b.memory.log[2].at, b.memory.log[1].at);
}

TEST(pcie, order_holds_for_requests_with_delays_out_of_order) {
  bench b(plain());
  auto& w1 = b.dma[0].send_ahead(true, 0x1000, 300_ns, 64);
  auto& w2 = b.dma[0].send_ahead(true, 0x1000, 100_ns, 64);
  auto& r = b.dma[0].send_ahead(false, 0x1000, 0_ps, 64);
  w1.fill(std::byte{1});
  w2.fill(std::byte{2});
  run_until_idle();
  // Accesses happen in the order of their times, whatever the order of the calls.
  EXPECT_EQ(r.data[0], std::byte{0});
  EXPECT_TRUE(!b.memory.log[0].write && b.memory.log[1].write && b.memory.log[2].write);
  EXPECT_LT(w2.answered, w1.answered);
}

TEST(pcie, relaxed_write_fills_an_idle_link) {
  bench b(plain());
  b.dma[0].send_ahead(true, 0x2000, 400_ns, 64);
  b.dma[0].send(true, 0x3000, 64, 1_ns, true);
  run_until_idle();
  ASSERT_EQ(b.memory.log.size(), 2u);
  EXPECT_EQ(b.memory.log[0].address, 0x3000u);
}

TEST(pcie, completions_come_back_in_order) {
  bench b(plain());
  auto& big = b.dma[0].send(false, 0, 4096, 0_ps);
  auto& small = b.dma[0].send(false, 0, 4, 0_ps);
  run_until_idle();
  EXPECT_LT(big.answered, small.answered);
}

void throughput(bool write, std::uint64_t bytes) {
  const pcie_config c;
  bench b(c);
  const std::uint64_t total = 4000;
  b.dma[0].stream(write, bytes, 256, total);
  run_until_idle();
  ASSERT_EQ(b.dma[0].answers, total);
  // Steady state: from a quarter of the answers on to three quarters.
  const auto& order = b.dma[0].order;
  const double seconds = to_seconds(order[3 * total / 4]->answered - order[total / 4]->answered);
  const double rate = static_cast<double>(bytes * 8 * total / 2) / seconds;
  const bit_rate limit = write ? b.tree.write_limit(0, bytes) : b.tree.read_limit(0, bytes);
  EXPECT_NEAR(rate / limit.bits_per_second, 1.0, 0.02) << bytes;
  const std::uint64_t tlps = (bytes + c.mps - 1) / c.mps;
  const std::uint64_t header = write ? c.request_header : c.completion_header;
  const double formula = pcie_rate(3, 16).bits_per_second * 0.95 * static_cast<double>(bytes) /
                         static_cast<double>(std::max(bytes + tlps * header, write ? 0 : c.request_header));
  EXPECT_NEAR(rate / formula, 1.0, 0.02) << bytes;
}
TEST(pcie_throughput, writes_64) {
  throughput(true, 64);
}
TEST(pcie_throughput, writes_100) {
  throughput(true, 100);
}
TEST(pcie_throughput, writes_256) {
  throughput(true, 256);
}
TEST(pcie_throughput, writes_512) {
  throughput(true, 512);
}
TEST(pcie_throughput, writes_4096) {
  throughput(true, 4096);
}
TEST(pcie_throughput, reads_64) {
  throughput(false, 64);
}
TEST(pcie_throughput, reads_256) {
  throughput(false, 256);
}
TEST(pcie_throughput, reads_1024) {
  throughput(false, 1024);
}
TEST(pcie_throughput, reads_4096) {
  throughput(false, 4096);
}

TEST(pcie_credits, header_credits_bound_small_writes) {
  pcie_config c = plain();
  c.posted_headers = 8;
  bench b(c);
  const std::uint64_t total = 2000;
  b.dma[0].stream(true, 64, 256, total);
  run_until_idle();
  // Little: 8 TLPs in a loop of serialisation, the way there, and the credit's way back.
  const ps loop = wire(c, 90) + c.link_latency + c.credit_latency;
  const auto& order = b.dma[0].order;
  const double each = static_cast<double>((order[total - 1]->answered - order[total / 2 - 1]->answered).count()) / (total / 2);
  EXPECT_NEAR(each, static_cast<double>(loop.count()) / 8, 0.01 * each);
  EXPECT_NEAR(b.value("device0_credit_stalls"), total / 8, 2);  // eight go at once, then the link waits
}

TEST(pcie_credits, data_credits_bound_large_writes) {
  pcie_config c = plain();
  c.posted_data = 64;  // 1 KiB = 4 TLPs
  bench b(c);
  const std::uint64_t total = 1000;
  b.dma[0].stream(true, 4096, 16, total);
  run_until_idle();
  const ps loop = wire(c, 282) + c.link_latency + c.credit_latency;
  const auto& order = b.dma[0].order;
  const double each = static_cast<double>((order[total - 1]->answered - order[total / 2 - 1]->answered).count()) / (total / 2);
  EXPECT_NEAR(each, 4 * static_cast<double>(loop.count()), 0.02 * each);
}

TEST(pcie_credits, one_header_credit_is_exact) {
  pcie_config c = plain();
  c.posted_headers = 1;
  bench b(c);
  b.dma[0].send(true, 0, 64, 0_ps);
  auto& second = b.dma[0].send(true, 0, 64, 0_ps);
  run_until_idle();
  const ps loop = wire(c, 90) + c.link_latency + c.credit_latency;
  EXPECT_EQ(second.extension.memory_at, loop + wire(c, 90) + c.link_latency + c.root_write_latency);
  EXPECT_EQ(b.value("device0_credit_stalls"), 1);
}

TEST(pcie_credits, read_requests_wait_for_theirs_too) {
  pcie_config c = plain();
  c.nonposted_headers = 1;
  bench b(c);
  auto& first = b.dma[0].send(false, 0, 64, 0_ps);
  auto& second = b.dma[0].send(false, 0, 64, 0_ps);
  run_until_idle();
  EXPECT_EQ(second.extension.memory_at - first.extension.memory_at, wire(c, 26) + c.link_latency + c.credit_latency);
}

TEST(pcie_credits, completion_room_bounds_reads_and_lets_writes_pass) {
  pcie_config c = plain();
  c.completion_bytes = 512;
  bench b(c);
  auto& r1 = b.dma[0].send(false, 0, 512, 0_ps);
  auto& r2 = b.dma[0].send(false, 0, 256, 0_ps);
  auto& r3 = b.dma[0].send(false, 0, 256, 0_ps);
  auto& w = b.dma[0].send(true, 0x1000, 64, 0_ps);
  run_until_idle();
  EXPECT_LT(w.extension.memory_at, r1.answered);
  EXPECT_EQ(r2.extension.memory_at, r1.answered + wire(c, 26) + c.link_latency + c.root_read_latency);
  EXPECT_GT(r3.answered, r2.answered);
  EXPECT_LT(r3.extension.memory_at, r2.answered);
  EXPECT_EQ(b.value("device0_completion_stalls"), 2);
}

TEST(pcie, interrupt_follows_the_writes_before_it) {
  bench b(plain());
  auto& w = b.dma[0].send(true, 0x1000, 4096, 0_ps);
  auto& m = b.dma[0].send(true, msi_window + 0x10, 4, 0_ps);
  run_until_idle();
  ASSERT_EQ(b.interrupts.log.size(), 1u);
  EXPECT_EQ(b.interrupts.log[0].address, msi_window + 0x10);
  EXPECT_GT(b.interrupts.log[0].at, w.extension.memory_at);
  EXPECT_TRUE(m.is_response_ok());
  EXPECT_EQ(b.memory.log.size(), 1u);
  EXPECT_EQ(b.value("device0_messages"), 1);
}

TEST(pcie, an_unreachable_address_is_refused) {
  pcie_config c = plain();
  c.memory_top = 0x10000;
  bench b(c);
  auto& r = b.dma[0].send(false, 0x10000, 64, 0_ps);
  auto& w = b.dma[0].send(true, 0xffc0, 128, 5_us);
  run_until_idle();
  EXPECT_EQ(r.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(w.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  // The completion carries no data.
  EXPECT_EQ(r.answered, wire(c, 26) + wire(c, 22) + 2 * c.link_latency + c.root_read_latency);
  EXPECT_TRUE(b.memory.log.empty());
  EXPECT_EQ(b.value("device0_unreachable"), 2);
}

TEST(pcie, mmio_write_is_posted_and_in_order) {
  const pcie_config c = plain();
  bench b(c);
  auto& w1 = b.core.send(true, bench::bar_base + 0x800, 256, 0_ps);
  auto& w2 = b.core.send(true, bench::bar_base, 8, 0_ps);
  run_until_idle();
  ASSERT_EQ(b.bar[0].log.size(), 2u);
  EXPECT_EQ(b.bar[0].log[0].address, 0x800u);
  // Four write-combining lines.
  EXPECT_EQ(b.bar[0].log[0].at, c.root_mmio_latency + wire(c, 256 + 4 * 26) + c.link_latency);
  EXPECT_EQ(b.bar[0].log[1].at, c.root_mmio_latency + wire(c, 256 + 4 * 26) + wire(c, 34) + c.link_latency);
  EXPECT_TRUE(w1.is_response_ok() && w2.is_response_ok());
  EXPECT_EQ(b.value("mmio_writes"), 2);
}

TEST(pcie, mmio_read_round_trip_is_exact_and_flushes_writes) {
  const pcie_config c = plain();
  bench b(c);
  b.bar[0].bytes[0x10] = std::byte{5};
  b.bar[0].latency = 30_ns;
  auto& r = b.core.send(false, bench::bar_base + 0x10, 4, 0_ps);
  run_until_idle();
  const ps rtt = 2 * c.root_mmio_latency + wire(c, 26) + 30_ns + wire(c, 4 + 22) + 2 * c.link_latency;
  EXPECT_EQ(r.answered, rtt);
  EXPECT_EQ(r.data[0], std::byte{5});

  const ps t = now() + 1_us;
  auto& r2 = b.core.send(false, bench::bar_base + 0x10, 4, t);
  auto& w = b.dma[0].send(true, 0, 4096, t + c.root_mmio_latency + wire(c, 26) + c.link_latency);
  run_until_idle();
  EXPECT_GT(r2.answered, w.extension.memory_at);
}

TEST(pcie, mmio_does_not_queue_behind_completions_that_are_still_to_come) {
  const pcie_config c = plain();
  bench b(c);
  b.memory.latency = 2_us;
  b.dma[0].send(false, 0, 4096, 0_ps);
  b.core.send(true, bench::bar_base, 8, 500_ns);
  run_until_idle();
  EXPECT_EQ(b.bar[0].log[0].at, 500_ns + c.root_mmio_latency + wire(c, 34) + c.link_latency);
}

TEST(pcie, mmio_to_no_device_fails) {
  bench b(plain());
  auto& r = b.core.send(false, 0x1000, 4, 0_ps);
  run_until_idle();
  EXPECT_EQ(r.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(b.value("mmio_errors"), 1);
}

TEST(pcie, peer_to_peer_goes_down_the_other_port) {
  const pcie_config c = plain();
  bench b(c, 2);
  auto& w = b.dma[0].send(true, bench::bar_base + bench::bar_size + 0x40, 64, 0_ps);
  w.data[0] = std::byte{3};
  run_until_idle();
  ASSERT_EQ(b.bar[1].log.size(), 1u);
  EXPECT_EQ(b.bar[1].log[0].address, 0x40u);
  EXPECT_EQ(b.bar[1].log[0].at, 2 * wire(c, 90) + 2 * c.link_latency + c.root_forward_latency);
  EXPECT_EQ(w.get_address(), bench::bar_base + bench::bar_size + 0x40);
  EXPECT_TRUE(b.memory.log.empty());
  EXPECT_TRUE(b.bar[0].log.empty());

  const ps t = now() + 1_us;
  auto& r = b.dma[0].send(false, bench::bar_base + bench::bar_size + 0x40, 64, t);
  run_until_idle();
  EXPECT_EQ(r.data[0], std::byte{3});
  EXPECT_EQ(r.answered - t, 2 * wire(c, 26) + 2 * wire(c, 86) + 4 * c.link_latency + 2 * c.root_forward_latency);
}

TEST(pcie, switch_adds_its_latency_and_its_link_is_shared) {
  pcie_config c = plain();
  c.has_switch = true;
  bench b(c, 2);
  auto& r = b.dma[0].send(false, 0, 64, 0_ps);
  run_until_idle();
  EXPECT_EQ(r.answered,
            2 * wire(c, 26) + 2 * wire(c, 86) + 4 * c.link_latency + 2 * c.switch_latency + c.root_read_latency + 80_ns);

  const ps t = now() + 1_us;
  auto& peer = b.dma[0].send(true, bench::bar_base + bench::bar_size, 64, t);
  run_until_idle();
  EXPECT_EQ(peer.extension.memory_at - t, 2 * wire(c, 90) + 2 * c.link_latency + c.switch_latency);

  const double before = b.value("root_up_payload_bytes");
  const ps from = now();
  b.dma[0].stream(true, 4096, 16, 500);
  b.dma[1].stream(true, 4096, 16, 500);
  run_until_idle();
  const double bits = (b.value("root_up_payload_bytes") - before) * 8;
  EXPECT_NEAR(bits / to_seconds(now() - from) / b.tree.write_limit(0, 4096).bits_per_second, 1.0, 0.02);
}

TEST(pcie, debug_transport_reaches_memory_and_devices) {
  bench b(plain(), 2);
  testing::run_for(0_ps);
  std::uint32_t word = 0x11223344;
  tlm::tlm_generic_payload p;
  p.set_command(tlm::TLM_WRITE_COMMAND);
  p.set_data_ptr(reinterpret_cast<unsigned char*>(&word));
  p.set_data_length(4);
  p.set_address(0x500);
  EXPECT_EQ(b.dma[0].out->transport_dbg(p), 4u);
  EXPECT_EQ(b.memory.bytes[0x500], std::byte{0x44});
  p.set_address(bench::bar_base + bench::bar_size + 8);
  EXPECT_EQ(b.core.out->transport_dbg(p), 4u);
  EXPECT_EQ(b.bar[1].bytes[8], std::byte{0x44});
}

TEST(pcie, utilisation_counts_the_time_on_the_link) {
  const pcie_config c = plain();
  bench b(c);
  b.dma[0].send(true, 0, 256, 0_ps);
  run_until_idle();
  testing::run_for(1_us);
  EXPECT_NEAR(b.value("device0_up_utilisation"), static_cast<double>(wire(c, 282).count()) / static_cast<double>(now().count()),
              1e-9);
}

TEST(pcie, contradictory_configurations_are_refused) {
  pcie_config c;
  c.mps = 300;
  EXPECT_THROW(pcie("a", c, 1), std::invalid_argument);
  c = {};
  c.completion_payload = 512;
  EXPECT_THROW(pcie("b", c, 1), std::invalid_argument);
  c = {};
  c.posted_data = 8;
  EXPECT_THROW(pcie("c", c, 1), std::invalid_argument);
}

TEST(pcie, overlapping_bars_are_refused) {
  bench b(plain(), 2);
  EXPECT_THROW(b.tree.map_bar(0, bench::bar_base + 0x1000, 0x1000), std::invalid_argument);
  EXPECT_THROW(b.tree.map_bar(7, 0, 0x1000), std::invalid_argument);
  testing::run_for(0_ps);
}

}  // namespace
}  // namespace hcasim
