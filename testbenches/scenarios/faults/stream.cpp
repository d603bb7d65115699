#include "testbenches/scenarios/faults/stream.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "models/driver/device/device.h"
#include "models/driver/peer/memory_owner.h"
#include "testbenches/kit/peer.h"
#include "testbenches/kit/world.h"

namespace hcasim::faults {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

namespace {

struct offer {
  bool end = false;
  std::vector<address> qps;
  std::uint64_t memory = 0;
  std::uint32_t key = 0;
};

constexpr std::uint64_t page_bytes = 4096;
using driver::peer::memory_owner;

// The region of node 1, whose pages another program moves.
struct movable {
  virtual_memory* memory = nullptr;
  std::uint64_t at = 0;
  std::uint64_t pages = 0;
  bool moving = false;
};

struct shared_state {
  stream_options o;
  std::function<bool(const stream_state&)> more;
  stream_state* out;
  std::size_t first = 0;  // of its places in stream_state::begun
  movable there;
  bool over = false;
  out_of_band<offer> to_target;
  out_of_band<offer> to_source;
};

offer the_end() {
  offer o;
  o.end = true;
  return o;
}

qp_options settings(const stream_options& o) {
  qp_options q;
  q.send_depth = 4 * o.window;
  q.timeout = 8;
  q.retry = 3;
  return q;
}

// A process that may find its device dead at any moment: nothing here throws, and everything is given back.
class tough_process {
 public:
  // `owner`: whose memory it is, of a peer device; null = the host's.
  tough_process(cpu& thread, node& on, shared_state& s, memory_owner* owner = nullptr)
      : c(thread), n(on), s_(s), owner_(owner), memory(on.host.memory_bytes(), on.host.seed()) {}

  bool open() {
    if (n.device().open(c) != 0) return false;
    context = ibv_open_device(c, n.device(), memory);
    if (!context) return true;  // it has died again: the next try waits
    pd = ibv_alloc_pd(c, context);
    if (s_.o.events) channel = ibv_create_comp_channel(c, context);
    if (pd) cq = ibv_create_cq(c, context, 1024, nullptr, channel, 0);
    return true;
  }
  ~tough_process() {
    if (s_.there.memory == &memory) s_.there.memory = nullptr;
    while (s_.there.moving) c.spend(1_us), c.sync();
    if (!context) return;
    ibv_async_event e{};
    const auto& own = static_cast<driver::process&>(*context);
    while (!own.async_events.empty() && ibv_get_async_event(c, context, &e) == 0) {
      if (e.event_type == IBV_EVENT_DEVICE_FATAL) ++s_.out->fatal;
      ibv_ack_async_event(&e);
    }
    bool all = ibv_close_device(c, context) == 0 && memory.pinned_bytes() == 0;
    if (owner_ && at != 0) all = owner_->free(c, at) == 0 && all;
    if (!all) ++s_.out->unclosed;
  }
  tough_process(const tough_process&) = delete;
  tough_process& operator=(const tough_process&) = delete;

