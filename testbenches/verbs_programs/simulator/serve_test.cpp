// Requests of broken programs: each gets an answer, the simulator goes on, and nothing is left behind.
#include "testbenches/verbs_programs/simulator/serve.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "testbenches/kit/world.h"
#include "testbenches/verbs_programs/channel/channel.h"
#include "testbenches/verbs_programs/simulator/network.h"
#include "testbenches/verbs_programs/simulator/process_memory.h"
#include "tlm/base/random.h"

namespace hcasim::applications {
namespace {

constexpr std::uint64_t base = 0x10000;
constexpr std::uint64_t size = 1 << 20;

// One mapping, of which the last quarter is read-only.
class flat_space : public outside_memory {
 public:
  bool read(std::uint64_t va, std::span<std::byte> to) const override {
    if (!holds(va, to.size())) return false;
    std::memcpy(to.data(), bytes_.data() + (va - base), to.size());
    return true;
  }
  bool write(std::uint64_t va, std::span<const std::byte> from) override {
    if (!holds(va, from.size())) return false;
    std::memcpy(bytes_.data() + (va - base), from.data(), from.size());
    return true;
  }
  [[nodiscard]] std::vector<piece> mapped(std::uint64_t va, std::uint64_t bytes) const override {
    constexpr std::uint64_t end = base + size;
    constexpr std::uint64_t writable_end = base + size / 4 * 3;
    const std::uint64_t last = bytes - 1 > ~va ? ~std::uint64_t{0} : va + bytes - 1;
    std::vector<piece> out;
    for (const auto& [first, after, writable] : {std::tuple(base, writable_end, true), std::tuple(writable_end, end, false)}) {
      if (va >= after || last < first) continue;
      const std::uint64_t from = std::max(va, first);
      out.push_back({from, std::min(last, after - 1) - from + 1, writable});
    }
    return out;
  }

 private:
  static bool holds(std::uint64_t va, std::size_t n) { return va >= base && va - base <= size && n <= size - (va - base); }
  std::vector<std::byte> bytes_{size};
};

// A program in this process: it asks, and is answered.
class fake_program {
 public:
  fake_program(cpu& c, node& n, hcasim::system& s)
      : network_(s),
        client_(n, 0, space_, changes_, {waiting_, connections_, statistics_, time_, bit_rate{100e9}}, 1),
        caller_{.c = c, .who = client_, .bed = bed_, .data = data_, .descriptors = [this](std::size_t count) {
                  std::vector<descriptor> out;
                  int ends[2];
                  EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
                  out.emplace_back(ends[1]);
                  descriptor read_end(ends[0]);
                  if (count > 1) out.push_back(std::move(read_end));
                  if (count > 2) out.emplace_back(::dup(file_.get()));
                  return out;
                }} {
    time_.poll_stretch = 1_us;
    time_.spin_stretch = 1_us;
  }
  ~fake_program() { client_.close_all(caller_.c); }
  fake_program(const fake_program&) = delete;
  fake_program& operator=(const fake_program&) = delete;

  template <class Request>
  int ask(const Request& in, typename Request::answer& out) {
    std::array<std::byte, channel::argument_bytes> arguments{};
    std::array<std::byte, channel::argument_bytes> answer{};
    std::memcpy(arguments.data(), &in, sizeof in);
    const int error = serve(caller_, static_cast<std::uint32_t>(Request::number), arguments.data(), answer.data());
    std::memcpy(&out, answer.data(), sizeof out);
    return error;
  }
  template <class Request>
  int ask(const Request& in) {
    typename Request::answer out;
    return ask(in, out);
  }
  // An object, or 0.
  template <class Request>
  channel::handle make(const Request& in) {
    typename Request::answer out{};
    return ask(in, out) == 0 ? out.object : 0;
  }
  int raw(std::uint32_t what, std::array<std::byte, channel::argument_bytes>& arguments,
          std::array<std::byte, channel::argument_bytes>& answer) {
    return serve(caller_, what, arguments.data(), answer.data());
  }

  std::vector<std::byte>& data() { return data_; }
  // The next opened context has a file of its own.
  void take_another_file() { file_ = descriptor(::memfd_create("uverbs0", MFD_CLOEXEC)); }
  client& verbs() { return client_; }

