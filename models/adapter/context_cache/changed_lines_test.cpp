// With write_changes an evicted entry goes to ICM by its changed lines.
#include "models/adapter/context_cache/context_cache_bench.h"

namespace hcasim {
namespace {

using testing::area_base;
using testing::run_for;
using testing::small_cache;

constexpr std::uint32_t context_bytes = 256;

// A cache of one entry of 256 bytes, with memory that notes its writes.
struct one_context {
  struct written {
    std::uint64_t offset;  // in the area
    std::uint32_t bytes;
    bool operator==(const written&) const = default;
  };
  clock_domain clock{frequency{1e9}};
  context_cache cache;
  testing::fake_target<dma_request> memory{"icm"};
  testing::fake_initiator<context_request> client{"client"};
  std::vector<std::byte> icm = std::vector<std::byte>(16 * context_bytes);
  std::vector<written> writes;
  std::deque<context_request> requests;

  explicit one_context(bool write_changes) : cache("cache", config(write_changes), clock, context_bytes, 1) {
    memory.inline_answers = false;
    memory.latency = 500_ns;
    memory.serve = [this](dma_request& d, tlm::tlm_phase, ps) {
      std::byte* const at = icm.data() + (d.address - area_base);
      if (d.op == dma_op::read) {
        std::memcpy(d.data, at, d.bytes);
      } else {
        std::memcpy(at, d.data, d.bytes);
        writes.push_back({d.address - area_base, d.bytes});
      }
    };
    for (std::size_t i = 0; i < icm.size(); ++i) icm[i] = first(i);
    client.out.bind(cache.in[0]);
    cache.dma.bind(memory.in);
    context_request& area = send(context_op::set_area, 0);
    area.area_base = area_base;
    area.area_entries = 16;
    run_for(10_ns);
  }
  static std::byte first(std::size_t i) { return static_cast<std::byte>(i * 31 & 0xff); }
  static context_cache_config config(bool write_changes) {
    context_cache_config c = small_cache(1, 1);
    c.write_changes = write_changes;
    return c;
  }
  context_request& send(context_op op, std::uint32_t index) {
    context_request& r = requests.emplace_back();
    r.op = op;
    r.index = index;
    r.area_base = area_base;
    r.area_entries = 16;
    client.send(r, now());
    return r;
  }
  // Changes bytes of an entry, by their offsets in it.
  void change(std::uint32_t index, std::initializer_list<unsigned> offsets) {
    context_request& r = send(context_op::fetch, index);
    run_for(2_us);
    for (const unsigned o : offsets) r.entry[o] ^= std::byte{0xff};
    r.dirty = true;
    client.out.release(r);
    run_for(2_us);
  }
  std::byte byte(std::uint32_t index, unsigned offset) const { return icm[index * context_bytes + offset]; }
};

TEST(ContextCache, AnEvictedEntryIsWrittenWhole) {
  one_context b(false);
  b.change(1, {70});
  b.change(2, {});
  EXPECT_EQ(b.writes, (std::vector<one_context::written>{{256, 256}}));
}

TEST(ContextCache, AnEvictedEntryIsWrittenFromItsFirstChangedLineToItsLast) {
  one_context b(true);
  b.change(1, {70});
  b.change(2, {0, 130});
  b.change(3, {255});
  b.change(4, {});
  EXPECT_EQ(b.writes, (std::vector<one_context::written>{{256 + 64, 64}, {512, 192}, {768 + 192, 64}}));
  EXPECT_EQ(b.byte(1, 70), one_context::first(256 + 70) ^ std::byte{0xff});
  EXPECT_EQ(b.byte(1, 71), one_context::first(256 + 71));
}

TEST(ContextCache, AnEntryThatIsChangedBackIsNotWritten) {
  one_context b(true);
  b.change(1, {70});
  b.change(1, {70});
  b.change(2, {});
  EXPECT_TRUE(b.writes.empty());
}

TEST(ContextCache, ADroppedEntryIsWrittenByItsChangedLines) {
  one_context b(true);
  b.change(1, {200});
  b.send(context_op::drop, 1);
  run_for(2_us);
  EXPECT_EQ(b.writes, (std::vector<one_context::written>{{256 + 192, 64}}));
  b.change(1, {});  // read anew: nothing has changed since
  b.change(2, {});
  EXPECT_EQ(b.writes.size(), 1U);
}

}  // namespace
}  // namespace hcasim
