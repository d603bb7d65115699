#include "testbenches/random/key_walk.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "firmware/driver/x_verbs.h"
#include "models/base/random.h"
#include "models/protection/testing/oracle.h"
#include "testbenches/kit/windows.h"
#include "testbenches/kit/world.h"
#include "testbenches/random/grant_monitor.h"

namespace hcasim::testing {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs
using use = oracle::use;

constexpr std::uint32_t regions = 4;
constexpr std::uint32_t fasts = 2;
constexpr std::uint32_t windows = 3;  // of each type
constexpr std::uint32_t spaces = 2;
constexpr std::uint32_t pieces = 3;
constexpr std::uint32_t lanes = 4;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t region_bytes = 4 * page;
constexpr std::uint32_t most_bytes = 2 * page;  // of an access

// Numbers of the objects that a key script chooses from.
constexpr std::uint32_t first_fast = regions;
constexpr std::uint32_t first_window_1 = first_fast + fasts;
constexpr std::uint32_t first_window_2 = first_window_1 + windows;
constexpr std::uint32_t first_space = first_window_2 + windows;
constexpr std::uint32_t objects = first_space + spaces;

// Each connection begins at another PSN, in both directions: what is left of an earlier one on the way fits nothing.
constexpr std::uint32_t first_psn = 0x10;

qp_options settings(std::uint32_t lane, std::uint32_t psn = first_psn) {
  return {.send_depth = 16, .receive_depth = 4, .sge = 1, .privileged = lane < 2, .timeout = 10, .psn = psn};
}

enum class errand : std::uint8_t { access, send_inv, reconnect, stop };

struct peer_order {
  errand what = errand::access;
  std::uint32_t lane = 0;
  use how = use::write;
  std::uint64_t va = 0;
  std::uint32_t key = 0;
  std::uint32_t bytes = 0;
  std::uint8_t pattern = 0;
  address owner = {};
};

struct peer_answer {
  std::uint32_t lane = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::vector<std::uint8_t> data = {};  // of a READ or atomic
};

struct greeting {
  std::vector<address> qps;
  std::vector<ibv_sge> scratch;  // of the peer, for each lane: address, length, R_Key
};

struct walk_state {
  const std::vector<key_step>* script = nullptr;
  walk_options o;
  bool nak_may_be_lost = false;
  walk_result result;
  out_of_band<std::vector<address>> to_peer{500_ns};
  out_of_band<greeting> to_owner{500_ns};
  out_of_band<peer_order> orders{500_ns};
  out_of_band<peer_answer> answers{500_ns};
  process_context* peer = nullptr;  // to look at its memory

  void problem(const std::string& text) {
    if (result.problem.empty()) result.problem = text;
  }
};

std::uint8_t pattern_byte(std::uint8_t pattern, std::uint64_t i) {
  return static_cast<std::uint8_t>(pattern + i * 7 + (i >> 8));
}

// Node 0: does what it is told, one thing at a time on each lane.
void peer_program(walk_state& s, cpu& c, node& n) {
  process_context p(c, n);
  s.peer = &p;
  std::vector<ibv_qp*> qps;
  std::vector<region> memory;
  std::vector<peer_order> under_way(lanes);
  greeting hello;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    qps.push_back(p.create_qp(settings(i)));
    memory.push_back(p.allocate(2 * most_bytes));
    hello.qps.push_back(p.address_of(qps[i], settings(i)));
    hello.scratch.push_back({memory[i].addr + most_bytes, most_bytes, memory[i].mr->rkey});
  }
  s.to_owner.send(c, hello);
  const std::vector<address> owners = s.to_peer.receive(c);
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (p.connect(qps[i], owners[i], settings(i)) != 0) s.problem("the peer cannot connect");
  }
  std::uint32_t outstanding = 0;
  for (bool stop = false; !stop || outstanding > 0;) {
    while (!s.orders.empty() || (outstanding == 0 && !stop)) {
      const peer_order o = s.orders.receive(c);
      if (o.what == errand::stop) {
        stop = true;
        continue;
      }
      if (o.what == errand::reconnect) {
        const bool ok = p.reset(qps[o.lane]) == 0 && p.connect(qps[o.lane], o.owner, settings(o.lane, o.owner.psn)) == 0;
        s.answers.send(c, {o.lane, ok ? IBV_WC_SUCCESS : IBV_WC_GENERAL_ERR});
        continue;
      }
      under_way[o.lane] = o;
      const region& m = memory[o.lane];
      request r{.id = o.lane, .sges = {{m.addr, o.bytes, m.mr->lkey}}, .remote = o.va, .rkey = o.key};
      if (o.what == errand::send_inv) {
        r = {.opcode = IBV_WR_SEND_WITH_INV, .id = o.lane, .immediate = o.key};
      } else if (o.how == use::read) {
        r.opcode = IBV_WR_RDMA_READ;
      } else if (o.how == use::atomic) {
        r.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        r.compare_add = o.pattern;
      } else {
        p.fill(m.addr, o.bytes, o.pattern);
      }
      if (post(c, qps[o.lane], r) != 0) s.problem("the peer cannot post");
      ++outstanding;
    }
    ibv_wc wc{};
    while (ibv_poll_cq(c, p.cq, 1, &wc) == 1) {
      const auto lane = static_cast<std::uint32_t>(wc.wr_id);
      const peer_order& o = under_way[lane];
      peer_answer a{lane, wc.status};
      const bool brings = o.what == errand::access && (o.how == use::read || o.how == use::atomic);
      if (brings && wc.status == IBV_WC_SUCCESS) a.data = p.bytes(memory[lane].addr, o.bytes);
      --outstanding;
      s.answers.send(c, std::move(a));
    }
    if (outstanding > 0) (void)wait_cq(c, p.cq, 1_us);
  }
}