 private:
  flat_space space_;
  activity changes_;
  waiting waiting_;
  client_statistics statistics_;
  time_config time_;
  system_network network_;
  cm::manager connections_{network_, {}};
  client client_;
  waiting::sleeper bed_;
  std::vector<std::byte> data_{channel::data_bytes};
  descriptor file_{::memfd_create("uverbs0", MFD_CLOEXEC)};
  caller caller_;
};

template <class Body>
void with_program(Body body) {
  kit::world w;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    fake_program p(c, n, w.sys());
    body(p, n);
  }}));
}

TEST(applications, a_stale_handle_is_no_later_object) {
  with_program([](fake_program& p, node&) {
    const channel::handle context = p.make(channel::open_device{});
    ASSERT_NE(context, 0u);
    const channel::handle first = p.make(channel::alloc_pd{context});
    ASSERT_EQ(p.ask(channel::dealloc_pd{first}), 0);
    const channel::handle second = p.make(channel::alloc_pd{context});
    EXPECT_NE(first, second);
    EXPECT_EQ(p.ask(channel::dealloc_pd{first}), ENOENT);
    EXPECT_EQ(p.ask(channel::dealloc_pd{second}), 0);
    EXPECT_EQ(p.ask(channel::dealloc_pd{0}), ENOENT);
    EXPECT_EQ(p.ask(channel::dealloc_pd{channel::no_object}), ENOENT);
  });
}

TEST(applications, objects_of_two_contexts_do_not_mix) {
  with_program([](fake_program& p, node&) {
    const channel::handle a = p.make(channel::open_device{});
    const channel::handle b = p.make(channel::open_device{});
    const channel::handle pd = p.make(channel::alloc_pd{a});
    const channel::handle cq = p.make(channel::create_cq{b, 0, 1, 16, 0});
    ASSERT_NE(cq, 0u);
    EXPECT_EQ(p.ask(channel::create_qp{pd, cq, cq, 0, 0, 1, {1, 1, 1, 1, 0}, 2, 0}), EINVAL);
    EXPECT_EQ(p.ask(channel::close_device{a}), 0);
    EXPECT_EQ(p.ask(channel::dealloc_pd{pd}), ENOENT);  // gone with its context
  });
}

// A context exists until its last opening is closed. All its openings know an object by its number, and other contexts do not.
TEST(applications, what_one_opening_has_made_another_imports) {
  with_program([](fake_program& p, node&) {
    const channel::handle first = p.make(channel::open_device{});
    const channel::handle pd = p.make(channel::alloc_pd{first});
    const channel::handle second = p.make(channel::import_device{});
    ASSERT_NE(second, 0u);
    EXPECT_NE(second, first);
    channel::key_answer region{};
    ASSERT_EQ(p.ask(channel::reg_mr{pd, base, 8192, 0, 1, 0}, region), 0);
    EXPECT_EQ(p.make(channel::import_pd{second, channel::number_of(pd)}), pd);
    channel::import_mr::answer imported{};
    ASSERT_EQ(p.ask(channel::import_mr{pd, channel::number_of(region.object)}, imported), 0);
    EXPECT_EQ(imported.object, region.object);
    EXPECT_EQ(imported.lkey, region.lkey);
    EXPECT_EQ(imported.rkey, region.rkey);
    EXPECT_EQ(imported.length, 8192u);
    for (const std::uint32_t wrong : {0U, 2U, ~0U}) {
      EXPECT_EQ(p.ask(channel::import_pd{second, wrong}), EINVAL);
      EXPECT_EQ(p.ask(channel::import_mr{pd, wrong}), EINVAL);
      EXPECT_EQ(p.ask(channel::import_dm{second, wrong}), EINVAL);
    }
    p.take_another_file();
    EXPECT_EQ(p.ask(channel::import_device{}), EINVAL) << "it was not opened";
    const channel::handle other = p.make(channel::open_device{});
    EXPECT_EQ(p.ask(channel::import_pd{other, channel::number_of(pd)}), EINVAL);
    EXPECT_EQ(p.ask(channel::close_device{first}), 0);
    EXPECT_EQ(p.ask(channel::close_device{first}), EINVAL);
    EXPECT_EQ(p.ask(channel::query_device{first}), EINVAL);
    EXPECT_EQ(p.ask(channel::query_device{second}), 0);
    EXPECT_EQ(p.ask(channel::dereg_mr{region.object}), 0) << "it is there all the same";
    EXPECT_EQ(p.ask(channel::close_device{second}), 0);
    EXPECT_EQ(p.ask(channel::dealloc_pd{pd}), ENOENT);
    EXPECT_EQ(p.ask(channel::query_device{other}), 0);
  });
}

