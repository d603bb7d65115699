#include "testbenches/scenarios/key_storm.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "testbenches/kit/windows.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t slot_bytes = 4096;

// The life of one key, as software can tell it.
struct life {
  std::uint32_t key = 0;
  std::uint64_t va = 0;
  std::uint32_t bytes = 0;
  ps bind_posted{0};
  ps bound = never;
  ps unbind_posted = never;
  ps unbound = never;
};

struct storm_state {
  storm_state(const storm_options& options, std::uint64_t s, storm_outcome& result) : o(options), seed(s), out(&result) {}

  storm_options o;
  std::uint64_t seed;
  storm_outcome* out;
  out_of_band<std::vector<address>> to_owner;
  out_of_band<std::vector<address>> to_writer;
  out_of_band<std::size_t> broken{2_us};     // a lane, from the writer
  out_of_band<std::size_t> mended{2_us};     // a lane, from the owner
  std::vector<std::unique_ptr<life>> lives;  // all keys there ever were
  std::vector<life*> current;                // of each window; what the writer knows
  bool over = false;
  bool writer_gone = false;

  void problem(const char* text) {
    if (out->problem.empty()) out->problem = text;
  }
};

qp_options storm_queue() {
  return {.timeout = 10, .retry = 7};
}

class storm_owner {
 public:
  storm_owner(storm_state& s, cpu& c, node& n) : s_(s), c_(c), p_(c, n), random_(s.seed, "owner") {}

  void run() {
    const std::vector<address> writers = s_.to_owner.receive(c_);
    std::vector<address> mine;
    binds_cq_ = made(ibv_create_cq(c_, p_.context, static_cast<int>(4 * s_.o.depth + s_.o.windows), nullptr, nullptr, 0));
    qp_options lane = storm_queue();
    lane.send_depth = 2 * s_.o.depth;
    for (const address& w : writers) {
      lanes_.push_back(p_.create_qp(lane, nullptr, binds_cq_));
      p_.must_connect(lanes_.back(), w, storm_queue());
      mine.push_back(p_.address_of(lanes_.back(), storm_queue()));
    }
    peers_ = writers;
    changing_.resize(lanes_.size());
    control_ = p_.create_qp({.send_depth = 2 * s_.o.depth}, nullptr, binds_cq_);
    p_.must_connect(control_, p_.address_of(control_));
    memory_ = p_.allocate(s_.o.windows * slot_bytes);
    for (std::uint32_t i = 0; i < s_.o.windows; ++i) {
      slots_.push_back({made(ibv_alloc_mw(c_, p_.pd, type())), false, false, 0});
      lay(i);
    }
    s_.current.assign(s_.o.windows, nullptr);
    s_.to_writer.send(c_, std::move(mine));
    s_.o.parts.begin(c_);
    s_.out->first = c_.time();
    while (s_.out->binds + s_.out->unbinds < s_.o.changes && s_.out->problem.empty()) {
      while (outstanding_ < s_.o.depth && start_one()) {
      }
      finish_some();
      mend_lanes();
    }
    s_.out->last = c_.time();
    s_.o.parts.end(c_);
    while (outstanding_ > 0) finish_some();
    s_.over = true;
    while (!s_.writer_gone) {
      c_.spend(1_us);
      c_.sync();
      mend_lanes();
    }
    for (std::uint32_t i = 0; i < s_.o.windows; ++i) {
      if (!slots_[i].open) look(i);
    }
  }

 private:
  struct slot {
    ibv_mw* mw;
    bool open;
    bool busy;
    std::uint64_t stamp;
  };

  [[nodiscard]] ibv_mw_type type() const { return s_.o.type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2; }
  [[nodiscard]] std::size_t lane_of(std::uint32_t i) const { return i % lanes_.size(); }
  [[nodiscard]] std::uint64_t at(std::uint32_t i) const { return memory_.addr + i * slot_bytes; }
  void lay(std::uint32_t i) {
    slots_[i].stamp = random_.next();
    const std::vector<std::uint64_t> words(slot_bytes / 8, slots_[i].stamp);
    p_.memory.write(at(i), std::as_bytes(std::span(words)));
  }
  void look(std::uint32_t i) {
    std::vector<std::uint64_t> words(slot_bytes / 8);
    p_.memory.read(at(i), std::as_writable_bytes(std::span(words)));
    for (const std::uint64_t w : words) s_.out->late_bytes += w != slots_[i].stamp ? 8 : 0;
  }

