#include "testbenches/scenarios/random_traffic.h"

#include <deque>
#include <memory>

#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

enum : std::size_t { op_write, op_read, op_send, op_add, op_kinds };
constexpr std::array<const char*, op_kinds> op_names = {"WRITE", "READ", "SEND", "FETCH_ADD"};

struct target_side {
  std::vector<address> qps;
  std::vector<std::uint64_t> memory;  // of each QP: slots, receive slots, one counter
  std::vector<std::uint32_t> keys;
};

struct expected_send {
  std::uint64_t pattern;
  std::uint32_t bytes;
};

struct random_state {
  random_state(const random_options& options, std::uint64_t s, random_outcome& result) : o(options), seed(s), out(&result) {}

  random_options o;
  std::uint64_t seed;
  random_outcome* out;
  out_of_band<std::vector<address>> to_target;
  out_of_band<target_side> to_source;
  out_of_band<std::uint64_t> sends_in_all;
  std::vector<std::deque<expected_send>> sent;  // per QP, for the checker at the target

  [[nodiscard]] std::uint64_t slots_bytes() const { return o.window * o.max_size; }
  void problem(const std::string& text) {
    if (out->problem.empty()) out->problem = text;
  }
  // Neither side waits for what the other, which has given up, does not send any more.
  [[nodiscard]] bool good() const { return out->problem.empty(); }
};

qp_options settings(const random_options& o) {
  qp_options q;
  q.send_depth = 4 * o.window;
  q.receive_depth = 2 * o.window;
  q.sge = 2;
  q.timeout = o.timeout;
  q.retry = 7;
  q.rnr_timer = 1;
  return q;
}

// Byte i of pattern p; cheap, and different for every operation.
std::uint8_t byte_of(std::uint64_t pattern, std::uint64_t i) {
  return static_cast<std::uint8_t>((pattern * 0x9e3779b97f4a7c15 + i * 0xff51afd7ed558ccd) >> 56);
}
void lay(virtual_memory& m, std::uint64_t at, std::uint64_t pattern, std::uint64_t bytes) {
  std::vector<std::uint8_t> v(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) v[i] = byte_of(pattern, i);
  m.write(at, std::as_bytes(std::span(v)));
}
bool holds(const virtual_memory& m, std::uint64_t at, std::uint64_t pattern, std::uint64_t bytes) {
  std::vector<std::uint8_t> v(bytes);
  m.read(at, std::as_writable_bytes(std::span(v)));
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (v[i] != byte_of(pattern, i)) return false;
  }
  return true;
}

void target(random_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const qp_options q = settings(s.o);
  const std::vector<address> sources = s.to_target.receive(c);
  target_side mine;
  std::vector<ibv_qp*> qps;
  std::vector<region> regions;
  const auto post_slot = [&](std::size_t qp, std::uint64_t slot) {
    const std::uint64_t at = regions[qp].addr + s.slots_bytes() + slot * s.o.max_size;
    return post_receive(c, qps[qp], qp << 32 | slot, {{at, static_cast<std::uint32_t>(s.o.max_size), regions[qp].mr->lkey}}) ==
           0;
  };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    qps.push_back(p.create_qp(q));
    p.must_connect(qps[i], sources[i], q);
    regions.push_back(p.allocate(3 * s.slots_bytes() + 4096));
    mine.qps.push_back(p.address_of(qps[i], q));
    mine.memory.push_back(regions[i].addr);
    mine.keys.push_back(regions[i].mr->rkey);
    for (std::uint64_t slot = 0; slot < 2 * s.o.window; ++slot) {
      if (!post_slot(i, slot)) return s.problem("cannot post a receive");
    }
  }
  s.to_source.send(c, std::move(mine));
  std::uint64_t all = ~0ULL;
  while (s.out->received < all && s.good()) {
    if (const auto wc = next_completion(c, p.cq, 50_us)) {
      if (wc->status != IBV_WC_SUCCESS) return s.problem(std::string("a receive failed: ") + ibv_wc_status_str(wc->status));
      const auto qp = static_cast<std::size_t>(wc->wr_id >> 32);
      const std::uint64_t slot = wc->wr_id & 0xffffffff;
      const expected_send e = s.sent[qp].front();
      s.sent[qp].pop_front();
      const std::uint64_t at = regions[qp].addr + s.slots_bytes() + slot * s.o.max_size;
      if (wc->byte_len != e.bytes || !holds(p.memory, at, e.pattern, e.bytes)) s.problem("a SEND arrived with other bytes");
      ++s.out->received;
      if (!post_slot(qp, slot)) return s.problem("cannot post a receive");
    } else if (!s.sends_in_all.empty()) {
      all = s.sends_in_all.receive(c);
    }
  }
}

struct pending {
  std::size_t kind;
  std::uint64_t slot;
  std::uint64_t bytes;
  std::uint64_t pattern;  // WRITE: what was written; READ: what must come; FETCH_ADD: the value that must come
};

