#include "models/adapter/context_cache/context_cache_bench.h"
#include "tlm/base/random.h"

namespace hcasim {
namespace {

using testing::area_base;
using testing::entry_bytes;
using testing::run_for;
using testing::run_until_idle;
using testing::small_cache;
using bench = testing::context_cache_bench;

// Two clients at random fetch, write, hold, drop, and take to change ICM; the reference has the last holder's bytes. DMA takes
// a random time.
class random_client : public unit {
 public:
  initiator_socket<context_request> out{"out"};

  random_client(const sc_core::sc_module_name& n, std::vector<std::uint64_t>& reference, std::vector<std::uint64_t>& icm,
                std::uint64_t seed)
      : unit(n), reference_(reference), icm_(icm), random_(seed, name()) {}

  void start(int parallel, int steps) {
    for (int i = 0; i < parallel; ++i) run(steps);
  }
  std::uint64_t done = 0;

 private:
  process run(int steps) {
    context_request r;
    for (int i = 0; i < steps; ++i) {
      const ps pause(static_cast<std::int64_t>(random_.below(300'000)));
      co_await queue_.until(now() + pause);
      ps t = now();
      const auto index = static_cast<std::uint32_t>(random_.below(reference_.size()));
      r.index = index;
      if (random_.chance(0.05)) {
        r.op = context_op::drop;
        co_await out.request(r, t);
        co_await queue_.until(t);
        continue;
      }
      if (random_.chance(0.05)) {
        r.op = context_op::take;
        co_await out.request(r, t);
        co_await queue_.until(t + ps(static_cast<std::int64_t>(random_.below(400'000))));
        EXPECT_EQ(icm_[index * 8], reference_[index]);
        icm_[index * 8] = reference_[index] = random_.next();
        r.op = context_op::give;
        t = now();
        co_await out.request(r, t);
        continue;
      }
      r.op = context_op::fetch;
      co_await out.request(r, t);
      EXPECT_FALSE(r.failed);
      EXPECT_EQ(r.as<std::uint64_t>(), reference_[index]);
      std::byte* const place = r.entry;
      const bool write = random_.chance(0.4);
      if (write) r.as<std::uint64_t>() = reference_[index] = random_.next();
      const ps hold(static_cast<std::int64_t>(random_.below(400'000)));
      co_await queue_.until(now() + hold);
      EXPECT_EQ(r.entry, place);
      EXPECT_EQ(r.as<std::uint64_t>(), reference_[index]);
      r.dirty = write;
      out.release(r);
    }
    ++done;
  }

  std::vector<std::uint64_t>& reference_;
  std::vector<std::uint64_t>& icm_;
  random_stream random_;
};

class random_icm : public unit {
 public:
  target_socket<dma_request> in{"in"};
  std::vector<std::uint64_t> words;
  unsigned reads = 0;

  random_icm(const sc_core::sc_module_name& n, std::size_t entries, std::uint64_t seed)
      : unit(n), words(entries * 8), random_(seed, "icm") {
    in.on<&random_icm::handle>(this);
  }

 private:
  struct job {
    random_icm* self;
    dma_request* d;
  };
  tlm::tlm_sync_enum handle(dma_request& d, tlm::tlm_phase, ps& t) {
    const ps latency(static_cast<std::int64_t>(random_.below(1'500'000)));
    if (random_.chance(0.1)) {  // at once, in the future or now
      move(d);
      if (random_.chance(0.5)) t += latency;
      return tlm::TLM_COMPLETED;
    }
    jobs_.push_back({this, &d});
    queue_.at(t + latency, {[](void* j) {
                              auto& [self, request] = *static_cast<job*>(j);
                              self->move(*request);
                              target_socket<dma_request>::respond(*request, now());
                            },
                            &jobs_.back()});
    return tlm::TLM_ACCEPTED;
  }
  void move(dma_request& d) {
    std::byte* at = reinterpret_cast<std::byte*>(words.data()) + (d.address - area_base);
    if (d.op == dma_op::read) {
      ++reads;
      std::memcpy(d.data, at, d.bytes);
    } else {
      std::memcpy(at, d.data, d.bytes);
    }
  }
  random_stream random_;
  std::deque<job> jobs_;
};

class ContextCacheRandom : public ::testing::TestWithParam<std::tuple<replacement_policy, int, int, bool, bool, int>> {};

TEST_P(ContextCacheRandom, EveryFetchSeesTheLastWrite) {
  const auto [policy, sets, ways, hit_under_miss, write_changes, second_sets] = GetParam();
  const int seed = 1;
  context_cache_config c = small_cache(static_cast<std::uint32_t>(sets), static_cast<std::uint32_t>(ways));
  c.policy = policy;
  c.fetches = 3;
  c.write_buffers = 2;
  c.hit_under_miss = hit_under_miss;
  c.write_changes = write_changes;
  c.second_sets = static_cast<std::uint32_t>(second_sets);
  c.second_ways = 3;
  constexpr std::size_t entries = 40;
  const clock_domain clock{frequency{1e9}};
  context_cache cache("cache", c, clock, entry_bytes, 2);
  random_icm memory("icm", entries, static_cast<std::uint64_t>(seed));
  cache.dma.bind(memory.in);
  std::vector<std::uint64_t> reference(entries);
  for (std::size_t i = 0; i < entries; ++i) memory.words[i * 8] = reference[i] = i * 1001;
  random_client a("a", reference, memory.words, static_cast<std::uint64_t>(seed));
  random_client b("b", reference, memory.words, static_cast<std::uint64_t>(seed));
  a.out.bind(cache.in[0]);
  b.out.bind(cache.in[1]);
  run_for(0_ps);
  ps t{0};
  context_request area;
  area.op = context_op::set_area;
  area.area_base = area_base;
  area.area_entries = entries;
  a.out.send(area, t);
  a.start(4, 1500);
  b.start(4, 1500);
  run_until_idle();
  EXPECT_EQ(a.done + b.done, 8U);
  EXPECT_EQ(cache.pinned(), 0U);
  // Nothing is lost: after dropping everything ICM is the reference.
  for (std::uint32_t i = 0; i < entries; ++i) {
    context_request r;
    r.op = context_op::drop;
    r.index = i;
    ps at = now();
    a.out.send(r, at);
    run_for(10_us);
    EXPECT_EQ(memory.words[i * 8], reference[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContextCacheRandom,
                         ::testing::Combine(::testing::ValuesIn(all_replacement_policies), ::testing::Values(1, 3, 4),
                                            ::testing::Values(1, 3), ::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(0, 3)),
                         [](const auto& p) {
                           return std::string(replacement_policies.begin()[static_cast<int>(std::get<0>(p.param))]) + "_sets" +
                                  std::to_string(std::get<1>(p.param)) + "_ways" + std::to_string(std::get<2>(p.param)) +
                                  (std::get<3>(p.param) ? "_pass" : "_block") + (std::get<4>(p.param) ? "_changes" : "") +
                                  (std::get<5>(p.param) ? "_second" : "");
                         });

}  // namespace
}  // namespace hcasim