  bool start_one() {
    const auto i = static_cast<std::uint32_t>(random_.below(s_.o.windows));
    slot& x = slots_[i];
    if (x.busy) return false;
    ibv_mw_bind_info what{memory_.mr, 0, 0, 0};
    if (!x.open) {
      look(i);
      const std::uint64_t from = 8 * random_.below(slot_bytes / 16);
      const auto bytes = static_cast<std::uint32_t>(8 + 8 * random_.below((slot_bytes - from) / 8));
      what = {memory_.mr, at(i) + from, bytes, IBV_ACCESS_REMOTE_WRITE};
      s_.lives.push_back(std::make_unique<life>(life{.va = at(i) + from, .bytes = bytes, .bind_posted = c_.time()}));
      s_.current[i] = s_.lives.back().get();
    } else {
      s_.current[i]->unbind_posted = c_.time();
    }
    if (post_change(i, what) != 0) {
      s_.problem("a change could not be posted");
      return false;
    }
    x.busy = true;
    ++outstanding_;
    return true;
  }

  int post_change(std::uint32_t i, const ibv_mw_bind_info& what) {
    slot& x = slots_[i];
    if (s_.o.type == 1) {
      ibv_mw_bind order{.wr_id = i, .send_flags = IBV_SEND_SIGNALED, .bind_info = what};
      const int error = ibv_bind_mw(c_, control_, x.mw, &order);
      if (!x.open) s_.current[i]->key = x.mw->rkey;
      return error;
    }
    ibv_qp* const qp = lanes_[lane_of(i)];
    ++changing_[lane_of(i)];
    if (x.open) return post_local_inv(c_, qp, x.mw->rkey, {.id = i});
    const std::uint32_t key = ibv_inc_rkey(x.mw->rkey);
    s_.current[i]->key = key;
    return post_bind(c_, qp, x.mw, key, what, {.id = i});
  }

  // The change may have been executed or not; the window goes, and with it the doubt.
  void start_anew(std::uint32_t i) {
    slot& x = slots_[i];
    ++s_.out->flushed;
    life& l = *s_.current[i];
    if (!x.open) s_.current[i] = nullptr;  // the writer never gets this key
    if (ibv_dealloc_mw(c_, x.mw) != 0) return s_.problem("a window could not be freed");
    x.mw = made(ibv_alloc_mw(c_, p_.pd, type()));
    l.unbound = c_.time();
    x.open = x.busy = false;
    lay(i);
  }

  void finish_some() {
    ibv_wc wc{};
    while (ibv_poll_cq(c_, binds_cq_, 1, &wc) == 1) {
      --outstanding_;
      const auto i = static_cast<std::uint32_t>(wc.wr_id);
      slot& x = slots_[i];
      if (s_.o.type == 2) --changing_[lane_of(i)];
      if (s_.o.type == 2 && wc.status == IBV_WC_WR_FLUSH_ERR) {
        start_anew(i);
        continue;
      }
      if (wc.status != IBV_WC_SUCCESS) return s_.problem("a change failed");
      if (s_.o.type == 2 && !x.open) x.mw->rkey = s_.current[i]->key;
      x.busy = false;
      x.open = !x.open;
      if (x.open) {
        ++s_.out->binds;
        s_.current[i]->bound = c_.time();
      } else {
        ++s_.out->unbinds;
        s_.current[i]->unbound = c_.time();
        lay(i);
      }
    }
    c_.sync();
  }

  void mend_lanes() {
    while (!s_.broken.empty()) {
      const std::size_t lane = s_.broken.receive(c_);
      while (changing_[lane] != 0 && s_.out->problem.empty()) finish_some();
      if (p_.reset(lanes_[lane]) != 0 || p_.connect(lanes_[lane], peers_[lane], storm_queue()) != 0) {
        return s_.problem("a connection could not be mended");
      }
      s_.mended.send(c_, lane);
    }
  }

  storm_state& s_;
  cpu& c_;
  process_context p_;
  random_stream random_;
  ibv_cq* binds_cq_ = nullptr;
  ibv_qp* control_ = nullptr;
  std::vector<ibv_qp*> lanes_;
  std::vector<address> peers_;
  region memory_;
  std::vector<slot> slots_;
  std::uint32_t outstanding_ = 0;
  std::vector<std::uint32_t> changing_;  // changes outstanding on each lane
};

class writer_side {
 public:
  writer_side(storm_state& s, cpu& c, node& n) : s_(s), c_(c), p_(c, n), random_(s.seed, "writer") {}

