// The RTL of the cache behind its shell, with entries of both sizes and stalled streams: who holds an entry sees what was
// written before, and who takes one has it alone.
#include "models/adapter/context_cache/rtl/context_cache_rtl.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "rtl/context_cache_design.h"
#include "rtl/qpc_cache_design.h"
#include "tlm/base/random.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_target;
using testing::run_until_idle;

constexpr std::uint64_t base = 0x10'0000;
constexpr std::uint32_t entries = 2048;

class icm : public fake_target<dma_request> {
 public:
  std::vector<std::byte> bytes;
  std::uint32_t writes = 0;

  icm(const sc_core::sc_module_name& name, std::uint32_t entry_bytes)
      : fake_target(name), bytes(std::size_t{entries} * entry_bytes) {
    inline_answers = false;
    latency = 40_ns;
    serve = [this, entry_bytes](dma_request& d, tlm::tlm_phase phase, ps) {
      if (phase != tlm::BEGIN_REQ) return;
      EXPECT_EQ(d.bytes, entry_bytes);
      std::byte* const at = &bytes.at(d.address - base);
      writes += d.op == dma_op::write;
      if (d.op == dma_op::read) {
        std::memcpy(d.data, at, d.bytes);
      } else {
        std::memcpy(at, d.data, d.bytes);
      }
    };
  }
};

// Clients that count in entries: each value is how often it was counted up, in the first and in the last word.
class counters : public unit {
 public:
  initiator_socket<context_request> out{"out"};
  std::vector<std::uint64_t> expected = std::vector<std::uint64_t>(entries);
  unsigned fetched = 0, taken = 0;

  counters(const sc_core::sc_module_name& name, icm& memory, std::uint32_t entry_bytes, std::uint64_t seed, unsigned clients,
           unsigned rounds, unsigned different)
      : unit(name),
        memory_(memory),
        last_(entry_bytes - 8),
        random_(seed, "counters"),
        rounds_(rounds),
        different_(different),
        owned_(entries),
        clients_(clients) {
    for (client& c : clients_) {
      c.self = this;
      c.context = &c;
      c.on_response = [](void* context, transaction&, ps) {
        static_cast<client*>(context)->self->answered(*static_cast<client*>(context));
      };
    }
  }
  void begin() {
    area_.op = context_op::set_area;
    area_.area_base = base;
    area_.area_entries = entries;
    area_.context = this;
    area_.on_response = [](void* self, transaction&, ps) {
      for (client& c : static_cast<counters*>(self)->clients_) static_cast<counters*>(self)->next(c);
    };
    ps t = now();
    ASSERT_EQ(out.send(area_, t), tlm::TLM_ACCEPTED);
  }

 private:
  struct client : context_request {
    counters* self = nullptr;
    unsigned done = 0;
    client() = default;
    client(const client& o) : context_request(o), self(o.self), done(o.done) {}
  };
  static void later(client& c, void (*what)(void*), ps t) { event_queue::instance().at(now() + t, {what, &c}); }