  bool make(std::uint64_t bytes) {
    if (!context || !pd || !cq) return false;
    const qp_options q = settings(s_.o);
    for (std::uint32_t i = 0; i < s_.o.qps; ++i) {
      ibv_qp_init_attr init{};
      init.send_cq = init.recv_cq = cq;
      init.cap = {q.send_depth, q.receive_depth, q.sge, q.sge, q.inline_bytes};
      init.qp_type = q.type;
      ibv_qp* const qp = ibv_create_qp(c, pd, &init);
      if (!qp) return false;
      qps.push_back(qp);
    }
    const bool pages = s_.o.memory == stream_memory::on_demand;
    at = owner_ ? owner_->allocate(c, memory, bytes, driver::peer::placement::scattered) : memory.allocate(bytes);
    if (owner_ && at != 0) clear_peer(bytes);
    mr = at == 0 ? nullptr
                 : ibv_reg_mr(c, pd, at, bytes, qp_rights | IBV_ACCESS_LOCAL_WRITE | (pages ? IBV_ACCESS_ON_DEMAND : 0));
    pages_ = bytes / page_bytes;
    return mr != nullptr;
  }
  // Its memory is as others have left it.
  void clear_peer(std::uint64_t bytes) {
    const std::vector<std::byte> zeros(bytes);
    for_each_piece(*owner_, at, bytes, [&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
      n.peer(0).memory().write(offset, std::span(zeros).first(length));
    });
  }
  // Lets another program move pages of the region.
  void offer_pages() {
    if (s_.o.memory == stream_memory::on_demand) s_.there = {&memory, at, pages_, false};
  }
  // Pages may be moved while requests use them.
  void move_a_page() {
    if (s_.o.memory != stream_memory::on_demand || ++asked_to_move_ % 16 != 0 || pages_ == 0) return;
    s_.out->moved += memory.migrate(c, at + asked_to_move_ / 16 % pages_ * page_bytes, page_bytes) == 0;
  }
  [[nodiscard]] offer terms() const {
    offer o;
    for (const ibv_qp* qp : qps) {
      o.qps.push_back({static_cast<std::uint16_t>(n.device().info().port_lid), qp->qp_num, settings(s_.o).psn});
    }
    o.memory = at;
    o.key = mr ? mr->rkey : 0;
    return o;
  }
  bool connect(const offer& to) {
    const qp_options q = settings(s_.o);
    for (std::size_t i = 0; i < qps.size(); ++i) {
      if (i >= to.qps.size() || kit::connect(c, qps[i], to.qps[i], q) != 0) return false;
    }
    return true;
  }

  cpu& c;
  node& n;

 private:
  shared_state& s_;
  memory_owner* const owner_;
  std::uint64_t pages_ = 0;
  std::uint64_t asked_to_move_ = 0;

 public:
  virtual_memory memory;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  std::vector<ibv_qp*> qps;
  std::uint64_t at = 0;
};

std::uint8_t byte_of(std::uint64_t pattern, std::uint64_t i) {
  return static_cast<std::uint8_t>((pattern * 0x9e3779b97f4a7c15 + i * 0xff51afd7ed558ccd) >> 56);
}

// The source's part of one life: each slot of each QP is written, read back into another place, and counted.
class life {
 public:
  life(shared_state& s, tough_process& p, offer there) : s_(s), p_(p), there_(std::move(there)) { slots_.resize(places(s.o)); }
  life(const life&) = delete;
  life& operator=(const life&) = delete;
  ~life() {
    for (std::size_t i = 0; i < slots_.size(); ++i) begun(i) = never;
  }

  static std::size_t places(const stream_options& o) { return std::size_t{o.qps} * o.window; }

  static std::uint64_t bytes(const stream_options& o) { return places(o) * (2 * o.size + 8); }

  // True = no more is wanted. False = it broke.
  bool run() {
    heard_ = p_.c.time();
    for (std::size_t i = 0; i < slots_.size() && s_.more(*s_.out); ++i) {
      if (!post_next(i)) return false;
    }
    while (outstanding_ != 0) {
      ibv_wc wc[16];
      const int n = ibv_poll_cq(p_.c, p_.cq, 16, wc);
      if (n == 0 && !wait()) return false;
      if (n != 0) heard_ = p_.c.time();
      for (int i = 0; i < n; ++i) {
        --outstanding_;
        begun(wc[i].wr_id) = never;
        if (wc[i].status != IBV_WC_SUCCESS) {
          ++s_.out->failed;
          broken_ = true;
          continue;
        }
        const auto slot = static_cast<std::size_t>(wc[i].wr_id);
        finished(slot);
        if (!broken_ && s_.more(*s_.out) && !post_next(slot)) broken_ = true;
      }
    }
    return !broken_;
  }

 private:
  struct slot_state {
    unsigned step = 0;
    std::uint64_t pattern = 0;
    std::uint64_t counter = 0;
  };

  // Until there may be something to poll. False = nothing has come for too long.
  bool wait() {
    // Events alone are no completions: a CQE that went elsewhere brings one whenever it is asked for.
    const bool in_time = p_.c.time() - heard_ <= s_.o.patience;
    if (in_time && (s_.o.events ? wait_event() : wait_cq(p_.c, p_.cq, s_.o.patience))) return true;
    // A request that is lost with a queue's context never ends, but software is told of the queue.
    ++(told_of_a_queue() ? s_.out->failed : s_.out->silent);
    return false;
  }

