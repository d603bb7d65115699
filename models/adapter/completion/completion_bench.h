// A bench around a completion unit: contexts, walker, memory and reporters.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "firmware/abi/mrc.h"
#include "models/adapter/completion/completion.h"
#include "tlm/checker/checker_set.h"
#include "tlm/testing/context_store.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

inline constexpr std::uint64_t ring_at = 0x1000;
inline constexpr std::uint64_t record_at = 0x8000;
inline constexpr std::uint64_t eq_at = 0x9000;
inline constexpr std::uint64_t msi_at = 0xf000;

// 1 GHz; CQE 6 ns, EQE 6 ns, interrupt 4 ns after its cause.
struct completion_bench {
  clock_domain clock{frequency{1e9}};
  completion unit_under_test;
  context_store cache{"cache"};
  fake_target<translate_request> walker{"walker"};
  fake_target<dma_request> memory_port{"memory"};
  std::deque<fake_initiator<report>> reporters;
  fake_initiator<doorbell_ring> bells{"bells"};
  fake_initiator<completion_control> control{"control"};
  fake_initiator<register_access> msix{"msix"};
  std::vector<std::byte> memory = std::vector<std::byte>(0x10000);
  std::deque<report> sent;
  std::deque<doorbell_ring> rung;
  std::deque<completion_control> controls;
  std::deque<register_access> accesses;
  checker_set checkers;

  struct write {
    dma_source source;
    std::uint64_t address;
    ps at;
  };
  std::vector<write> writes;
  unsigned record_reads = 0;
  translation walked;
  std::uint64_t failing = ~0ULL;

  explicit completion_bench(unsigned reporters_wanted = 1)
      : unit_under_test("completion", completion_config{}, clock, reporters_wanted) {
    unit_under_test.cqc.bind(cache.in);
    unit_under_test.walker.bind(walker.in);
    unit_under_test.dma.bind(memory_port.in);
    for (unsigned i = 0; i < reporters_wanted; ++i) {
      reporters.emplace_back(("reporter" + std::to_string(i)).c_str());
      reporters.back().out.bind(unit_under_test.reports[i]);
      checkers.watch(reporters.back().out);
    }
    bells.out.bind(unit_under_test.bells);
    control.out.bind(unit_under_test.control);
    msix.out.bind(unit_under_test.msix);
    checkers.watch(unit_under_test.cqc);
    checkers.watch(unit_under_test.walker);
    checkers.watch(unit_under_test.dma);
    walker.serve = [this](translate_request& q, tlm::tlm_phase, ps) {
      walked = q.map;
      q.status = q.map.table == 0xbad ? translate_status::not_present : translate_status::ok;
      q.physical = q.map.table + 0x100 + q.va;
      q.bytes = q.length;
    };
    memory_port.serve = [this](dma_request& d, tlm::tlm_phase, ps t) {
      d.failed = d.address == failing;
      if (d.failed) return;
      if (d.op == dma_op::write) {
        std::memcpy(&memory[d.address], d.data, d.bytes);
        writes.push_back({d.source, d.address, t});
      } else {
        std::memcpy(d.data, &memory[d.address], d.bytes);
        ++record_reads;
      }
    };
  }

  ~completion_bench() { checkers.finish(0_ns); }

  hca_cqc& add_cq(std::uint32_t cqn, std::uint8_t log_entries, std::uint64_t at = ring_at) {
    hca_cqc& cq = this->cq(cqn);
    cq = {};
    cq.buffer.pages = at;
    cq.buffer.log_bytes = static_cast<std::uint8_t>(log_entries + 6);
    cq.record = record_at;
    cq.state = HCA_CQ_VALID;
    cq.eqn = 1;
    return cq;
  }
  hca_cqc& cq(std::uint32_t cqn) { return cache.at<hca_cqc>(cqn); }
  void open_eq(std::uint32_t eqn, std::uint8_t log_entries, ps at = 0_ns) {
    completion_control& c = controls.emplace_back();
    c.op = completion_op::set_eq;
    c.number = eqn;
    c.open = true;
    c.eqc.buffer.pages = eq_at + 0x1000 * eqn;
    c.eqc.buffer.log_bytes = static_cast<std::uint8_t>(log_entries + 5);
    c.eqc.vector = eqn;
    control.send(c, at);
    set_vector(eqn, 0, at);
  }
  void set_vector(std::uint32_t vector, std::uint32_t masked, ps at) {
    access(vector, 0, 8, msi_at + 16 * vector, at);
    access(vector, 8, 4, 0x40 + vector, at);
    access(vector, 12, 4, masked, at);
  }
  register_access& access(std::uint32_t vector, std::uint32_t field, std::uint32_t bytes, std::uint64_t value, ps at) {
    register_access& a = accesses.emplace_back();
    a.offset = HCA_BAR_MSIX + vector * 16 + field;
    a.bytes = bytes;
    a.write = true;
    a.value = value;
    msix.send(a, at);
    return a;
  }
  report& complete(std::uint32_t cqn, std::uint16_t index, ps at, std::uint8_t flags = 0, unsigned from = 0) {
    report& r = sent.emplace_back();
    r.cqn = cqn;
    r.cqe.index = index;
    r.cqe.flags = flags;
    reporters[from].send(r, at);
    return r;
  }
  void event(std::uint32_t type, std::uint32_t number, ps at) {
    report& r = sent.emplace_back();
    r.event = true;
    r.type = type;
    r.number = number;
    reporters[0].send(r, at);
  }
  void ring(bell kind, std::uint32_t number, std::uint32_t arm, std::uint32_t value, ps at) {
    doorbell_ring& d = rung.emplace_back();
    d.kind = kind;
    d.number = number | arm << 24;
    d.value = value;
    bells.send(d, at);
  }
  hca_cqe cqe(std::uint32_t slot, std::uint64_t at = ring_at) const {
    hca_cqe e{};
    std::memcpy(&e, &memory[at + slot * 64], sizeof e);
    return e;
  }
  hca_eqe eqe(std::uint32_t eqn, std::uint32_t slot) const {
    hca_eqe e{};
    std::memcpy(&e, &memory[eq_at + 0x1000 * eqn + slot * 32], sizeof e);
    return e;
  }
  unsigned count(dma_source source) const {
    unsigned n = 0;
    for (const write& w : writes) n += w.source == source;
    return n;
  }
  unsigned interrupts() const { return count(dma_source::interrupt); }
  unsigned events(std::uint32_t eqn) const {
    unsigned n = 0;
    for (const write& w : writes) n += w.address >= eq_at + 0x1000 * eqn && w.address < eq_at + 0x1000 * (eqn + 1);
    return n;
  }
  double stat(std::string_view name) const { return value_of(unit_under_test, name); }
};

}  // namespace hcasim::testing