  void next(client& c) {
    if (c.done++ == rounds_) return;
    const auto chance = random_.below(20);
    c.op = chance == 0 ? context_op::take : chance == 1 ? context_op::drop : context_op::fetch;
    // Indices of few sets, so that entries come and go.
    c.index = static_cast<std::uint32_t>(random_.below(different_) * 64 % entries + random_.below(2));
    c.dirty = false;
    c.entry = nullptr;
    ps t = now();
    ASSERT_EQ(out.send(c, t), tlm::TLM_ACCEPTED);
  }
  void answered(client& c) {
    ASSERT_FALSE(c.failed);
    if (c.op == context_op::drop) return next(c);
    if (c.op == context_op::take) {
      ++taken;
      EXPECT_FALSE(owned_[c.index]);
      owned_[c.index] = true;
      check(memory_.bytes.data() + std::size_t{c.index} * (last_ + 8), c.index);
      return later(
          c, [](void* x) { static_cast<client*>(x)->self->give(*static_cast<client*>(x)); },
          ps(static_cast<std::int64_t>(random_.below(300'000))));
    }
    ++fetched;
    EXPECT_FALSE(owned_[c.index]) << "a take has it alone";
    check(c.entry, c.index);
    later(
        c, [](void* x) { static_cast<client*>(x)->self->release(*static_cast<client*>(x)); },
        ps(static_cast<std::int64_t>(random_.below(60'000))));
  }
  void give(client& c) {
    write(memory_.bytes.data() + std::size_t{c.index} * (last_ + 8), ++expected[c.index]);
    owned_[c.index] = false;
    context_request give;
    give.op = context_op::give;
    give.index = c.index;
    ps t = now();
    ASSERT_EQ(out.send(give, t), tlm::TLM_COMPLETED);
    next(c);
  }
  void release(client& c) {
    if (random_.below(3) != 0) {
      write(c.entry, ++expected[c.index]);
      c.dirty = true;
    }
    out.release(c);
    next(c);
  }
  void check(const std::byte* entry, std::uint32_t index) const {
    std::uint64_t first = 0, end = 0;
    std::memcpy(&first, entry, 8);
    std::memcpy(&end, entry + last_, 8);
    ASSERT_EQ(first, expected[index]) << index;
    ASSERT_EQ(end, ~expected[index] * (expected[index] != 0)) << index;
  }
  void write(std::byte* entry, std::uint64_t v) const {
    std::memcpy(entry, &v, 8);
    const std::uint64_t end = ~v;
    std::memcpy(entry + last_, &end, 8);
  }

  icm& memory_;
  const std::size_t last_;
  random_stream random_;
  const unsigned rounds_, different_;
  std::vector<bool> owned_;
  std::vector<client> clients_;
  context_request area_;
};

struct bench {
  icm memory;
  context_cache_rtl cache;
  counters clients;

  bench(const std::string& name, std::uint32_t entry_bytes, const rtl::shell_options& o, unsigned different)
      : memory((name + "_icm").c_str(), entry_bytes),
        cache(name.c_str(), {}, clock_domain(frequency{400e6}), 1,
              entry_bytes == 256 ? rtl::make_qpc_cache_design : rtl::make_context_cache_design, o, entry_bytes),
        clients((name + "_clients").c_str(), memory, entry_bytes, o.seed, 12, 300, different) {
    clients.out.bind(cache.in[0]);
    cache.dma.bind(memory.in);
    cache.on_violation = [name](const std::string& what) { FAIL() << name << ": " << what; };
  }
  void check() const {
    EXPECT_EQ(cache.pinned(), 0U);
    EXPECT_GT(clients.fetched, 2000U);
    EXPECT_GT(clients.taken, 50U);
    EXPECT_GT(memory.writes, 50U);
  }
};

class context_cache_counts : public ::testing::TestWithParam<std::tuple<std::uint32_t, double, bool>> {};

TEST_P(context_cache_counts, a_holder_or_taker_of_an_entry_sees_what_was_written) {
  const auto [bytes, stall, storms] = GetParam();
  rtl::shell_options o;
  o.stall = stall;
  o.storms = storms;
  std::deque<bench> benches;
  const std::uint64_t seeds = std::getenv("HCASIM_FULL") ? 50 : 3;
  for (o.seed = 1; o.seed <= seeds; ++o.seed) {
    // One entry that everybody wants, some, and more than there is room for.
    for (const unsigned different : {1U, 6U, 32U})
      benches.emplace_back("seed" + std::to_string(o.seed) + "_of" + std::to_string(different), bytes, o, different);
  }
  for (bench& b : benches) b.clients.begin();
  run_until_idle();
  for (const bench& b : benches) {
    SCOPED_TRACE(b.cache.name());
    b.check();
  }
}

INSTANTIATE_TEST_SUITE_P(of, context_cache_counts,
                         ::testing::Combine(::testing::Values(64U, 256U), ::testing::Values(0.0, 0.4), ::testing::Bool()));

}  // namespace
}  // namespace hcasim