  void run() {
    std::vector<address> mine;
    for (std::uint32_t i = 0; i < s_.o.lanes; ++i) {
      lanes_.push_back({p_.create_qp(storm_queue()), nullptr, ps(0), false});
      mine.push_back(p_.address_of(lanes_.back().qp, storm_queue()));
    }
    from_ = p_.allocate(slot_bytes);
    p_.fill(from_.addr, slot_bytes, 9);
    s_.to_owner.send(c_, std::move(mine));
    peers_ = s_.to_writer.receive(c_);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (peers_.size() != lanes_.size() || p_.connect(lanes_[i].qp, peers_[i], storm_queue()) != 0) {
        return s_.problem("the writer cannot connect");
      }
    }
    while (!s_.over && s_.out->problem.empty()) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) start(i);
      finish_some();
      mend();
      c_.spend(50_ns);
      c_.sync();
    }
    while (std::any_of(lanes_.begin(), lanes_.end(), [](const lane& l) { return l.writing != nullptr; })) finish_some();
    s_.writer_gone = true;
    s_.out->ok = s_.out->problem.empty();
  }

 private:
  struct lane {
    ibv_qp* qp;
    const life* writing;
    ps posted;
    bool broken;
  };

  // The key of a window as it was published last: it may be closing, or closed already.
  void start(std::size_t i) {
    lane& l = lanes_[i];
    if (l.writing || l.broken || s_.over) return;
    // A type 2 window is for the connection that it was bound on.
    const std::uint64_t mine = s_.o.type == 1 ? 0 : (s_.current.size() - i + lanes_.size() - 1) / lanes_.size();
    if (s_.o.type == 2 && (i >= s_.current.size() || mine == 0)) return;
    const life* key = s_.current[s_.o.type == 1 ? random_.below(s_.current.size()) : i + lanes_.size() * random_.below(mine)];
    if (!key || key->bound > c_.time()) return;
    // Mostly keys that are good, sometimes one that is going or gone.
    if (key->unbind_posted <= c_.time() && !random_.chance(0.02)) return;
    const auto bytes = static_cast<std::uint32_t>(1 + random_.below(key->bytes));
    const std::uint64_t offset = random_.below(key->bytes - bytes + 1);
    l.posted = c_.time();
    if (post(c_, l.qp,
             {.id = i, .sges = {{from_.addr, bytes, from_.mr->lkey}}, .remote = key->va + offset, .rkey = key->key}) != 0) {
      return s_.problem("a WRITE could not be posted");
    }
    l.writing = key;
  }

  void finish_some() {
    ibv_wc wc{};
    while (ibv_poll_cq(c_, p_.cq, 1, &wc) == 1) {
      lane& l = lanes_[wc.wr_id];
      const life& key = *l.writing;
      l.writing = nullptr;
      if (wc.status == IBV_WC_SUCCESS) {
        ++s_.out->granted;
        if (key.unbound < l.posted || key.bind_posted > c_.time()) ++s_.out->wrongly_granted;
        continue;
      }
      ++s_.out->denied;
      if (wc.status != IBV_WC_REM_ACCESS_ERR) s_.problem("a WRITE failed in another way than by its key");
      if (key.bound <= l.posted && key.unbind_posted >= c_.time()) ++s_.out->wrongly_denied;
      l.broken = true;
      p_.reset(l.qp);
      s_.broken.send(c_, static_cast<std::size_t>(wc.wr_id));
    }
    c_.sync();
  }

  void mend() {
    while (!s_.mended.empty()) {
      const std::size_t i = s_.mended.receive(c_);
      if (p_.connect(lanes_[i].qp, peers_[i], storm_queue()) != 0) return s_.problem("a connection could not be mended");
      lanes_[i].broken = false;
    }
  }

  storm_state& s_;
  cpu& c_;
  process_context p_;
  random_stream random_;
  std::vector<lane> lanes_;
  std::vector<address> peers_;
  region from_;
};

}  // namespace

void start_storm(hcasim::system& s, const storm_options& o, std::uint64_t seed, storm_outcome& out) {
  auto state = std::make_shared<storm_state>(o, seed, out);
  start_program(s, 0, "writer", [state](cpu& c, node& n) { writer_side(*state, c, n).run(); });
  start_program(s, 1, "owner", [state](cpu& c, node& n) { storm_owner(*state, c, n).run(); });
}

}  // namespace hcasim::kit
