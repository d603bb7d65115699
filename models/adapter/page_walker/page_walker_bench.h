// A bench around a page walker: tables in ICM and a requester.
#pragma once

#include <cstring>
#include <unordered_map>

#include <gtest/gtest.h>

#include "models/adapter/page_walker/geometry.h"
#include "models/adapter/page_walker/page_walker.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

// Words of ICM; reads of a word that was never written give 0, not present.
class page_walker_icm : public fake_target<dma_request> {
 public:
  std::unordered_map<std::uint64_t, std::uint64_t> words;
  std::uint64_t fails_at = ~0ULL;

  explicit page_walker_icm(const sc_core::sc_module_name& n) : fake_target<dma_request>(n) {
    inline_answers = false;
    latency = 500_ns;
    serve = [this](dma_request& d, tlm::tlm_phase, ps) {
      EXPECT_EQ(d.op, dma_op::read);
      EXPECT_EQ(d.source, dma_source::table);
      EXPECT_EQ(d.address % d.bytes, 0U);
      d.failed = d.address == fails_at;
      for (std::uint32_t i = 0; i < d.bytes && !d.failed; i += 8) {
        const auto w = words.find(d.address + i);
        const std::uint64_t v = w == words.end() ? 0 : w->second;
        std::memcpy(d.data + i, &v, 8);
      }
    };
  }

  // Maps page number `page` of the table to `physical`, with nodes where they are needed.
  void map(const translation& m, std::uint64_t page, std::uint64_t physical, bool present = true) {
    std::uint64_t node = m.table;
    for (unsigned level = m.levels - 1U; level > 0; --level) {
      std::uint64_t& entry = words[geometry::entry_address(m, node, page, level)];
      if (!(entry & HCA_PTE_PRESENT)) {
        entry = free_node_ | HCA_PTE_PRESENT;
        free_node_ += HCA_PTE_PER_NODE * 8;
      }
      node = hca_pte_address(entry);
    }
    words[geometry::entry_address(m, node, page, 0)] = physical | (present ? HCA_PTE_PRESENT : 0);
  }

 private:
  std::uint64_t free_node_ = 0x7000'0000'0040;  // 64 B aligned, not more
};

inline translation table(std::uint32_t index, unsigned levels, unsigned shift = 12) {
  translation m;
  m.index = index;
  m.levels = static_cast<std::uint8_t>(levels);
  m.page_shift = static_cast<std::uint8_t>(shift);
  m.table = 0x100'0000'0000 + index * 0x1'0000'0000ULL;
  m.table_va = 0x40000000;
  return m;
}

struct page_walker_bench {
  clock_domain clock{frequency{1e9}};
  page_walker walker;
  page_walker_icm memory{"icm"};
  fake_initiator<translate_request> client{"client"};
  std::deque<translate_request> requests;

  explicit page_walker_bench(const page_walker_config& c = {}, const cell_protection& protection = {})
      : walker("walker", c, clock, 1, protection) {
    client.out.bind(walker.in[0]);
    walker.dma.bind(memory.in);
    run_for(1_ns);
  }
  translate_request& walk(const translation& m, std::uint64_t va, std::uint64_t length, ps at) {
    translate_request& r = requests.emplace_back();
    r.map = m;
    r.va = va;
    r.length = length;
    client.send(r, at);
    return r;
  }
  translate_request& walk_page(const translation& m, std::uint64_t page, ps at) {
    return walk(m, m.table_va + (page << m.page_shift), 1, at);
  }
  translate_request& drop(std::uint32_t index, std::uint64_t first, std::uint64_t last, ps at) {
    translate_request& r = requests.emplace_back();
    r.op = translate_op::drop;
    r.map.index = index;
    r.va = first;
    r.last = last;
    client.send(r, at);
    return r;
  }
  ps answered(const translate_request& r) const { return client.answered(r); }
  std::size_t reads() const { return memory.requests.size(); }
  std::uint64_t count(std::string_view name) const { return count_of(walker, name); }
};

}  // namespace hcasim::testing
