// A bench around a doorbell unit: PCIe and every unit that can be rung.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "models/adapter/doorbell/doorbell.h"
#include "models/adapter/doorbell/doorbell_rules.h"
#include "tlm/checker/checker_set.h"
#include "tlm/testing/burst_source.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

// MMIO as it arrives from PCIe.
class doorbell_mmio : public burst_source {
 public:
  using burst_source::burst_source;
  ~doorbell_mmio() override { EXPECT_TRUE(all_in_call()); }
  burst& access(bool write, std::uint64_t address, const void* data, std::size_t n, ps at) {
    burst& b = send(write, address, at, n);
    if (write) b.fill(data, n);
    return b;
  }
};

// 1 GHz: interval 2 ns, latency 4 ns, register reads 8 ns, one BlueFlame line in 10 ns.
struct doorbell_bench {
  clock_domain clock{frequency{1e9}};
  doorbell unit_under_test;
  doorbell_mmio cpu{"cpu"};
  fake_initiator<doorbell_control> firmware{"firmware"};
  fake_target<doorbell_ring> send{"send"};
  fake_target<doorbell_ring> receive{"receive"};
  fake_target<doorbell_ring> completion{"completion"};
  fake_target<register_access> command{"command"};
  fake_target<register_access> msix{"msix"};
  fake_target<register_access> device_memory{"device_memory"};
  fake_target<context_request> qpc{"qpc"};
  fake_target<dma_request> dma{"dma"};
  std::map<std::uint32_t, hca_qpc> qps;
  std::map<std::uint64_t, hca_qp_record> records;
  checker_set checkers;

  struct rung {
    bell kind;
    std::uint32_t number;
    std::uint32_t value;
    std::uint32_t blueflame;
    ps at;
  };
  std::vector<rung> log;
  std::deque<doorbell_control> orders;
  std::set<std::uint32_t> begun, begun_cqs;
  std::map<std::uint32_t, std::uint32_t> registers;

  explicit doorbell_bench(const doorbell_config& config = {}) : unit_under_test("doorbell", config, clock) {
    cpu.out.bind(unit_under_test.bar);
    firmware.out.bind(unit_under_test.control);
    unit_under_test.send.bind(send.in);
    unit_under_test.receive.bind(receive.in);
    unit_under_test.completion.bind(completion.in);
    unit_under_test.command.bind(command.in);
    unit_under_test.msix.bind(msix.in);
    unit_under_test.device_memory.bind(device_memory.in);
    unit_under_test.qpc.bind(qpc.in);
    unit_under_test.dma.bind(dma.in);
    for (auto* out : {&unit_under_test.send, &unit_under_test.receive, &unit_under_test.completion}) checkers.watch(*out);
    for (auto* out : {&unit_under_test.command, &unit_under_test.msix}) checkers.watch(*out);
    checkers.watch(unit_under_test.qpc);
    checkers.watch(unit_under_test.dma);
    for (auto* t : {&send, &receive, &completion}) {
      t->serve = [this](doorbell_ring& d, tlm::tlm_phase, ps at) {
        log.push_back({d.kind, d.number, d.value, d.blueflame_bytes, at});
        last = d;
      };
    }
    command.serve = [this](register_access& a, tlm::tlm_phase, ps) { touch(a, 0); };
    msix.serve = [this](register_access& a, tlm::tlm_phase, ps) { touch(a, 0x80000000); };
    qpc.inline_answers = false;
    qpc.latency = 300_ns;
    qpc.serve = [this](context_request& c, tlm::tlm_phase phase, ps) {
      if (phase != tlm::BEGIN_REQ) return;
      const auto q = qps.find(c.index);
      c.failed = q == qps.end();
      if (!c.failed) c.entry = reinterpret_cast<std::byte*>(&q->second);
    };
    dma.inline_answers = false;
    dma.latency = 400_ns;
    dma.serve = [this](dma_request& d, tlm::tlm_phase, ps) {
      EXPECT_EQ(d.source, dma_source::doorbell_record);
      std::memcpy(d.data, &records.at(d.address), sizeof(hca_qp_record));
    };
  }
  ~doorbell_bench() { checkers.finish(0_ns); }
  void touch(register_access& a, std::uint32_t bank) {
    if (a.write) {
      registers[bank | a.offset] = static_cast<std::uint32_t>(a.value);
    } else {
      a.value = 0x1111111100000000ULL | (bank | a.offset);
    }
  }
  void add_qp(std::uint32_t qpn) {
    hca_qpc& q = qps[qpn];
    q.state = HCA_QP_RTS;
    q.record = 0x1000 + 8 * qpn;
    records[q.record] = {};
  }
  hca_qp_record& record(std::uint32_t qpn) { return records.at(qps.at(qpn).record); }
  void order(bool open, std::uint32_t qpn, std::uint32_t page, ps at) { order(false, open, qpn, page, at); }
  void order_cq(std::uint32_t cqn, bool open, std::uint32_t page, ps at) { order(true, open, cqn, page, at); }
  void order(bool of_cq, bool open, std::uint32_t number, std::uint32_t page, ps at) {
    doorbell_control& c = orders.emplace_back();
    c.of_cq = of_cq;
    c.open = open;
    c.number = number;
    c.uar = page;
    firmware.send(c, at);
  }
  // Begins at 0 with page 0, unless the test has set otherwise.
  void need(std::uint32_t qpn) {
    if (qpn <= doorbell_rules::number_mask && begun.insert(qpn).second) order(true, qpn, 0, 0_ns);
  }
  burst_source::burst& ring(std::uint32_t where, std::uint32_t number, std::uint32_t value, ps at, unsigned page = 0) {
    const hca_doorbell d{number, value};
    if (where == HCA_UAR_SQ || where == HCA_UAR_RQ) need(number);
    if (where == HCA_UAR_CQ && begun_cqs.insert(number & doorbell_rules::number_mask).second) {
      order_cq(number & doorbell_rules::number_mask, true, 0, 0_ns);
    }
    return cpu.access(true, HCA_BAR_UAR + page * std::uint64_t{HCA_UAR_PAGE} + where, &d, sizeof d, at);
  }
  burst_source::burst& blueflame(std::uint32_t qpn, std::uint16_t index, std::uint8_t blocks, ps at, std::size_t bytes = 0) {
    std::vector<std::byte> wqe(bytes ? bytes : blocks * 64U, std::byte{0x5a});
    hca_wqe_control c{};
    c.qpn = qpn;
    c.index = index;
    c.blocks = blocks;
    std::memcpy(wqe.data(), &c, sizeof c);
    need(qpn);
    return cpu.access(true, std::uint64_t{HCA_BAR_UAR} + HCA_UAR_BF, wqe.data(), wqe.size(), at);
  }
  double stat(std::string_view name) const { return value_of(unit_under_test, name); }
  doorbell_ring last;
};

}  // namespace hcasim::testing