// Node 1: owns all objects, and keeps the oracle.
class owner_side {
 public:
  owner_side(walk_state& s, cpu& c, node& n) : s_(s), c_(c), n_(n), p_(c, n), random_(s.o.seed, "key_walk") {}

  void run() {
    set_up();
    std::uint64_t number = 0;
    for (const key_step& k : *s_.script) {
      if (failed()) break;
      where_ = "step " + std::to_string(number++) + ": ";
      take(k);
      if (s_.o.racing) {
        c_.spend(ps(static_cast<std::int64_t>(random_.below(2'000'000))));
        c_.sync();
        collect();
      } else if (number % 32 == 0) {
        check_counts();
      }
    }
    where_ = "at the end: ";
    for (std::uint32_t l = 0; l < lanes; ++l) wait_lane(l);
    if (!failed()) check_counts();
    if (!failed() && !s_.o.racing) check_memory();
    s_.orders.send(c_, {.what = errand::stop});
    if (!monitor_->violation().empty()) s_.problem(monitor_->violation());
    s_.result.touched = monitor_->bytes_seen();
    monitor_.reset();
  }

 private:
  struct thing {
    oracle::kind what = oracle::kind::region;
    std::uint32_t pd = 0;  // 0 or 1
    bool exists = false;
    std::uint32_t key = 0;
    std::uint64_t start = 0;  // first VA, as the key is used
    std::uint64_t length = 0;
    std::uint64_t host = 0;        // where `start` lies
    oracle::rights remote;         // of the peer, while it exists: a window while it is bound
    bool pinned_writable = false;  // a region that was pinned for reading cannot be made writable in place
    ibv_mr* mr = nullptr;
    ibv_mw* mw = nullptr;
    std::array<std::uint64_t, pieces> piece_va{};  // 0: not there
  };
  struct lane_state {
    ibv_qp* qp = nullptr;
    oracle::connection who;
    address peer;
    ibv_sge scratch{};
    bool busy = false;
    peer_order order;
    bool may_pass = false;
    bool may_fail = false;
  };

  [[nodiscard]] bool failed() const { return !s_.result.problem.empty(); }
  void problem(const std::string& text) { s_.problem(where_ + text); }

  void set_up() {
    const greeting hello = s_.to_owner.receive(c_);
    pds_ = {p_.pd, ibv_alloc_pd(c_, p_.context)};
    arena_bytes_ = (regions + fasts) * region_bytes + std::uint64_t{spaces} * pieces * page;
    arena_ = p_.memory.allocate(arena_bytes_);
    shadow_.assign(arena_bytes_, 0);
    monitor_ = std::make_unique<grant_monitor>(n_.host, p_.memory, arena_, arena_bytes_);
    std::vector<address> mine;
    for (std::uint32_t i = 0; i < lanes; ++i) {
      lanes_[i].peer = hello.qps[i];
      lanes_[i].scratch = hello.scratch[i];
      create_lane(i);
      mine.push_back(p_.address_of(lanes_[i].qp, settings(i)));
    }
    s_.to_peer.send(c_, mine);
    for (std::uint32_t i = 0; i < objects; ++i) create_object(i);
  }

  void create_lane(std::uint32_t i) {
    lane_state& l = lanes_[i];
    l.qp = p_.create_qp(settings(i), pds_[i % 2]);
    l.who = {l.qp->qp_num, ++lives_, 1 + i % 2, 0, settings(i).privileged};
    if (p_.connect(l.qp, l.peer, settings(i, l.peer.psn)) != 0) problem("the owner cannot connect");
  }

