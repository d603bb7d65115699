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
  std::vector<std::uint64_t> memory;  // address for each QP: slots, receive slots, one counter
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
  // Returns whether no side has given up: the other one must not wait for its messages.
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
  std::uint64_t pattern;  // WRITE: the written pattern; READ, FETCH_ADD: the expected one
};

// A QP of the source, with what its peer's memory must hold.
struct lane {
  ibv_qp* qp = nullptr;
  region mine;
  std::uint64_t memory = 0;  // at the target
  std::uint32_t rkey = 0;
  std::deque<pending> outstanding;
  std::vector<std::uint64_t> held;  // pattern of each target slot
  std::vector<std::uint64_t> held_bytes;
  std::uint64_t next_slot = 0;
  std::uint64_t counter = 0;
};

class random_source {
 public:
  random_source(random_state& s, cpu& c, node& n)
      : state_(s), options_(s.o), cpu_(c), process_(c, n), random_(s.seed, "random_traffic"), lanes_(s.o.qps) {}
  void run();

 private:
  void connect();
  bool post_first();
  void take_completions();
  void check(const lane& l, const pending& x);
  // Posts one operation to the lane; false when the adapter refuses.
  bool issue(std::size_t i);
  [[nodiscard]] pending draw(lane& l);
  void prepare(std::size_t i, pending& x, request& r);
  void split(const lane& l, const pending& x, request& r);
  [[nodiscard]] std::uint64_t here(const lane& l, const pending& x) const { return l.mine.addr + x.slot * options_.max_size; }

  random_state& state_;
  const random_options& options_;
  cpu& cpu_;
  process_context process_;
  random_stream random_;
  std::vector<lane> lanes_;
  std::uint64_t issued_ = 0;
  std::uint64_t sends_ = 0;
};

void random_source::run() {
  connect();
  options_.parts.begin(cpu_);
  if (!post_first()) return state_.problem("cannot post");
  take_completions();
  options_.parts.end(cpu_);
  state_.sends_in_all.send(cpu_, sends_);
  state_.out->ok = state_.good();
}

void random_source::connect() {
  const qp_options q = settings(options_);
  std::vector<address> mine;
  for (lane& l : lanes_) {
    l.qp = process_.create_qp(q);
    l.mine = process_.allocate(state_.slots_bytes() + 4096);
    l.held.assign(options_.window, 0);
    l.held_bytes.assign(options_.window, 0);
    mine.push_back(process_.address_of(l.qp, q));
  }
  state_.sent.resize(lanes_.size());
  state_.to_target.send(cpu_, std::move(mine));
  const target_side there = state_.to_source.receive(cpu_);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].memory = there.memory[i];
    lanes_[i].rkey = there.keys[i];
    process_.must_connect(lanes_[i].qp, there.qps[i], q);
  }
}

bool random_source::post_first() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    for (std::uint32_t k = 0; k < options_.window && issued_ < options_.operations; ++k) {
      if (!issue(i)) return false;
    }
  }
  return true;
}

void random_source::take_completions() {
  for (std::uint64_t completed = 0; completed < issued_ && state_.good(); ++completed) {
    const auto wc = next_completion(cpu_, process_.cq);
    if (!wc) return state_.problem("no completion");
    lane& l = lanes_[wc->wr_id];
    const pending x = l.outstanding.front();
    if (wc->status != IBV_WC_SUCCESS)
      return state_.problem(std::string("a ") + op_names[x.kind] + " failed: " + ibv_wc_status_str(wc->status));
    l.outstanding.pop_front();
    ++state_.out->done[x.kind];
    state_.out->bytes += x.bytes;
    check(l, x);
    if (issued_ < options_.operations && !issue(wc->wr_id)) return state_.problem("cannot post");
  }
}

void random_source::check(const lane& l, const pending& x) {
  if (x.kind == op_read && !holds(process_.memory, here(l, x), x.pattern, x.bytes))
    state_.problem("a READ brought other bytes");
  if (x.kind == op_add && process_.load64(here(l, x)) != x.pattern) state_.problem("an atomic returned another value");
}

bool random_source::issue(std::size_t i) {
  lane& l = lanes_[i];
  pending x = draw(l);
  request r{.id = i, .sges = {}, .remote = l.memory + x.slot * options_.max_size, .rkey = l.rkey};
  prepare(i, x, r);
  split(l, x, r);
  l.outstanding.push_back(x);
  ++issued_;
  return post(cpu_, l.qp, r) == 0;
}

pending random_source::draw(lane& l) {
  const std::uint64_t slot = l.next_slot++ % options_.window;
  pending x{static_cast<std::size_t>(random_.below(op_kinds)), slot, 1 + random_.below(options_.max_size), random_.next()};
  if (x.kind == op_read && l.held_bytes[slot] == 0) x.kind = op_write;
  return x;
}

// Fills in the opcode, lays the payload down, and notes what must come back.
void random_source::prepare(std::size_t i, pending& x, request& r) {
  lane& l = lanes_[i];
  switch (x.kind) {
    case op_write:
      lay(process_.memory, here(l, x), x.pattern, x.bytes);
      l.held[x.slot] = x.pattern;
      l.held_bytes[x.slot] = x.bytes;
      break;
    case op_read:
      r.opcode = IBV_WR_RDMA_READ;
      x.bytes = l.held_bytes[x.slot];
      x.pattern = l.held[x.slot];
      break;
    case op_send:
      r.opcode = IBV_WR_SEND;
      lay(process_.memory, here(l, x), x.pattern, x.bytes);
      state_.sent[i].push_back({x.pattern, static_cast<std::uint32_t>(x.bytes)});
      ++sends_;
      break;
    default:
      r.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
      r.remote = l.memory + 3 * state_.slots_bytes();
      r.compare_add = x.pattern;
      x.bytes = 8;
      std::swap(x.pattern, l.counter);
      l.counter = x.pattern + r.compare_add;
      break;
  }
}

// Gathers the payload from two pieces, cut anywhere.
void random_source::split(const lane& l, const pending& x, request& r) {
  const std::uint64_t first = x.bytes > 1 && x.kind != op_add ? 1 + random_.below(x.bytes - 1) : x.bytes;
  const std::uint64_t at = here(l, x);
  r.sges.push_back({at, static_cast<std::uint32_t>(first), l.mine.mr->lkey});
  if (first < x.bytes) r.sges.push_back({at + first, static_cast<std::uint32_t>(x.bytes - first), l.mine.mr->lkey});
}

}  // namespace

void start_random(hcasim::system& s, const random_options& o, std::uint64_t seed, random_outcome& out) {
  auto state = std::make_shared<random_state>(o, seed, out);
  start_program(s, 0, "source", [state](cpu& c, node& n) { random_source(*state, c, n).run(); });
  start_program(s, 1, "target", [state](cpu& c, node& n) { target(*state, c, n); });
}

}  // namespace hcasim::kit
