// Shapes with AXI4: a RAM, a crossbar, a DMA engine, and DMA with streams.
#include "rtl/shape_axi_cdma.h"
#include "rtl/shape_axi_crossbar.h"
#include "rtl/shape_axi_ram.h"
#include "rtl/shape_dma_stream.h"
#include "tlm/rtl/axi/axi_master.h"
#include "tlm/rtl/axi/axi_memory.h"
#include "tlm/rtl/axi/axis.h"
#include "tlm/rtl/testing/shapes/memory_sides.h"
#include "tlm/rtl/testing/shapes/shape.h"

namespace hcasim::rtl::shapes {
namespace {

std::vector<unsigned char> random_bytes(random_stream& r, std::size_t n) {
  std::vector<unsigned char> all(n);
  for (auto& b : all) b = static_cast<unsigned char>(r.next());
  return all;
}

// Between an exclusive read and the write that belongs to it.
enum class disturbance : std::uint8_t { nothing, a_write, a_write_elsewhere, a_refused_write };

// Ids go round: the sixteenth access after the read has its id.
void exclusive_accesses(memory_user& user, std::uint64_t at, disturbance d, bench_shell& rtl) {
  const auto ask = [&](memory_user::access& a, bool done) {
    a.alone = true;
    a.asks.exclusive = true;
    a.after = [&a, &rtl, done] {
      rtl.expect(a.asks.exclusive_done == done, "EXOKAY is wrong at " + std::to_string(a.get_address()));
    };
  };
  ask(user.read(at, 4), true);
  if (d == disturbance::nothing) user.read(at, 4);
  if (d == disturbance::a_write) user.write(at, {1, 2, 3, 4}).alone = true;
  if (d == disturbance::a_write_elsewhere) user.write(at + 1024, {5, 6, 7, 8}).alone = true;
  if (d == disturbance::a_refused_write) {
    const std::vector<unsigned char> before = user.read(at, 4).wanted;  // has another id
    ask(user.write(at, {9, 9, 9, 9}), false);
    user.keep(at, before);
    user.read(2048, 4);
  }
  for (unsigned i = d == disturbance::a_refused_write ? 3 : 1; i < 15; ++i) user.read(2048 + 4 * i, 4);
  const bool goes = d != disturbance::a_write;
  ask(user.write(at, {static_cast<unsigned char>(at), 1, 0, 1}), goes);
  if (!goes) user.keep(at, {1, 2, 3, 4});
  user.read(at, 4);
}

}  // namespace

std::string run_axi_ram(const run_options& o) {
  bench_shell rtl(make_shape_axi_ram, o);
  axi_memory s0("s0", rtl);
  memory_user user("user", 8);
  user.out.bind(s0.memory);
  user.complain = [&](const std::string& what) { rtl.expect(false, what); };
  random_stream r(o.shell.seed, "ram");
  for (std::uint64_t at = 0; at < 6144; at += 512) user.write(at, random_bytes(r, 512));
  for (unsigned i = 0; i < 150; ++i) {
    const std::uint64_t n = 1 + r.below(r.chance(0.2) ? 300 : 20);
    const std::uint64_t at = r.below(r.chance(0.5) ? 256 : 6144 - n);
    memory_user::access& a = r.chance(0.5) ? user.write(at, random_bytes(r, n)) : user.read(at, n);
    if (r.chance(0.3)) a.asks.beat_bytes = 1U << r.below(2);
    // Blocks that wrap: 2 to 16 beats from anywhere in them.
    const std::uint64_t block = 4U << (1 + r.below(4));
    const std::uint64_t base = r.below(4096 / block) * block;
    memory_user::access& w = r.chance(0.5) ? user.write(base, random_bytes(r, block)) : user.read(base, block);
    w.asks.wrap = true;
    w.asks.first = base + r.below(block / 4) * 4;
  }
  // One that fixes its address writes nothing behind its own word.
  for (unsigned i = 0; i < 10; ++i) {
    const std::uint64_t at = 6144 + r.below(400) * 4;
    const std::vector<unsigned char> all = random_bytes(r, 4 * (2 + r.below(15)));
    user.write(at + 4, random_bytes(r, 4));
    memory_user::access& before = user.read(at + 4, 4);
    memory_user::access& w = user.write(at, all);
    w.set_streaming_width(4);
    user.keep(at + 4, before.wanted);
    const std::vector<unsigned char> last(all.end() - 4, all.end());
    user.keep(at, last);
    memory_user::access& back = user.read(at, 8);
    back.set_streaming_width(4);
    back.wanted = last;
    back.wanted.insert(back.wanted.end(), last.begin(), last.end());
    user.read(at + 4, 4).wanted = before.wanted;
  }
  for (unsigned i = 0; i < 8; ++i) exclusive_accesses(user, 64 * i, static_cast<disturbance>(i % 4), rtl);
  user.go();
  testing::run_for(400_us);
  rtl.expect(user.missing().empty(), user.missing());
  return rtl.wrong;
}

std::string run_axi_crossbar(const run_options& o) {
  bench_shell rtl(make_shape_axi_crossbar, o);
  axi_memory s0("s0", rtl), s1("s1", rtl);
  axi_master m0("m0", rtl), m1("m1", rtl);
  memory_user user0("user0", 6), user1("user1", 6);
  memory_of_bytes low("low", 1 << 15, o.shell.seed), high("high", 1 << 15, o.shell.seed + 1);
  user0.out.bind(s0.memory);
  user1.out.bind(s1.memory);
  m0.memory.bind(low.in);
  m1.memory.bind(high.in);
  random_stream r(o.shell.seed, "crossbar");
  for (memory_user* user : {&user0, &user1}) {
    user->complain = [&](const std::string& what) { rtl.expect(false, what); };
    const std::uint64_t own = user == &user1 ? 0x4000 : 0;  // in both memories
    for (unsigned half = 0; half < 2; ++half) {
      const std::vector<unsigned char>& there = (half ? high : low).bytes;
      user->keep(half * 0x8000 + own, std::vector<unsigned char>(there.begin() + static_cast<std::ptrdiff_t>(own),
                                                                 there.begin() + static_cast<std::ptrdiff_t>(own) + 0x4000));
    }
    for (unsigned i = 0; i < 150; ++i) {
      const std::uint64_t n = 1 + r.below(r.chance(0.2) ? 300 : 24);
      const std::uint64_t at = (r.chance(0.5) ? 0x8000 : 0) + own + r.below(r.chance(0.5) ? 200 : 0x4000 - n);
      r.chance(0.5) ? user->write(at, random_bytes(r, n)) : user->read(at, n);
    }
    user->go();
  }
  testing::run_for(400_us);
  for (memory_user* user : {&user0, &user1}) rtl.expect(user->missing().empty(), user->missing());
  // Each answer found its way: what lies in the memories was read back as it was written.
  return rtl.wrong;
}

std::string run_axi_cdma(const run_options& o) {
  bench_shell rtl(make_shape_axi_cdma, o);
  axi_master m0("m0", rtl, {.longest_burst = 16});
  memory_of_bytes memory("memory", 1 << 16, o.shell.seed);
  m0.memory.bind(memory.in);
  stream& desc = rtl.into("desc", 88);
  stream& status = rtl.out_of("status", 12);
  random_stream r(o.shell.seed, "copies");
  std::vector<unsigned char> wanted = memory.bytes;
  std::vector<std::uint64_t> tags;
  const auto ask = [&](std::uint64_t from, std::uint64_t to, std::uint64_t n, bool fails) {
    payload p;
    writer(p).put(from, 32).put(to, 32).put(n, 16).put(tags.size(), 8);
    rtl.push(desc, p, now());
    rtl.owe(1);
    tags.push_back(fails);
    for (std::uint64_t i = 0; i < n && !fails; ++i) wanted[to + i] = wanted[from + i];
  };
  std::uint64_t done = 0;
  status.on_transfer = [&](const payload& p, std::uint64_t, ps) {
    rtl.owe(-1);
    rtl.expect(p.get(0, 8) == done, "a copy that was not next says that it is done");
    rtl.expect(done < tags.size() && (p.get(8, 4) != 0) == (tags[done] != 0), "a copy's error is not what it was");
    ++done;
    if (done != 5) return;
    rtl.set("enable", 0);
    event_queue::instance().at(now() + 1_us,
                               {[](void* context) { static_cast<bench_shell*>(context)->set("enable", 1); }, &rtl});
  };
  rtl.set("enable", 1);
  for (unsigned i = 0; i < 40; ++i) {
    const std::uint64_t n = r.below(r.chance(0.3) ? 700 : 100);
    const std::uint64_t half = r.chance(0.5) ? 0x8000 : 0;
    ask(half + r.below(3800) * 8, (half ^ 0x8000) + r.below(3800) * 8, n, false);
  }
  ask(0x20000, 0x100, 64, true);
  ask(0x8, 0x20000, 64, true);
  testing::run_for(400_us);
  rtl.expect(done == tags.size(), "a copy is not done");
  // Bytes that could not be read went to memory all the same.
  for (std::size_t i = 0x100; i < 0x140; ++i) wanted[i] = memory.bytes[i];
  rtl.expect(memory.bytes == wanted, "wrong bytes in memory");
  for (const axi_extension& a : memory.asked) rtl.expect(a.cache == 3 && a.prot == 2, "attributes are not those of the burst");
  return rtl.wrong;
}

std::string run_dma_stream(const run_options& o) {
  bench_shell rtl(make_shape_dma_stream, o);
  axi_master m0("m0", rtl, {.longest_burst = 8, .interleave = true});
  axis_sink read_data(rtl, "read_data");
  axis_source write_data(rtl, "write_data");
  memory_of_bytes memory("memory", 1 << 16, o.shell.seed);
  m0.memory.bind(memory.in);
  stream& read_desc = rtl.into("read_desc", 56);
  stream& write_desc = rtl.into("write_desc", 44);
  stream& write_done = rtl.out_of("write_done", 16);
  random_stream r(o.shell.seed, "dma");
  std::deque<axis_frame> frames;
  std::vector<unsigned char> wanted = memory.bytes;
  std::deque<std::uint64_t> lengths;
  // The lower half is read, the upper one written.
  for (unsigned i = 0; i < 30; ++i) {
    const std::uint64_t n = 1 + r.below(400);
    const std::uint64_t at = r.below(500) * 64;
    payload p;
    writer(p).put(at, 40).put(n, 12).put(i % 16, 4);
    rtl.push(read_desc, p, now());
    rtl.owe(1);
    axis_frame& f = frames.emplace_back();
    f.id = i % 16;
    f.bytes.assign(memory.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                   memory.bytes.begin() + static_cast<std::ptrdiff_t>(at + n));

    const std::uint64_t m = 1 + r.below(300);
    const std::uint64_t to = 0x8000 + r.below(500) * 64;
    payload d;
    writer(d).put(to, 40).put(i % 16, 4);
    rtl.push(write_desc, d, now());
    axis_frame out;
    out.bytes = random_bytes(r, m);
    std::copy(out.bytes.begin(), out.bytes.end(), wanted.begin() + static_cast<std::ptrdiff_t>(to));
    write_data.send(out, now());
    rtl.owe(1);
    lengths.push_back(m);
  }
  read_data.on_frame = [&](const axis_frame& f, ps) {
    rtl.owe(-1);
    rtl.expect(!frames.empty() && f.bytes == frames.front().bytes && f.id == frames.front().id, "a frame is not what was read");
    if (!frames.empty()) frames.pop_front();
  };
  std::uint64_t written = 0;
  write_done.on_transfer = [&](const payload& p, std::uint64_t, ps) {
    rtl.owe(-1);
    rtl.expect(written < lengths.size() && p.get(0, 4) == written % 16 && p.get(4, 12) == lengths[written],
               "a write's end is not its own");
    ++written;
  };
  testing::run_for(400_us);
  rtl.expect(frames.empty() && written == lengths.size(), "a descriptor is not done");
  rtl.expect(memory.bytes == wanted, "wrong bytes in memory");
  return rtl.wrong;
}

}  // namespace hcasim::rtl::shapes
