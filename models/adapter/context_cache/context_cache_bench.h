// For tests: a context cache between a client and ICM.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "models/adapter/context_cache/context_cache.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

constexpr std::uint64_t area_base = 0x100000;
constexpr std::uint32_t entry_bytes = 64;

// ICM behind a DMA port: the bytes move when the answer is given.
class context_cache_icm : public fake_target<dma_request> {
 public:
  std::vector<std::byte> bytes;
  unsigned reads = 0;
  unsigned writes = 0;
  unsigned ruined = 0;  // of those
  bool failing = false;

  explicit context_cache_icm(const sc_core::sc_module_name& n, std::size_t entries = 1 << 16)
      : fake_target<dma_request>(n), bytes(entries * entry_bytes) {
    inline_answers = false;
    latency = 500_ns;
    for (std::size_t i = 0; i < entries; ++i) put(static_cast<std::uint32_t>(i), i * 7);
    serve = [this](dma_request& d, tlm::tlm_phase, ps) {
      EXPECT_EQ(d.bytes, entry_bytes);
      EXPECT_EQ(d.source, dma_source::context);
      d.failed = failing;
      std::byte* at = bytes.data() + (d.address - area_base);
      if (d.op == dma_op::read) {
        ++reads;
        if (!failing) std::memcpy(d.data, at, d.bytes);
      } else {
        ++writes;
        ruined += d.ruined;
        if (!failing) std::memcpy(at, d.data, d.bytes);
      }
    };
  }
  void put(std::uint32_t index, std::uint64_t v) { std::memcpy(bytes.data() + std::size_t{index} * entry_bytes, &v, 8); }
  std::uint64_t get(std::uint32_t index) const {
    std::uint64_t v;
    std::memcpy(&v, bytes.data() + std::size_t{index} * entry_bytes, 8);
    return v;
  }
};

struct context_cache_bench {
  clock_domain clock{frequency{1e9}};
  context_cache cache;
  context_cache_icm memory{"icm"};
  fake_initiator<context_request> client{"client"};
  std::deque<context_request> requests;

  explicit context_cache_bench(const context_cache_config& c, std::uint64_t entries = 1 << 16,
                               const cell_protection& protection = {})
      : cache("cache", c, clock, entry_bytes, 1, protection) {
    client.out.bind(cache.in[0]);
    cache.dma.bind(memory.in);
    context_request& area = make(context_op::set_area, 0);
    area.area_base = area_base;
    area.area_entries = entries;
    client.send(area, 0_ps);
    run_for(10_ns);
    client.answers.clear();
  }
  context_request& make(context_op op, std::uint32_t index) {
    context_request& r = requests.emplace_back();
    r.op = op;
    r.index = index;
    return r;
  }
  context_request& send(context_op op, std::uint32_t index, ps at) {
    context_request& r = make(op, index);
    client.send(r, at);
    return r;
  }
  context_request& fetch(std::uint32_t index, ps at) { return send(context_op::fetch, index, at); }
  context_request& drop(std::uint32_t index, ps at) { return send(context_op::drop, index, at); }
  void release(context_request& r, bool dirty = false) {
    r.dirty = dirty;
    client.out.release(r);
  }
  // Fetches and gives back at once.
  void touch(std::uint32_t index) {
    context_request& r = fetch(index, now());
    run_until_idle();
    release(r);
  }
  ps answered(const context_request& r) const { return client.answered(r); }
  double stat(std::string_view name) const { return value_of(cache, name); }
};

inline context_cache_config small_cache(std::uint32_t sets, std::uint32_t ways) {
  context_cache_config c;
  c.sets = sets;
  c.ways = ways;
  return c;
}

}  // namespace hcasim::testing
