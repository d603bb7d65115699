// Shapes with streams, FIFOs, pulses and registers.
#include "rtl/shape_axi_cdma.h"
#include "rtl/shape_axi_crossbar.h"
#include "rtl/shape_axi_ram.h"
#include "rtl/shape_axil_registers.h"
#include "rtl/shape_axis_frame_fifo.h"
#include "rtl/shape_axis_widen.h"
#include "rtl/shape_dma_stream.h"
#include "rtl/shape_doorbell_fifo.h"
#include "rtl/shape_fifo_async.h"
#include "rtl/shape_queue_manager.h"
#include "tlm/rtl/axi/axi_memory.h"
#include "tlm/rtl/axi/axis.h"
#include "tlm/rtl/testing/shapes/memory_sides.h"
#include "tlm/rtl/testing/shapes/shape.h"

namespace hcasim::rtl::shapes {
namespace {

payload bits_of(std::uint64_t v, unsigned bits) {
  payload p;
  p.set(0, bits, v);
  return p;
}

axis_frame random_frame(random_stream& r, std::uint64_t most) {
  axis_frame f;
  f.bytes.resize(1 + r.below(most));
  for (auto& b : f.bytes) b = static_cast<unsigned char>(r.next());
  return f;
}

constexpr ps limit = 300_us;

}  // namespace

std::string run_fifo_async(const run_options& o) {
  bench_shell rtl(make_shape_fifo_async, o);
  stream& wr = rtl.into("wr", 24);
  stream& rd = rtl.out_of("rd", 24);
  random_stream r(o.shell.seed, "fifo");
  std::deque<std::uint64_t> under_way;
  rd.on_transfer = [&](const payload& p, std::uint64_t, ps) {
    rtl.owe(-1);
    rtl.expect(!under_way.empty() && p.get(0, 24) == under_way.front(), "what comes out is not what went in");
    if (!under_way.empty()) under_way.pop_front();
  };
  std::uint64_t highest = 0;
  rtl.watch("level", [&](std::uint64_t n, ps) { highest = std::max(highest, n); });
  const auto send = [&](unsigned items) {
    ps t = now();
    for (unsigned i = 0; i < items; ++i) {
      if (r.chance(0.05)) t += ps(static_cast<std::int64_t>(r.below(200'000)));
      const std::uint64_t v = r.below(1 << 24);
      rtl.push(wr, bits_of(v, 24), t);
      rtl.owe(1);
      under_way.push_back(v);
    }
    testing::run_for(limit);
    rtl.expect(under_way.empty(), "something did not come out");
  };
  send(600);
  // It begins anew with pointers that are elsewhere.
  rtl.reset_again();
  testing::run_for(1_us);
  send(100);
  rtl.expect(highest > 8 && highest <= 16, "the level was never high, or too high: " + std::to_string(highest));
  return rtl.wrong;
}

std::string run_axis_frame_fifo(const run_options& o) {
  bench_shell rtl(make_shape_axis_frame_fifo, o);
  axis_source in(rtl, "in");
  axis_sink out(rtl, "out");
  random_stream r(o.shell.seed, "frames");
  std::deque<axis_frame> wanted;
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  for (unsigned i = 0; i < 120; ++i) {
    axis_frame f = random_frame(r, r.chance(0.1) ? 400 : 120);
    f.id = r.below(16);
    f.dest = r.below(8);
    const std::size_t beats = (f.bytes.size() + 3) / 4;
    f.user.assign(beats, 0);
    f.user.back() = r.chance(0.2);
    in.send(f, now());
    if (f.user.back() != 0 || beats > 64) {
      ++bad;
    } else {
      ++good;
      wanted.push_back(f);
    }
  }
  rtl.owe(static_cast<std::int64_t>(good));
  out.on_frame = [&](const axis_frame& f, ps) {
    rtl.owe(-1);
    rtl.expect(!wanted.empty() && f == wanted.front(), "a frame is not the one that was sent");
    if (!wanted.empty()) wanted.pop_front();
  };
  testing::run_for(limit);
  rtl.expect(wanted.empty() && out.frames_begun() == 0 && in.frames_under_way() == 0, "a frame did not come out");
  rtl.expect(rtl.get("good") == good && rtl.get("bad") == bad, "the counters of frames are wrong");
  return rtl.wrong;
}

std::string run_axis_widen(const run_options& o) {
  bench_shell rtl(make_shape_axis_widen, o);
  axis_source in(rtl, "in");
  axis_sink out(rtl, "out");
  random_stream r(o.shell.seed, "frames");
  std::deque<axis_frame> wanted;
  for (unsigned i = 0; i < 150; ++i) {
    axis_frame f = random_frame(r, 70);
    f.id = r.below(32);
    f.user.assign(1, r.below(4));
    in.send(f, now());
    rtl.owe(1);
    f.user.assign((f.bytes.size() + 7) / 8, f.user.front());
    wanted.push_back(std::move(f));
  }
  out.on_frame = [&](const axis_frame& f, ps) {
    rtl.owe(-1);
    rtl.expect(!wanted.empty() && f == wanted.front(), "a frame is not the one that was sent");
    if (!wanted.empty()) wanted.pop_front();
  };
  testing::run_for(limit);
  rtl.expect(wanted.empty() && out.frames_begun() == 0, "a frame did not come out");
  return rtl.wrong;
}

std::string run_axil_registers(const run_options& o) {
  bench_shell rtl(make_shape_axil_registers, o);
  axi_memory regs("regs", rtl);
  memory_user user("user", 4);
  user.out.bind(regs.memory);
  user.complain = [&](const std::string& what) { rtl.expect(false, what); };
  random_stream r(o.shell.seed, "registers");
  std::uint64_t interrupts = 0;
  std::uint64_t control = 0;
  rtl.watch("irq", [&](std::uint64_t v, ps) { interrupts += v; });
  rtl.watch("control", [&](std::uint64_t v, ps) { control = v; });
  rtl.set("status", 0x12345678);
  for (std::uint64_t at = 0; at < 128; at += 4) {
    if (at != 8) user.read_word(at, at == 4 ? 0x12345678 : 0);  // as reset leaves them
  }
  std::uint32_t last_control = 0;
  for (unsigned i = 0; i < 200; ++i) {
    const std::uint64_t at = r.chance(0.2) ? 0 : 12 + 4 * r.below(29);
    const std::uint64_t n = r.chance(0.5) ? 4 : 1 + r.below(4);
    std::vector<unsigned char> bytes(n);
    for (auto& b : bytes) b = static_cast<unsigned char>(r.next());
    r.chance(0.5) ? user.write(at, bytes) : user.read(at, n);
  }
  last_control = static_cast<std::uint32_t>(r.next());
  user.write_word(0, last_control).alone = true;
  user.write_word(4, 1).status = tlm::TLM_GENERIC_ERROR_RESPONSE;
  user.write_word(128, 1).status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
  user.read_word(252, 0).status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
  auto& status = user.read_word(4, 0xcafe0001);
  status.alone = true;
  status.before = [&] { rtl.set("status", 0xcafe0001); };
  // An event is an edge; a one clears it.
  auto& event = user.read_word(8, 0x21);
  event.alone = true;
  user.read_word(0, last_control).before = [&] { rtl.set("event", 0x21); };
  user.read_word(0, last_control).alone = true;
  std::uint64_t before_clearing = 0;
  auto& again = user.read_word(8, 0x21);
  again.alone = true;
  again.after = [&] { before_clearing = interrupts; };
  event.wanted = std::vector<unsigned char>(4, 0);
  user.write_word(8, 0x01).alone = true;
  user.read_word(8, 0x20).alone = true;
  auto& no_event = user.write_word(8, 0x20);
  no_event.alone = true;
  no_event.before = [&] { rtl.set("event", 0); };
  user.read_word(8, 0).alone = true;
  user.go();
  testing::run_for(limit);
  rtl.expect(user.missing().empty(), user.missing());
  rtl.expect(control == last_control && rtl.get("control") == last_control, "the output of the control register is wrong");
  rtl.expect(interrupts == 1 && before_clearing == 1 && rtl.get("irq") == 0, "the interrupt did not come once and go");
  return rtl.wrong;
}

std::string run_queue_manager(const run_options& o) {
  bench_shell rtl(make_shape_queue_manager, o);
  axi_memory regs("regs", rtl);
  memory_user software("software", 1);
  software.out.bind(regs.memory);
  software.complain = [&](const std::string& what) { rtl.expect(false, what); };
  stream& req = rtl.into("req", 11);
  stream& commit = rtl.into("commit", 3);
  stream& rsp = rtl.out_of("rsp", 61);
  stream& bell = rtl.out_of("bell", 3);
  random_stream r(o.shell.seed, "queues");

  struct ring {
    bool on;
    unsigned log;
    std::uint32_t base;
    std::uint16_t reserved, tail, head;
  };
  std::vector<ring> rings(8);
  for (unsigned q = 0; q < 8; ++q) {
    rings[q] = {q != 3, static_cast<unsigned>(r.below(5)), static_cast<std::uint32_t>(r.next()) & 0xfffffff0, 0, 0, 0};
    software.write_word(16 * q, (rings[q].on ? 0x80000000 : 0) | rings[q].log);
    software.write_word(16 * q + 8, rings[q].base);
    software.read_word(16 * q + 8, rings[q].base);
    software.read_word(16 * q, (rings[q].on ? 0x80000000 : 0) | rings[q].log);
  }
  struct question {
    unsigned queue, tag;
  };
  std::deque<question> asked;
  std::deque<std::uint64_t> rung;
  unsigned questions = 0;
  ps enabled_at = never;
  const auto ask = [&] {
    const question x{static_cast<unsigned>(r.below(8)), questions++ % 256};
    asked.push_back(x);
    rtl.owe(1);
    payload p;
    writer(p).put(x.queue, 3).put(x.tag, 8);
    rtl.push(req, p, now());
  };
  // Software takes what is full, and goes on when its tail is there.
  rsp.on_transfer = [&](const payload& p, std::uint64_t, ps) {
    rtl.owe(-1);
    if (asked.empty()) return rtl.expect(false, "an answer to nothing");
    rtl.expect(now() >= enabled_at, "an answer while it was off");
    const question x = asked.front();
    asked.pop_front();
    ring& q = rings[x.queue];
    const bool full = static_cast<std::uint16_t>(q.reserved - q.tail) == 1U << q.log;
    const std::uint32_t address = q.base + 16 * (q.reserved & ((1U << q.log) - 1));
    rtl.expect(p.get(0, 3) == x.queue && p.get(3, 16) == q.reserved && p.get(51, 8) == x.tag,
               "an answer is not that of its question");
    rtl.expect(p.get(19, 32) == address, "the address of a slot is wrong");
    rtl.expect(p.get(59, 1) == (q.on && full) && p.get(60, 1) == !q.on, "full or error is wrong");
    if (q.on && !full) {
      ++q.reserved;
      ++q.head;
      rung.push_back(x.queue);
      rtl.owe(1);
      rtl.push(commit, bits_of(x.queue, 3), now());
    } else if (q.on) {
      q.tail = static_cast<std::uint16_t>(q.tail + 1 + r.below(1U << q.log));
      software.write_word(16 * x.queue + 4, q.tail);
      software.read_word(16 * x.queue + 4, q.tail).after = [&] { ask(); };
      return software.go();
    }
    if (questions < 400) ask();
  };
  bell.on_transfer = [&](const payload& p, std::uint64_t, ps) {
    rtl.owe(-1);
    rtl.expect(!rung.empty() && p.get(0, 3) == rung.front(), "another queue is rung");
    if (!rung.empty()) rung.pop_front();
  };
  // The first one is asked while it is off.
  rtl.set("enable", 0);
  software.read_word(0, (rings[0].on ? 0x80000000 : 0) | rings[0].log).after = [&] {
    ask();
    event_queue::instance().at(now() + 1_us,
                               {[](void* context) { static_cast<bench_shell*>(context)->set("enable", 1); }, &rtl});
    enabled_at = now() + 1_us;
  };
  software.go();
  testing::run_for(limit);
  rtl.expect(asked.empty() && rung.empty() && questions >= 400, "a question or a doorbell is missing");
  for (unsigned q = 0; q < 8; ++q) software.read_word(16 * q + 12, rings[q].head);
  software.go();
  testing::run_for(10_us);
  rtl.expect(software.missing().empty(), software.missing());
  return rtl.wrong;
}

std::string run_doorbell_fifo(const run_options& o) {
  bench_shell rtl(make_shape_doorbell_fifo, o);
  stream& uar = rtl.into("uar", 40);
  stream& ctx_req = rtl.out_of("ctx_req", 24);
  stream& ctx = rtl.into("ctx", 33);
  stream& ring = rtl.out_of("ring", 48);
  stream& irq = rtl.out_of("irq", 0);
  random_stream r(o.shell.seed, "doorbells");
  std::deque<std::uint64_t> asked, rung;
  std::int64_t interrupts = 0;
  const auto exists = [](std::uint64_t qpn) { return qpn % 5 != 0; };
  ps t = now();
  for (unsigned i = 0; i < 300; ++i) {
    if (r.chance(0.1)) t += ps(static_cast<std::int64_t>(r.below(200'000)));
    const std::uint64_t qpn = r.below(1 << 24);
    const std::uint64_t index = r.below(1 << 16);
    rtl.push(uar, bits_of(index << 24 | qpn, 40), t);
    asked.push_back(qpn);
    rtl.owe(1);
    if (exists(qpn)) {
      rung.push_back((qpn * 3 & 0xffffffff) << 16 | index);
    } else {
      ++interrupts;
    }
  }
  ctx_req.on_transfer = [&](const payload& p, std::uint64_t, ps at) {
    const std::uint64_t qpn = p.get(0, 24);
    rtl.expect(!asked.empty() && qpn == asked.front(), "another context is asked for");
    if (!asked.empty()) asked.pop_front();
    payload answer;
    writer(answer).put(qpn * 3, 32).put(exists(qpn), 1);
    rtl.push(ctx, answer, at + ps(static_cast<std::int64_t>(r.below(40'000))));
  };
  ring.on_transfer = [&](const payload& p, std::uint64_t, ps) {
    rtl.owe(-1);
    rtl.expect(!rung.empty() && p.get(0, 48) == rung.front(), "another doorbell is rung");
    if (!rung.empty()) rung.pop_front();
  };
  irq.on_transfer = [&](const payload&, std::uint64_t, ps) {
    rtl.owe(-1);
    --interrupts;
  };
  testing::run_for(limit);
  rtl.expect(asked.empty() && rung.empty() && interrupts == 0, "a doorbell is lost");
  return rtl.wrong;
}

const std::vector<shape>& all_shapes() {
  static const std::vector<shape> all{{"axi_ram", make_shape_axi_ram, run_axi_ram},
                                      {"axi_cdma", make_shape_axi_cdma, run_axi_cdma},
                                      {"fifo_async", make_shape_fifo_async, run_fifo_async},
                                      {"axi_crossbar", make_shape_axi_crossbar, run_axi_crossbar},
                                      {"axis_frame_fifo", make_shape_axis_frame_fifo, run_axis_frame_fifo},
                                      {"axil_registers", make_shape_axil_registers, run_axil_registers},
                                      {"queue_manager", make_shape_queue_manager, run_queue_manager},
                                      {"doorbell_fifo", make_shape_doorbell_fifo, run_doorbell_fifo},
                                      {"axis_widen", make_shape_axis_widen, run_axis_widen},
                                      {"dma_stream", make_shape_dma_stream, run_dma_stream}};
  return all;
}

}  // namespace hcasim::rtl::shapes
