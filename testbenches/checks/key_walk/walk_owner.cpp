// The walk itself: one step after the other, the peer's answers, the comparisons.
#include "testbenches/checks/key_walk/walk_owner.h"

namespace hcasim::testing {

void walk_owner::run() {
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
  if (!packets_->violation().empty()) s_.problem(packets_->violation());
  s_.result.responses = packets_->responses();
  packets_.reset();
  s_.result.touched = monitor_->bytes_seen();
  monitor_.reset();
}

void walk_owner::set_up() {
  const greeting hello = s_.to_owner.receive(c_);
  pds_ = {p_.pd, made(ibv_alloc_pd(c_, p_.context))};
  arena_bytes_ = (regions + fasts) * region_bytes + std::uint64_t{spaces} * pieces * page;
  arena_ = p_.memory.allocate(arena_bytes_);
  shadow_.assign(arena_bytes_, 0);
  packets_ = std::make_unique<packet_monitor>(n_.hca, 1024);
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

void walk_owner::create_lane(std::uint32_t i) {
  lane_state& l = lanes_[i];
  l.qp = p_.create_qp(settings(i), pds_[i % 2]);
  l.who = {l.qp->qp_num, ++lives_, 1 + i % 2, 0, settings(i).privileged};
  packets_->connected(l.qp->qp_num, l.peer.qpn);
  if (p_.connect(l.qp, l.peer, settings(i, l.peer.psn)) != 0) problem("the owner cannot connect");
}

void walk_owner::create_object(std::uint32_t i) {
  thing& t = things_[i] = {};
  t.pd = i % 2;
  ibv_pd* pd = pds_[t.pd];
  if (i < first_fast) {
    t.what = oracle::kind::region;
  } else if (i < first_window_1) {
    t.what = oracle::kind::fast;
    t.mr = made(hcax_alloc_fast_mr(c_, pd, region_bytes / page));
    t.start = t.host = arena_ + i * region_bytes;
    t.length = region_bytes;
    if (hcax_map_mr(c_, t.mr, t.start, t.length) != 0) problem("a fast-register region cannot be mapped");
    t.key = t.mr->rkey;
    told_.add(t.key >> 8, t.what, static_cast<std::uint8_t>(t.key), 1 + t.pd, 0);
  } else if (i < first_space) {
    const bool one = i < first_window_2;
    t.what = one ? oracle::kind::window_1 : oracle::kind::window_2;
    t.mw = made(ibv_alloc_mw(c_, pd, one ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2));
    t.key = t.mw->rkey;
    t.length = page;
    told_.add(t.key >> 8, t.what, static_cast<std::uint8_t>(t.key), 1 + t.pd, 0);
  } else {
    t.what = oracle::kind::space;
  }
}

void walk_owner::race(std::uint32_t i, std::uint32_t not_on) {
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

void walk_owner::take(const key_step& k) {
  const auto& n = k.n;
  switch (k.order) {
    case key_order::reg:
      return register_region(n[0] % regions, rights_of(n[1]), n[2], n[3]);
    case key_order::dereg:
      race(n[0] % regions);
      return deregister(n[0] % regions);
    case key_order::rereg:
      race(n[0] % regions);
      return reregister(n[0] % regions, rights_of(n[1]));
    case key_order::bind_1:
      wait_lane(n[1] % lanes);
      race(first_window_1 + n[0] % windows, n[1] % lanes);
      return bind_window(first_window_1 + n[0] % windows, n);
    case key_order::bind_2:
      return bind_window(first_window_2 + n[0] % windows, n);
    case key_order::inv:
      wait_lane(n[0] % lanes);
      race(n[1] % objects, n[0] % lanes);
      return invalidate(n[0] % lanes, n[1] % objects, n[2] % 8 == 0);
    case key_order::send_inv:
      return send_inv(n[0] % lanes, n[1] % objects, n[2] % 8 == 0);
    case key_order::fast:
      return fast_register(first_fast + n[0] % fasts, n[1] % lanes, rights_of(n[2]));
    case key_order::add:
      return add_piece(first_space + n[0] % spaces, n[1] % pieces);
    case key_order::remove:
      race(first_space + n[0] % spaces);
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

void walk_owner::may_grant(std::uint64_t host, std::uint64_t bytes) {
  c_.sync();
  monitor_->allow(host, bytes, grant_monitor::readable | grant_monitor::writable);
}

void walk_owner::changed(bool took_effect) {
  ++(took_effect ? s_.result.changes : s_.result.refused);
  c_.sync();
  show_grants();
  for (lane_state& l : lanes_) see(l);
}

void walk_owner::show_grants() {
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

void walk_owner::see(lane_state& l) {
  if (!l.busy) return;
  const bool now = told_.allowed(l.order.key, l.order.how, l.who, l.order.va, l.order.bytes);
  (now ? l.may_pass : l.may_fail) = true;
}

void walk_owner::repair(std::uint32_t lane) {
  lane_state& l = lanes_[lane];
  l.peer.psn = (l.peer.psn + 0x10007) & 0xffffff;
  if (p_.reset(l.qp) != 0) return problem("a QP cannot be reset");
  packets_->connected(l.qp->qp_num, l.peer.qpn);
  if (p_.connect(l.qp, l.peer, settings(lane, l.peer.psn)) != 0) return problem("a QP cannot be connected again");
  reconnect_peer(lane);
}

void walk_owner::reconnect_peer(std::uint32_t lane) {
  s_.orders.send(c_, {.what = errand::reconnect,
                      .lane = lane,
                      .owner = p_.address_of(lanes_[lane].qp, settings(lane, lanes_[lane].peer.psn))});
  const peer_answer a = s_.answers.receive(c_);
  store_answers(a, lane);
  if (awaited_.status != IBV_WC_SUCCESS) problem("the peer cannot connect again");
}

void walk_owner::store_answers(peer_answer a, std::uint32_t lane) {
  while (a.lane != lane) {
    finish(a);
    a = s_.answers.receive(c_);
  }
  awaited_ = std::move(a);
}

peer_answer walk_owner::answer_of(std::uint32_t lane) {
  store_answers(s_.answers.receive(c_), lane);
  peer_answer a = awaited_;
  finish(a);
  mend_broken();
  return a;
}

void walk_owner::collect() {
  while (!s_.answers.empty()) finish(s_.answers.receive(c_));
  mend_broken();
}

void walk_owner::wait_lane(std::uint32_t lane) {
  while (lanes_[lane].busy && !failed()) finish(s_.answers.receive(c_));
  mend_broken();
}

void walk_owner::mend_broken() {
  while (!broken_.empty()) {
    const std::uint32_t lane = broken_.back();
    broken_.pop_back();
    repair(lane);
  }
}

void walk_owner::check_counts() {
  for (std::uint32_t i = 0; i < first_window_1; ++i) {
    const thing& t = things_[i];
    if (!t.exists) continue;
    hca_mrc m{};
    if (hcax_query_mr(c_, t.mr, &m) != 0) return problem("a region cannot be queried");
    if (m.parent != told_.windows_of(t.key >> 8)) return problem("a region counts other windows");
    if (m.key_byte != static_cast<std::uint8_t>(t.key)) return problem("a region has another key byte");
  }
}

void walk_owner::check_memory() {
  if (p_.bytes(arena_, arena_bytes_) != shadow_) problem("memory is not what the granted accesses made of it");
}

void owner_program(walk_state& s, cpu& c, node& n) {
  walk_owner(s, c, n).run();
}

}  // namespace hcasim::testing