TEST(applications, regions_have_the_rights_of_the_mapping) {
  with_program([](fake_program& p, node&) {
    const channel::handle pd = p.make(channel::alloc_pd{p.make(channel::open_device{})});
    constexpr std::uint32_t write = 1;
    EXPECT_EQ(p.ask(channel::reg_mr{pd, base, 4096, 0, write, 0}), 0);
    EXPECT_EQ(p.ask(channel::reg_mr{pd, base + size - 4096, 4096, 0, 0, 0}), 0);
    EXPECT_EQ(p.ask(channel::reg_mr{pd, base + size - 4096, 4096, 0, write, 0}), EFAULT);
    EXPECT_EQ(p.ask(channel::reg_mr{pd, base + size, 4096, 0, 0, 0}), EFAULT);
    EXPECT_EQ(p.ask(channel::reg_mr{pd, ~std::uint64_t{0} - 10, 4096, 0, 0, 0}), EINVAL);
    EXPECT_EQ(p.ask(channel::reg_mr{pd, 0, std::uint64_t{1} << 47, 0, 0, 0}), ENOMEM);  // more than the limit of locked memory
  });
}

TEST(applications, numbers_beyond_the_last_request_are_refused) {
  with_program([](fake_program& p, node&) {
    std::array<std::byte, channel::argument_bytes> arguments{};
    std::array<std::byte, channel::argument_bytes> answer{};
    EXPECT_EQ(p.raw(static_cast<std::uint32_t>(channel::request_id::count), arguments, answer), EOPNOTSUPP);
    EXPECT_EQ(p.raw(~0U, arguments, answer), EOPNOTSUPP);
  });
}

// Random bytes with valid handles and usual numbers among them.
class noise {
 public:
  explicit noise(std::uint64_t seed) : random_(seed, "noise") {}