  void create_object(std::uint32_t i) {
    thing& t = things_[i] = {};
    t.pd = i % 2;
    ibv_pd* pd = pds_[t.pd];
    if (i < first_fast) {
      t.what = oracle::kind::region;
    } else if (i < first_window_1) {
      t.what = oracle::kind::fast;
      t.mr = hcax_alloc_fast_mr(c_, pd, region_bytes / page);
      t.start = t.host = arena_ + i * region_bytes;
      t.length = region_bytes;
      if (hcax_map_mr(c_, t.mr, t.start, t.length) != 0) problem("a fast-register region cannot be mapped");
      t.key = t.mr->rkey;
      told_.add(t.key >> 8, t.what, static_cast<std::uint8_t>(t.key), 1 + t.pd, 0);
    } else if (i < first_space) {
      const bool one = i < first_window_2;
      t.what = one ? oracle::kind::window_1 : oracle::kind::window_2;
      t.mw = ibv_alloc_mw(c_, pd, one ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
      t.key = t.mw->rkey;
      t.length = page;
      told_.add(t.key >> 8, t.what, static_cast<std::uint8_t>(t.key), 1 + t.pd, 0);
    } else {
      t.what = oracle::kind::space;
    }
  }

  // When racing: the peer uses what is about to change, on every lane that is free but the one that changes it.
  void besiege(std::uint32_t i, std::uint32_t not_on = lanes) {
    if (!s_.o.racing || failed() || things_[i].key == 0) return;
    for (std::uint32_t l = 0; l < lanes; ++l) {
      if (l == not_on || lanes_[l].busy) continue;
      const auto how = random_.chance(0.5) ? use::read : use::write;
      access(l, i, how, static_cast<std::uint32_t>(random_.below(things_[i].length + 1)),
             static_cast<std::uint32_t>(random_.next()), false);
    }
    c_.spend(ps(static_cast<std::int64_t>(random_.below(3'000'000))));
    c_.sync();
  }

  void take(const key_step& k) {
    const auto& n = k.n;
    switch (k.order) {
      case key_order::reg:
        return register_region(n[0] % regions, rights_of(n[1]), n[2], n[3]);
      case key_order::dereg:
        besiege(n[0] % regions);
        return deregister(n[0] % regions);
      case key_order::rereg:
        besiege(n[0] % regions);
        return reregister(n[0] % regions, rights_of(n[1]));
      case key_order::bind_1:
        wait_lane(n[1] % lanes);
        besiege(first_window_1 + n[0] % windows, n[1] % lanes);
        return bind_window(first_window_1 + n[0] % windows, n);
      case key_order::bind_2:
        return bind_window(first_window_2 + n[0] % windows, n);
      case key_order::inv:
        wait_lane(n[0] % lanes);
        besiege(n[1] % objects, n[0] % lanes);
        return invalidate(n[0] % lanes, n[1] % objects, n[2] % 8 == 0);
      case key_order::send_inv:
        return send_inv(n[0] % lanes, n[1] % objects, n[2] % 8 == 0);
      case key_order::fast:
        return fast_register(first_fast + n[0] % fasts, n[1] % lanes, rights_of(n[2]));
      case key_order::add:
        return add_piece(first_space + n[0] % spaces, n[1] % pieces);
      case key_order::remove:
        besiege(first_space + n[0] % spaces);
        return remove_piece(first_space + n[0] % spaces, n[1] % pieces);
      case key_order::access:
        return access(n[0] % lanes, n[1] % objects, static_cast<use>(2 + n[2] % 3), n[3], n[4], n[5] % 8 == 0);
      case key_order::local:
        return local(n[0] % lanes, n[1] % objects, n[2] % 2 != 0, n[3], n[4], n[5] % 8 == 0);
      case key_order::renew:
        return renew(n[0] % lanes);
      case key_order::orders:
        break;
    }
  }

  static oracle::rights rights_of(std::uint32_t bits) {
    // Mostly with local write, without which nothing much can be granted.
    return {bits % 4 != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0, (bits & 96) != 0, false};
  }
  static int flags_of(const oracle::rights& r) {
    return (r.local_write ? int{IBV_ACCESS_LOCAL_WRITE} : 0) | (r.remote_write ? int{IBV_ACCESS_REMOTE_WRITE} : 0) |
           (r.remote_read ? int{IBV_ACCESS_REMOTE_READ} : 0) | (r.remote_atomic ? int{IBV_ACCESS_REMOTE_ATOMIC} : 0) |
           (r.bind ? int{IBV_ACCESS_MW_BIND} : 0) | (r.zero_based ? int{IBV_ACCESS_ZERO_BASED} : 0);
  }
  static std::uint32_t key_of(const thing& t, bool stale) { return stale ? ibv_inc_rkey(t.key) : t.key; }

  // Before an order that may grant memory, and after one that is complete.
  void may_grant(std::uint64_t host, std::uint64_t bytes) {
    c_.sync();
    monitor_->allow(host, bytes, grant_monitor::readable | grant_monitor::writable);
  }
  void changed(bool took_effect) {
    ++(took_effect ? s_.result.changes : s_.result.refused);
    c_.sync();
    show_grants();
    for (lane_state& l : lanes_) see(l);
  }
  // To the peer; what the owner does itself is granted while it does it.
  void show_grants() {
    monitor_->forbid_all();
    for (std::uint32_t i = 0; i < objects; ++i) {
      const thing& t = things_[i];
      if (t.what == oracle::kind::space) {
        for (std::uint32_t k = 0; k < pieces; ++k) {
          if (t.piece_va[k] != 0) monitor_->allow(piece_host(i, k), page, grant_monitor::readable | grant_monitor::writable);
        }
      } else if (t.exists) {
        const bool reads = t.remote.remote_read || t.remote.remote_atomic;
        const bool writes = t.remote.remote_write || t.remote.remote_atomic;
        monitor_->allow(
            t.host, t.length,
            static_cast<std::uint8_t>((reads ? grant_monitor::readable : 0) | (writes ? grant_monitor::writable : 0)));
      }
    }
  }
  // What an access under way may find now.
  void see(lane_state& l) {
    if (!l.busy) return;
    const bool now = told_.allowed(l.order.key, l.order.how, l.who, l.order.va, l.order.bytes);
    (now ? l.may_pass : l.may_fail) = true;
  }

  void register_region(std::uint32_t i, const oracle::rights& r, std::uint32_t first, std::uint32_t length) {
    thing& t = things_[i];
    if (t.exists) deregister(i);
    if (t.exists) return;
    const std::uint64_t start = arena_ + i * region_bytes + first % (3 * page);
    const std::uint64_t bytes = 1 + length % (arena_ + (i + 1) * region_bytes - start);
    may_grant(start, bytes);
    ibv_mr* mr = ibv_reg_mr(c_, pds_[t.pd], start, bytes, flags_of(r));
    const bool legal = r.local_write || (!r.remote_write && !r.remote_atomic);
    if ((mr != nullptr) != legal) return problem("ibv_reg_mr");
    if (mr) {
      t.mr = mr;
      t.exists = true;
      t.key = mr->rkey;
      t.start = t.host = start;
      t.length = bytes;
      t.remote = r;
      t.pinned_writable = r.local_write || r.bind;
      told_.add(t.key >> 8, t.what, static_cast<std::uint8_t>(t.key), 1 + t.pd, 0);
      told_.map(t.key >> 8, start, bytes, r);
    }
    changed(legal);
  }

  void deregister(std::uint32_t i) {
    thing& t = things_[i];
    if (!t.exists) return;
    const int error = ibv_dereg_mr(c_, t.mr);
    const bool gone = told_.remove(t.key >> 8);
    if ((error == 0) != gone || (!gone && error != EBUSY)) return problem("ibv_dereg_mr");
    t.exists = !gone;
    if (gone) t.mr = nullptr;
    changed(gone);
  }

  void reregister(std::uint32_t i, oracle::rights r) {
    thing& t = things_[i];
    if (!t.exists || !t.pinned_writable) return;
    r.local_write = true;
    may_grant(t.host, t.length);
    const bool good = ibv_rereg_mr(c_, t.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, flags_of(r)) == 0;
    if (good != (told_.windows_of(t.key >> 8) == 0)) return problem("ibv_rereg_mr");
    if (good) {
      for (lane_state& l : lanes_) {  // the key is invalid on the way from the old rights to the new ones [B.5]
        if (l.busy && l.order.key == t.key) l.may_fail = true;
      }
      if (t.mr->rkey >> 8 != t.key >> 8) return problem("ibv_rereg_mr took another index");
      t.key = t.mr->rkey;
      t.remote = r;
      told_.rename(t.key >> 8, static_cast<std::uint8_t>(t.key));
      told_.map(t.key >> 8, t.start, t.length, r);
    }
    changed(good);
  }

  void bind_window(std::uint32_t i, const std::array<std::uint32_t, 6>& n) {
    thing& w = things_[i];
    const std::uint32_t lane = n[1] % lanes;
    const thing& target = things_[n[2] % (regions + fasts)];
    const bool one = w.what == oracle::kind::window_1;
    if (!target.mr && !one) return;
    wait_lane(lane);
    oracle::rights r = rights_of(n[3]);
    r.local_write = r.bind = false;
    r.zero_based = !one && n[3] % 16 == 5;
    ibv_mw_bind_info info{target.mr, 0, 0, static_cast<unsigned>(flags_of(r))};
    if (target.mr && !(one && n[5] % 8 == 0)) {
      info.addr = target.start + n[4] % (target.length + page);
      info.length = n[5] % (2 * page);
    }
    if (!info.mr || info.length == 0) info = {one ? nullptr : info.mr, 0, 0, 0};
    const oracle::bind_order order{.type = one ? 1 : 2,
                                   .window_key = w.key,
                                   .new_byte = static_cast<std::uint8_t>(w.key + 1),
                                   .region_key = info.mr ? target.key : 0,
                                   .va = info.addr,
                                   .length = info.length,
                                   .may = info.length == 0 ? oracle::rights{} : r};
    if (info.addr >= arena_ && info.addr + info.length <= arena_ + arena_bytes_) may_grant(info.addr, info.length);
    ibv_qp* qp = lanes_[lane].qp;
    const ibv_wc wc = one ? kit::bind_type_1(c_, qp, w.mw, info) : kit::bind(c_, qp, w.mw, ibv_inc_rkey(w.mw->rkey), info);
    const bool bound = told_.bind(order, lanes_[lane].who);
    if ((wc.status == IBV_WC_SUCCESS) != bound) return problem(std::string("bind ended with ") + ibv_wc_status_str(wc.status));
    if (bound) {
      w.key = w.mw->rkey;
      w.start = r.zero_based ? 0 : info.addr;
      w.host = info.addr;
      w.length = info.length;
      w.exists = info.length != 0;
      w.remote = r;
      if (!one) bound_by_[i - first_window_2] = lanes_[lane].who.generation;
      changed(true);
    } else {
      after_refusal(lane, wc.status, IBV_WC_MW_BIND_ERR);
    }
  }

  // GENERAL_ERR: it could not even be posted, and the QP is as it was.
  void after_refusal(std::uint32_t lane, ibv_wc_status status, ibv_wc_status expected) {
    changed(false);
    if (status == IBV_WC_GENERAL_ERR) return;
    if (status != expected) problem(std::string("refused with ") + ibv_wc_status_str(status));
    repair(lane);
  }

  void invalidate(std::uint32_t lane, std::uint32_t i, bool stale) {
    thing& t = things_[i];
    if (t.key == 0) return;
    wait_lane(lane);
    const std::uint32_t key = key_of(t, stale);
    const ibv_wc wc = kit::local_inv(c_, lanes_[lane].qp, key);
    const bool done = told_.invalidate(key, false, lanes_[lane].who);
    if ((wc.status == IBV_WC_SUCCESS) != done)
      return problem(std::string("LOCAL_INV ended with ") + ibv_wc_status_str(wc.status));
    if (done) {
      invalidated(t);
    } else {
      after_refusal(lane, wc.status, IBV_WC_MW_BIND_ERR);
    }
  }

  void send_inv(std::uint32_t lane, std::uint32_t i, bool stale) {
    thing& t = things_[i];
    if (t.key == 0) return;
    wait_lane(lane);
    lane_state& l = lanes_[lane];
    const std::uint32_t key = key_of(t, stale);
    if (post_receive(c_, l.qp, 0, {}) != 0) return problem("a receive cannot be posted");
    s_.orders.send(c_, {.what = errand::send_inv, .lane = lane, .key = key});
    const peer_answer a = s_.answers.receive(c_);
    store_answers(a, lane);
    const bool done = told_.invalidate(key, true, l.who);
    const ibv_wc_status status = awaited_.status;
    if ((status == IBV_WC_SUCCESS) != done)
      return problem(std::string("SEND_WITH_INV ended with ") + ibv_wc_status_str(status));
    if (!done) {
      changed(false);
      if (!denies(status)) problem(std::string("SEND_WITH_INV refused with ") + ibv_wc_status_str(status));
      return repair(lane);
    }
    const auto wc = next_completion(c_, p_.cq, 1_ms);
    const bool told = wc && wc->status == IBV_WC_SUCCESS && (wc->wc_flags & IBV_WC_WITH_INV) && wc->invalidated_rkey == key;
    if (!told) return problem("the receive does not tell of the invalidated key");
    invalidated(t);
  }

  void invalidated(thing& t) {
    t.exists = false;
    if (t.what == oracle::kind::window_2) bound_by_[static_cast<std::size_t>(&t - things_.data()) - first_window_2] = 0;
    changed(true);
  }

  void fast_register(std::uint32_t i, std::uint32_t lane, const oracle::rights& r) {
    thing& t = things_[i];
    wait_lane(lane);
    const std::uint32_t key = ibv_inc_rkey(t.key);
    may_grant(t.host, t.length);
    const ibv_wc wc = kit::reg_mr(c_, lanes_[lane].qp, t.mr, key, static_cast<unsigned>(flags_of(r)));
    const bool done = told_.fast_register(key, t.start, t.length, region_bytes, r, lanes_[lane].who);
    if ((wc.status == IBV_WC_SUCCESS) != done) return problem(std::string("REG_MR ended with ") + ibv_wc_status_str(wc.status));
    if (done) {
      t.key = t.mr->rkey;
      t.exists = true;
      t.remote = r;
      changed(true);
    } else {
      after_refusal(lane, wc.status, IBV_WC_LOC_QP_OP_ERR);
    }
  }

  [[nodiscard]] std::uint64_t piece_host(std::uint32_t i, std::uint32_t k) const {
    return arena_ + (regions + fasts) * region_bytes + ((i - first_space) * pieces + k) * page;
  }

  void add_piece(std::uint32_t i, std::uint32_t k) {
    thing& t = things_[i];
    if (t.piece_va[k] != 0) return;
    const x_buffer buffer{piece_host(i, k), page};
    may_grant(buffer.addr, page);
    x_result r;
    const int error = t.exists ? x_reregister_add(c_, p_.context, t.key, {&buffer, 1}, &r)
                               : x_register(c_, pds_[t.pd], nullptr, {&buffer, 1}, all_rights, X_EXTEND, &r);
    if (error != 0) return problem("a segment cannot be added");
    if (t.exists && r.key != t.key) return problem("adding a segment changed the key");
    const std::uint64_t va = t.exists ? r.added : r.start;
    if (!t.exists) {
      t.key = r.key;
      told_.add(t.key >> 8, t.what, static_cast<std::uint8_t>(t.key), 1 + t.pd, 0);
      told_.map(t.key >> 8, 0, 0, {true, true, true, true, true, false});
    }
    t.exists = true;
    t.piece_va[k] = va;
    told_.add_piece(t.key >> 8, va, page);
    t.start = r.start;
    t.length = r.end - r.start;
    changed(true);
  }

  void remove_piece(std::uint32_t i, std::uint32_t k) {
    thing& t = things_[i];
    if (t.piece_va[k] == 0) return;
    x_result r;
    if (x_deregister_part(c_, p_.context, t.key, t.piece_va[k], page, &r) != 0) return problem("a segment cannot be removed");
    told_.remove_piece(t.key >> 8, std::exchange(t.piece_va[k], 0));
    t.start = r.start;
    t.length = r.end - r.start;
    if (r.length == 0) {
      told_.remove(t.key >> 8);
      t.exists = false;
    }
    changed(true);
  }

  // The VA that an access to the object begins at, mostly inside it.
  static std::uint64_t place(const thing& t, std::uint32_t first) { return t.start + first % (t.length + 64); }
  [[nodiscard]] std::uint64_t host_of(const thing& t, std::uint64_t va, std::uint32_t i) const {
    if (t.what != oracle::kind::space) return t.host + (va - t.start);
    for (std::uint32_t k = 0; k < pieces; ++k) {
      if (t.piece_va[k] != 0 && va >= t.piece_va[k] && va < t.piece_va[k] + page)
        return piece_host(i, k) + (va - t.piece_va[k]);
    }
    return 0;
  }

  void access(std::uint32_t lane, std::uint32_t i, use how, std::uint32_t first, std::uint32_t length, bool stale) {
    const thing& t = things_[i];
    wait_lane(lane);
    lane_state& l = lanes_[lane];
    l.order = {.lane = lane,
               .how = how,
               .va = place(t, first),
               .key = key_of(t, stale),
               .bytes = 1 + length % static_cast<std::uint32_t>(page)};
    if (how == use::atomic) {
      l.order.va &= ~std::uint64_t{7};
      l.order.bytes = 8;
    }
    l.order.pattern = static_cast<std::uint8_t>(++patterns_ | 1);
    l.busy = true;
    l.may_pass = l.may_fail = false;
    see(l);
    s_.orders.send(c_, l.order);
    if (s_.o.racing) return;
    const peer_answer a = answer_of(lane);
    if (a.status == IBV_WC_SUCCESS && !failed()) moved(t, i, l.order, a);
  }

  // The bytes of an access that was granted, one after the other.
  void moved(const thing& t, std::uint32_t i, const peer_order& o, const peer_answer& a) {
    std::uint64_t before = 0;
    for (std::uint32_t k = 0; k < o.bytes; ++k) {
      std::uint8_t& byte = shadow_.at(host_of(t, o.va + k, i) - arena_);
      if (o.how == use::write) byte = pattern_byte(o.pattern, k);
      if (o.how == use::read && byte != a.data[k]) return problem("a READ brought other bytes");
      if (o.how == use::atomic) before |= std::uint64_t{byte} << 8 * k;
    }
    if (o.how != use::atomic) return;
    std::uint64_t brought = 0;
    for (std::uint32_t k = 0; k < 8; ++k) brought |= std::uint64_t{a.data[k]} << 8 * k;
    if (brought != before) return problem("an atomic brought another value");
    for (std::uint32_t k = 0; k < 8; ++k) {
      shadow_.at(host_of(t, o.va + k, i) - arena_) = static_cast<std::uint8_t>((before + o.pattern) >> 8 * k);
    }
  }

  // The owner itself: a WRITE to the peer reads with the L_Key, a READ from it writes with it.
  void local(std::uint32_t lane, std::uint32_t i, bool write, std::uint32_t first, std::uint32_t length, bool stale) {
    const thing& t = things_[i];
    if (t.key == 0) return;
    wait_lane(lane);
    lane_state& l = lanes_[lane];
    const std::uint64_t va = place(t, first);
    const std::uint32_t bytes = 1 + length % page;
    const std::uint32_t key = key_of(t, stale);
    if (write && s_.peer) s_.peer->fill(l.scratch.addr, bytes, static_cast<std::uint8_t>(++patterns_));
    const bool allowed = told_.allowed(key, write ? use::local_write : use::local_read, l.who, va, bytes);
    for (std::uint32_t k = 0; k < bytes && allowed; ++k) may_grant(host_of(t, va + k, i), 1);
    const ibv_wc wc = complete(c_, l.qp,
                               {.opcode = write ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                                .id = 9,
                                .sges = {{va, bytes, key}},
                                .remote = l.scratch.addr,
                                .rkey = l.scratch.lkey});
    const bool passed = wc.status == IBV_WC_SUCCESS;
    c_.sync();
    show_grants();
    ++(passed ? s_.result.granted : s_.result.denied);
    if (passed != allowed || (!passed && wc.status != IBV_WC_LOC_PROT_ERR)) {
      return problem(std::string("a local access ended with ") + ibv_wc_status_str(wc.status));
    }
    if (!passed) return repair(lane);
    const std::vector<std::uint8_t> there = s_.peer->bytes(l.scratch.addr, bytes);
    for (std::uint32_t k = 0; k < bytes && !s_.o.racing; ++k) {
      std::uint8_t& byte = shadow_.at(host_of(t, va + k, i) - arena_);
      if (write) byte = there[k];
      if (byte != there[k]) return problem("a local access moved other bytes");
    }
  }

  // A QP with another number or another life, which inherits no window.
  void renew(std::uint32_t lane) {
    wait_lane(lane);
    lane_state& l = lanes_[lane];
    const oracle::connection old = l.who;
    if (ibv_destroy_qp(c_, l.qp) != 0) return problem("a QP cannot be destroyed");
    l.peer.psn = (l.peer.psn + 0x10007) & 0xffffff;
    create_lane(lane);
    reconnect_peer(lane);
    for (std::uint32_t i = first_window_2; i < first_space; ++i) {
      thing& w = things_[i];
      if (bound_by_[i - first_window_2] != old.generation) continue;
      if (ibv_dealloc_mw(c_, w.mw) != 0) return problem("a window cannot be freed");
      told_.remove(w.key >> 8);
      create_object(i);
    }
    changed(true);
  }

  void repair(std::uint32_t lane) {
    lane_state& l = lanes_[lane];
    l.peer.psn = (l.peer.psn + 0x10007) & 0xffffff;
    if (p_.reset(l.qp) != 0 || p_.connect(l.qp, l.peer, settings(lane, l.peer.psn)) != 0)
      return problem("a QP cannot be connected again");
    reconnect_peer(lane);
  }
  void reconnect_peer(std::uint32_t lane) {
    s_.orders.send(c_, {.what = errand::reconnect,
                        .lane = lane,
                        .owner = p_.address_of(lanes_[lane].qp, settings(lane, lanes_[lane].peer.psn))});
    const peer_answer a = s_.answers.receive(c_);
    store_answers(a, lane);
    if (awaited_.status != IBV_WC_SUCCESS) problem("the peer cannot connect again");
  }

  // Answers of other lanes that come before the one that is waited for.
  void store_answers(peer_answer a, std::uint32_t lane) {
    while (a.lane != lane) {
      finish(a);
      a = s_.answers.receive(c_);
    }
    awaited_ = std::move(a);
  }
  peer_answer answer_of(std::uint32_t lane) {
    store_answers(s_.answers.receive(c_), lane);
    const peer_answer a = awaited_;
    finish(a);
    mend_broken();
    return a;
  }
  void collect() {
    while (!s_.answers.empty()) finish(s_.answers.receive(c_));
    mend_broken();
  }
  void wait_lane(std::uint32_t lane) {
    while (lanes_[lane].busy && !failed()) finish(s_.answers.receive(c_));
    mend_broken();
  }

  // On a bad link the NAK may get lost; the QP that sent it is in error then and says nothing any more.
  [[nodiscard]] bool denies(ibv_wc_status status) const {
    return status == IBV_WC_REM_ACCESS_ERR || (s_.nak_may_be_lost && status == IBV_WC_RETRY_EXC_ERR);
  }

  static std::string describe(const peer_order& o) {
    static constexpr const char* names[] = {"local read", "local write", "READ", "WRITE", "FETCH_ADD"};
    return std::string(names[static_cast<std::size_t>(o.how)]) + " of " + std::to_string(o.bytes) + " bytes at " +
           std::to_string(o.va) + " under key " + std::to_string(o.key) + " on lane " + std::to_string(o.lane) + ": ";
  }

  // An access is over: was it granted or denied as it had to be?
  void finish(const peer_answer& a) {
    lane_state& l = lanes_[a.lane];
    l.busy = false;
    const bool passed = a.status == IBV_WC_SUCCESS;
    ++(passed ? s_.result.granted : s_.result.denied);
    if (!passed && !denies(a.status)) problem(std::string("an access ended with ") + ibv_wc_status_str(a.status));
    if (passed && !l.may_pass) problem("an access was granted that the oracle denies: " + describe(l.order));
    if (!passed && !l.may_fail)
      problem("an access was denied that the oracle grants: " + describe(l.order) + ibv_wc_status_str(a.status));
    if (!passed) broken_.push_back(a.lane);
  }
  void mend_broken() {
    while (!broken_.empty()) {
      const std::uint32_t lane = broken_.back();
      broken_.pop_back();
      repair(lane);
    }
  }

  void check_counts() {
    for (std::uint32_t i = 0; i < first_window_1; ++i) {
      const thing& t = things_[i];
      if (!t.exists) continue;
      hca_mrc m{};
      if (hcax_query_mr(c_, t.mr, &m) != 0) return problem("a region cannot be queried");
      if (m.parent != told_.windows_of(t.key >> 8)) return problem("a region counts other windows");
      if (m.key_byte != static_cast<std::uint8_t>(t.key)) return problem("a region has another key byte");
    }
  }
  void check_memory() {
    if (p_.bytes(arena_, arena_bytes_) != shadow_) problem("memory is not what the granted accesses made of it");
  }

  walk_state& s_;
  cpu& c_;
  node& n_;
  process_context p_;
  random_stream random_;
  oracle told_{false};
  std::array<ibv_pd*, 2> pds_{};
  std::array<lane_state, lanes> lanes_;
  std::array<thing, objects> things_;
  std::array<std::uint32_t, windows> bound_by_{};
  std::uint32_t lives_ = 0;
  std::uint64_t arena_ = 0;
  std::uint64_t arena_bytes_ = 0;
  std::vector<std::uint8_t> shadow_;
  std::unique_ptr<grant_monitor> monitor_;
  peer_answer awaited_;
  std::vector<std::uint32_t> broken_;
  std::uint32_t patterns_ = 0;
  std::string where_;
};

}  // namespace

system_config walk_config() {
  system_config c = world::two_nodes();
  c.nodes[1].hca.responder.class_j = class_j_answer::nak_rae;
  return c;
}

walk_result walk(const system_config& config, const std::vector<key_step>& script, const walk_options& o) {
  world w(config);
  walk_state s;
  s.script = &script;
  s.o = o;
  s.nak_may_be_lost = config.link.loss + config.link.corruption > 0;
  fw_usage before{};
  fw_usage after{};
  const bool finished = w.run({[&](cpu& c, node& n) { peer_program(s, c, n); },
                               [&](cpu& c, node& n) {
                                 before = n.hca.command_unit.usage();
                                 { owner_side(s, c, n).run(); }
                                 after = n.hca.command_unit.usage();
                               }});
  if (!finished) s.problem("the programs did not come to their end");
  const bool clean = after.mrs == before.mrs && after.qps == before.qps && after.spaces == before.spaces &&
                     after.segments == before.segments && after.table_bytes == before.table_bytes;
  if (!clean) s.problem("objects are left over in the adapter");
  return s.result;
}

}  // namespace hcasim::testing