struct lane {
  ibv_qp* qp = nullptr;
  region mine;
  std::deque<pending> outstanding;
  std::vector<std::uint64_t> held;  // pattern of each target slot
  std::vector<std::uint64_t> held_bytes;
  std::uint64_t next_slot = 0;
  std::uint64_t counter = 0;
};

void source(random_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const qp_options q = settings(s.o);
  random_stream random(s.seed, "random_traffic");
  std::vector<lane> lanes(s.o.qps);
  std::vector<address> mine;
  for (lane& l : lanes) {
    l.qp = p.create_qp(q);
    l.mine = p.allocate(s.slots_bytes() + 4096);
    l.held.assign(s.o.window, 0);
    l.held_bytes.assign(s.o.window, 0);
    mine.push_back(p.address_of(l.qp, q));
  }
  s.sent.resize(lanes.size());
  s.to_target.send(c, std::move(mine));
  const target_side there = s.to_source.receive(c);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    p.must_connect(lanes[i].qp, there.qps[i], q);
  }

  std::uint64_t issued = 0;
  std::uint64_t completed = 0;
  std::uint64_t sends = 0;
  const auto issue = [&](std::size_t i) {
    lane& l = lanes[i];
    const std::uint64_t slot = l.next_slot++ % s.o.window;
    const std::uint64_t here = l.mine.addr + slot * s.o.max_size;
    const std::uint64_t far = there.memory[i] + slot * s.o.max_size;
    pending x{static_cast<std::size_t>(random.below(op_kinds)), slot, 1 + random.below(s.o.max_size), random.next()};
    if (x.kind == op_read && l.held_bytes[slot] == 0) x.kind = op_write;
    request r{.id = i, .sges = {}, .remote = far, .rkey = there.keys[i]};
    switch (x.kind) {
      case op_write:
        lay(p.memory, here, x.pattern, x.bytes);
        l.held[slot] = x.pattern;
        l.held_bytes[slot] = x.bytes;
        break;
      case op_read:
        r.opcode = IBV_WR_RDMA_READ;
        x.bytes = l.held_bytes[slot];
        x.pattern = l.held[slot];
        break;
      case op_send:
        r.opcode = IBV_WR_SEND;
        lay(p.memory, here, x.pattern, x.bytes);
        s.sent[i].push_back({x.pattern, static_cast<std::uint32_t>(x.bytes)});
        ++sends;
        break;
      default:
        r.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        r.remote = there.memory[i] + 3 * s.slots_bytes();
        r.compare_add = x.pattern;
        x.bytes = 8;
        std::swap(x.pattern, l.counter);
        l.counter = x.pattern + r.compare_add;
        break;
    }
    const std::uint64_t first = x.bytes > 1 && x.kind != op_add ? 1 + random.below(x.bytes - 1) : x.bytes;
    r.sges.push_back({here, static_cast<std::uint32_t>(first), l.mine.mr->lkey});
    if (first < x.bytes) r.sges.push_back({here + first, static_cast<std::uint32_t>(x.bytes - first), l.mine.mr->lkey});
    l.outstanding.push_back(x);
    ++issued;
    return post(c, l.qp, r) == 0;
  };

  s.o.parts.begin(c);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (std::uint32_t k = 0; k < s.o.window && issued < s.o.operations; ++k) {
      if (!issue(i)) return s.problem("cannot post");
    }
  }
  while (completed < issued && s.good()) {
    const auto wc = next_completion(c, p.cq);
    if (!wc) return s.problem("no completion");
    lane& l = lanes[wc->wr_id];
    if (wc->status != IBV_WC_SUCCESS) {
      return s.problem(std::string("a ") + op_names[l.outstanding.front().kind] + " failed: " + ibv_wc_status_str(wc->status));
    }
    const pending x = l.outstanding.front();
    l.outstanding.pop_front();
    ++completed;
    ++s.out->done[x.kind];
    s.out->bytes += x.bytes;
    const std::uint64_t here = l.mine.addr + x.slot * s.o.max_size;
    if (x.kind == op_read && !holds(p.memory, here, x.pattern, x.bytes)) s.problem("a READ brought other bytes");
    if (x.kind == op_add && p.load64(here) != x.pattern) s.problem("an atomic returned another value");
    if (issued < s.o.operations && !issue(wc->wr_id)) return s.problem("cannot post");
  }
  s.o.parts.end(c);
  s.sends_in_all.send(c, sends);
  s.out->ok = s.out->problem.empty();
}

}  // namespace

void start_random(hcasim::system& s, const random_options& o, std::uint64_t seed, random_outcome& out) {
  auto state = std::make_shared<random_state>(o, seed, out);
  start_program(s, 0, "source", [state](cpu& c, node& n) { source(*state, c, n); });
  start_program(s, 1, "target", [state](cpu& c, node& n) { target(*state, c, n); });
}

}  // namespace hcasim::kit