  void fill(std::span<std::byte> out) {
    for (std::size_t at = 0; at + 8 <= out.size(); at += 8) {
      std::uint64_t v = value();
      if (random_.below(2)) v = (v & 0xffff'ffff) | value() << 32;
      std::memcpy(out.data() + at, &v, sizeof v);
    }
  }
  void remember(const std::array<std::byte, channel::argument_bytes>& answer) {
    std::uint64_t first = 0;
    std::memcpy(&first, answer.data(), sizeof first);
    if (first == 0) return;
    if (known_.size() < 64) {
      known_.push_back(first);
    } else {
      known_[random_.below(known_.size())] = first;
    }
  }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

 private:
  std::uint64_t value() {
    switch (random_.below(8)) {
      case 0:
        return random_.below(std::uint64_t{1} << 62) * 3;
      case 1:
        return std::uint64_t{1} << random_.below(64);
      case 2:
        return base + random_.below(size + 8192);
      case 3:
        return random_.below(40);
      default:
        return known_.empty() ? random_.below(16) : known_[random_.below(known_.size())];
    }
  }

  random_stream random_;
  std::vector<std::uint64_t> known_;
};

// A program may end with any objects left; the adapter must go on for the next program.
void fuzz(std::uint64_t seed) {
  with_program([seed](fake_program& p, node&) {
    noise n(seed);
    std::array<std::byte, channel::argument_bytes> arguments{};
    std::array<std::byte, channel::argument_bytes> answer{};
    // First come requests that make objects for the later ones.
    constexpr channel::request_id makers[] = {
        channel::request_id::open_device,    channel::request_id::alloc_pd,         channel::request_id::create_cq,
        channel::request_id::create_channel, channel::request_id::reg_mr,           channel::request_id::create_qp,
        channel::request_id::create_srq,     channel::request_id::open_connections, channel::request_id::open_timer};
    constexpr int requests = 3000;
    for (int i = 0; i < requests; ++i) {
      std::uint64_t what = n.below(static_cast<std::uint64_t>(channel::request_id::count) + 1);
      if (n.below(3) == 0) what = static_cast<std::uint64_t>(makers[n.below(std::size(makers))]);
      const auto w = static_cast<channel::request_id>(what);
      // Requests that sleep are left out: their random time may be long, and no descriptor is ever written to.
      if (w == channel::request_id::sleep || w == channel::request_id::wait_descriptors ||
          w == channel::request_id::wait_others)
        continue;
      if (w == channel::request_id::close_device && n.below(8)) continue;
      n.fill(arguments);
      n.fill(p.data());
      answer = {};
      if (p.raw(static_cast<std::uint32_t>(what), arguments, answer) == 0) n.remember(answer);
    }
    p.verbs().contexts.each([](verbs::ibv_context& x) { EXPECT_FALSE(driver::of(&x).device->dead()); });
  });
}

class fuzzed : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(fuzzed, requests_never_hurt_the_simulator) {
  fuzz(GetParam());
}
INSTANTIATE_TEST_SUITE_P(seeds, fuzzed, ::testing::Range<std::uint64_t>(1, 4));

// HCASIM_FUZZ_SEED=N: another seed.
TEST(applications, fuzz_of_one_seed) {
  const char* text = std::getenv("HCASIM_FUZZ_SEED");
  if (!text) GTEST_SKIP() << "no HCASIM_FUZZ_SEED";
  fuzz(std::strtoull(text, nullptr, 10));
}

TEST(applications, what_a_program_leaves_behind_is_given_back) {
  with_program([](fake_program& p, node& n) {
    const channel::handle context = p.make(channel::open_device{});
    const channel::handle pd = p.make(channel::alloc_pd{context});
    const channel::handle cq = p.make(channel::create_cq{context, 0, 1, 16, 0});
    ASSERT_EQ(p.ask(channel::reg_mr{pd, base, 65536, 0, 1, 0}), 0);
    ASSERT_EQ(p.ask(channel::create_qp{pd, cq, cq, 0, 0, 1, {8, 8, 1, 1, 0}, 2, 0}), 0);
    EXPECT_GT(p.verbs().memory.pinned_bytes(), 0u);
    EXPECT_GT(p.verbs().queues.pinned_bytes(), 0u);
    EXPECT_EQ(p.ask(channel::close_device{context}), 0);
    EXPECT_EQ(p.verbs().memory.pinned_bytes(), 0u);
    EXPECT_EQ(p.verbs().queues.pinned_bytes(), 0u);
    EXPECT_EQ(n.device().counters().pinned_pages.value(), n.device().counters().unpinned_pages.value());
  });
}

TEST(applications, commands_go_to_a_file_that_is_open) {
  with_program([](fake_program& p, node&) {
    const channel::handle file = p.make(channel::open_connections{});
    ASSERT_NE(file, 0u);
    EXPECT_EQ(p.ask(channel::manage_connections{file, 0, 0, 0}), EINVAL);
    EXPECT_EQ(p.ask(channel::manage_connections{file, 0, 8, 0}), ENOSPC) << "no room for the answer";
    EXPECT_EQ(p.ask(channel::manage_connections{file, 0, ~0U, ~0U}), EINVAL);
    EXPECT_EQ(p.ask(channel::manage_connections{file + 1, 0, 8, 0}), EINVAL);
    EXPECT_EQ(p.ask(channel::close_connections{file}), 0);
    EXPECT_EQ(p.ask(channel::close_connections{file}), EINVAL);
  });
}

TEST(applications, maps_are_read_as_the_system_writes_them) {
  const std::string maps =
      "00400000-00401000 r--p 00000000 08:01 1 /bin/x\n00401000-00403000 r-xp 00001000 08:01 1 /bin/x\n"
      "00403000-00405000 rw-p 00003000 08:01 1 /bin/x\n00405000-00406000 ---p 00000000 00:00 0\n"
      "7ffff0000000-7ffff0002000 rw-s 00000000 00:01 9 /memfd:a b\nffffffffff600000-ffffffffff601000 --xp 0 00:00 0 "
      "[vsyscall]\n";
  const auto all = parse_maps(maps, 0, ~std::uint64_t{0});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].bytes, 0x3000u);
  EXPECT_FALSE(all[0].writable);
  EXPECT_EQ(all[1].va, 0x403000u);
  EXPECT_TRUE(all[1].writable);
  EXPECT_EQ(all[2].va, 0x7ffff0000000u);
  const auto cut = parse_maps(maps, 0x402000, 0x2000);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].va, 0x402000u);
  EXPECT_EQ(cut[0].bytes, 0x1000u);
  EXPECT_EQ(cut[1].bytes, 0x1000u);
  EXPECT_TRUE(parse_maps(maps, 0x405000, 0x1000).empty());
  EXPECT_TRUE(parse_maps("", 0, 10).empty());
  EXPECT_TRUE(parse_maps("nonsense\n-\n", 0, 10).empty());
}

}  // namespace
}  // namespace hcasim::applications