  // Returns at once without an event, as a channel that does not block.
  bool wait_event() {
    auto& channel = static_cast<driver::completion_channel&>(*p_.channel);
    const auto& own = static_cast<const driver::process&>(*p_.context);
    const ps deadline = p_.c.time() + s_.o.patience;
    if (!asked_) {
      (void)ibv_req_notify_cq(p_.c, p_.cq, 0);
      asked_ = true;
      return true;  // what came before that is polled
    }
    while (channel.pending.empty() && !own.lost && p_.c.time() < deadline) {
      p_.c.spend(1_us);
      p_.c.sync();
    }
    if (own.lost) return wait_cq(p_.c, p_.cq, s_.o.patience);
    if (channel.pending.empty()) return false;
    ibv_cq* from = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(p_.c, p_.channel, &from, &context) == 0) ibv_ack_cq_events(from, 1);
    asked_ = false;
    return true;
  }

  [[nodiscard]] bool told_of_a_queue() const {
    const auto& own = static_cast<const driver::process&>(*p_.context);
    return std::any_of(own.async_events.begin(), own.async_events.end(), [](const ibv_async_event& e) {
      return e.event_type == IBV_EVENT_QP_FATAL || e.event_type == IBV_EVENT_CQ_ERR;
    });
  }

  [[nodiscard]] std::uint64_t here(std::size_t slot, bool back) const {
    return p_.at + (2 * slot + (back ? 1 : 0)) * s_.o.size;
  }
  [[nodiscard]] std::uint64_t counters() const { return slots_.size() * 2 * s_.o.size; }

  bool post_next(std::size_t slot) {
    p_.move_a_page();
    slot_state& t = slots_[slot];
    ibv_qp* const qp = p_.qps[slot % p_.qps.size()];
    request r{.id = slot, .sges = {}, .remote = there_.memory + 2 * slot * s_.o.size, .rkey = there_.key};
    const auto size = static_cast<std::uint32_t>(s_.o.size);
    if (t.step == 0) {
      t.pattern = ++patterns_ * 0x10001 + s_.out->lives;
      std::vector<std::uint8_t> v(s_.o.size);
      for (std::uint64_t i = 0; i < v.size(); ++i) v[i] = byte_of(t.pattern, i);
      p_.memory.write(here(slot, false), std::as_bytes(std::span(v)));
      r.sges = {{here(slot, false), size, p_.mr->lkey}};
    } else if (t.step == 1) {
      r.opcode = IBV_WR_RDMA_READ;
      r.sges = {{here(slot, true), size, p_.mr->lkey}};
    } else {
      r.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
      r.remote = there_.memory + counters() + slot * 8;
      r.compare_add = slot + 1;
      r.sges = {{p_.at + counters() + slot * 8, 8, p_.mr->lkey}};
    }
    if (post(p_.c, qp, r) != 0) return false;
    ++outstanding_;
    begun(slot) = p_.c.time();
    return true;
  }
  ps& begun(std::size_t slot) { return s_.out->begun[s_.first + slot]; }

  void finished(std::size_t slot) {
    slot_state& t = slots_[slot];
    bool right = true;
    p_.c.sync();
    if (t.step == 1) {
      std::vector<std::uint8_t> v(s_.o.size);
      p_.memory.read(here(slot, true), std::as_writable_bytes(std::span(v)));
      for (std::uint64_t i = 0; i < v.size(); ++i) right &= v[i] == byte_of(t.pattern, i);
    } else if (t.step == 2) {
      std::uint64_t old = 0;
      p_.memory.read(p_.at + counters() + slot * 8, std::as_writable_bytes(std::span(&old, 1)));
      right = old == t.counter;
      t.counter += slot + 1;
    }
    ++(right ? s_.out->done : s_.out->wrong);
    s_.out->last_progress = p_.c.time();
    t.step = (t.step + 1) % 3;
  }

