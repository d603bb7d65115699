// Orders that change who may touch what.

#include <utility>
#include "testbenches/checks/key_walk/walk_owner.h"

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/windows.h"

namespace hcasim::testing {

oracle::rights walk_owner::rights_of(std::uint32_t bits) {
  // Mostly with local write, without which nothing much can be granted.
  return {bits % 4 != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0, (bits & 96) != 0, false};
}

int walk_owner::flags_of(const oracle::rights& r) {
  return (r.local_write ? int{IBV_ACCESS_LOCAL_WRITE} : 0) | (r.remote_write ? int{IBV_ACCESS_REMOTE_WRITE} : 0) |
         (r.remote_read ? int{IBV_ACCESS_REMOTE_READ} : 0) | (r.remote_atomic ? int{IBV_ACCESS_REMOTE_ATOMIC} : 0) |
         (r.bind ? int{IBV_ACCESS_MW_BIND} : 0) | (r.zero_based ? int{IBV_ACCESS_ZERO_BASED} : 0);
}

void walk_owner::register_region(std::uint32_t i, const oracle::rights& r, std::uint32_t first, std::uint32_t length) {
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

void walk_owner::deregister(std::uint32_t i) {
  thing& t = things_[i];
  if (!t.exists) return;
  const int error = ibv_dereg_mr(c_, t.mr);
  const bool gone = told_.remove(t.key >> 8);
  if ((error == 0) != gone || (!gone && error != EBUSY)) return problem("ibv_dereg_mr");
  t.exists = !gone;
  if (gone) t.mr = nullptr;
  changed(gone);
}

void walk_owner::reregister(std::uint32_t i, oracle::rights r) {
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

void walk_owner::bind_window(std::uint32_t i, const std::array<std::uint32_t, 6>& n) {
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
  const bool unbinds = one && n[5] % 8 == 0;
  if (target.mr && !unbinds) {
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

void walk_owner::after_refusal(std::uint32_t lane, ibv_wc_status status, ibv_wc_status expected) {
  changed(false);
  if (status == IBV_WC_GENERAL_ERR) return;
  if (status != expected) problem(std::string("refused with ") + ibv_wc_status_str(status));
  repair(lane);
}

void walk_owner::invalidate(std::uint32_t lane, std::uint32_t i, bool stale) {
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

void walk_owner::send_inv(std::uint32_t lane, std::uint32_t i, bool stale) {
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
  if ((status == IBV_WC_SUCCESS) != done) return problem(std::string("SEND_WITH_INV ended with ") + ibv_wc_status_str(status));
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

void walk_owner::invalidated(thing& t) {
  t.exists = false;
  if (t.what == oracle::kind::window_2) bound_by_[static_cast<std::size_t>(&t - things_.data()) - first_window_2] = 0;
  changed(true);
}

void walk_owner::fast_register(std::uint32_t i, std::uint32_t lane, const oracle::rights& r) {
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

void walk_owner::add_piece(std::uint32_t i, std::uint32_t k) {
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

void walk_owner::remove_piece(std::uint32_t i, std::uint32_t k) {
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

void walk_owner::renew(std::uint32_t lane) {
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

}  // namespace hcasim::testing