  shared_state& s_;
  tough_process& p_;
  offer there_;
  std::vector<slot_state> slots_;
  std::uint64_t patterns_ = 0;
  std::size_t outstanding_ = 0;
  ps heard_{0};         // when something was polled
  bool asked_ = false;  // for an event of the CQ
  bool broken_ = false;
};

void source(shared_state& s, cpu& c, node& n) {
  for (bool over = false; !over;) {
    tough_process p(c, n, s);
    if (!p.open()) {
      ++s.out->lost_nodes;
      break;
    }
    const bool made = p.make(life::bytes(s.o));
    if (!made) {
      c.spend(10_us);
      if (!s.more(*s.out)) break;
      continue;
    }
    s.to_target.send(c, p.terms());
    const offer there = s.to_source.receive(c);
    if (there.end) {
      ++s.out->lost_nodes;
      break;
    }
    if (!p.connect(there)) continue;
    ++s.out->lives;
    life one(s, p, there);
    over = one.run() && !s.more(*s.out);
    if (!over) over = !s.more(*s.out);
  }
  s.to_target.send(c, the_end());
  c.sync();
  s.over = true;
  s.out->over = --s.out->running == 0;
}

// Serves requests for a new pair; the resources of the older pair are given back first.
void target(shared_state& s, cpu& c, node& n, memory_owner* owner) {
  offer asked = s.to_target.receive(c);
  while (!asked.end) {
    tough_process p(c, n, s, owner);
    if (!p.open()) {
      s.to_source.send(c, the_end());
      return;
    }
    if (!p.make(life::bytes(s.o)) || !p.connect(asked)) {
      c.spend(10_us);
      continue;
    }
    p.offer_pages();
    s.to_source.send(c, p.terms());
    asked = s.to_target.receive(c);
  }
}

// Moves pages of what node 1 has, one after the other.
void pager(shared_state& s, cpu& c) {
  for (std::uint64_t i = 0; !s.over; ++i) {
    c.spend(20_us);
    c.sync();
    movable& m = s.there;
    if (!m.memory || m.pages == 0) continue;
    m.moving = true;
    s.out->moved += m.memory->migrate(c, m.at + i % m.pages * page_bytes, page_bytes) == 0;
    c.sync();
    m.moving = false;
  }
}

// The driver of the peer device outlives the adapter's failures.
struct peer_driver {
  explicit peer_driver(node& n) : owner(n.host, node::peer_bar(0), "gpu0", {.allocate_call = 0_ps}) {}
  memory_owner owner;
  std::uint32_t users = 0;
};

}  // namespace

void start_stream(hcasim::system& s, const stream_options& o, const std::function<bool(const stream_state&)>& more,
                  stream_state& out) {
  if (o.memory == stream_memory::peer && s.config().nodes[1].peer[0].kind == peer_kind::none) {
    throw std::invalid_argument("parameters.memory: node 1 has no peer device; write node1.peer0.kind: gpu");
  }
  out.running = o.processes;
  out.begun.assign(o.processes * life::places(o), never);
  auto peer = o.memory == stream_memory::peer ? std::make_shared<peer_driver>(s.at(1)) : nullptr;
  for (std::uint32_t i = 0; i < o.processes; ++i) {
    auto state = std::make_shared<shared_state>();
    state->o = o;
    state->more = more;
    state->out = &out;
    state->first = i * life::places(o);
    const std::string number = i == 0 ? "" : std::to_string(i);
    s.at(0).host.run("source" + number, [state, &s](cpu& c) { source(*state, c, s.at(0)); });
    s.at(1).host.run("target" + number, [state, peer, &s](cpu& c) {
      node& n = s.at(1);
      if (peer && peer->users++ == 0 && (peer->owner.open(c) != 0 || !peer->owner.join(n.device().peers()))) {
        throw std::runtime_error("the peer device cannot be used");
      }
      target(*state, c, n, peer ? &peer->owner : nullptr);
      if (peer && --peer->users == 0) peer->owner.leave(c);
    });
    if (o.memory == stream_memory::on_demand) s.at(1).host.run("pager" + number, [state](cpu& c) { pager(*state, c); });
  }
}

}  // namespace hcasim::faults
