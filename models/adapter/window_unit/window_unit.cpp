#include "models/adapter/window_unit/window_unit.h"

#include <algorithm>
#include <string>

#include "models/adapter/protection/extents.h"

namespace hcasim {

window_unit::window_unit(const sc_core::sc_module_name& name, const window_unit_config& config, const clock_domain& clock,
                         window_association type2)
    : unit(name),
      rules_{type2, config.inv_plain_mr, config.inv_free_error},
      interval_(clock.cycles(config.interval)),
      latency_(clock.cycles(config.latency)),
      extent_step_(clock.cycles(config.extent_step)),
      cycle_(clock.period()) {
  local.on<&window_unit::on_change>(this);
  remote.on<&window_unit::on_change>(this);
  control.on<&window_unit::on_control>(this);
  describe();
}

tlm::tlm_sync_enum window_unit::on_change(window_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  delivered_ = &r;
  if (r.op == window_op::lock) {
    lock(r, t);
  } else {
    pending_.set(++under_way_, t);
    pending_probe_.set(under_way_, t);
    change(r, t);
  }
  if (delivered_ != nullptr) {
    delivered_ = nullptr;
    return tlm::TLM_ACCEPTED;
  }
  t = delivered_at_;
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum window_unit::on_control(window_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::BEGIN_REQ && r.op == window_op::unlock) {
    unclaim(hca_key_index(r.key), none);
    return tlm::TLM_COMPLETED;
  }
  return on_change(r, phase, t);
}

void window_unit::answer(window_request& r, ps t) {
  if (delivered_ == &r) {
    delivered_ = nullptr;
    delivered_at_ = t;
  } else {
    target_socket<window_request>::respond(r, t);
  }
}

process window_unit::lock(window_request& r, ps t) {
  co_await claim(hca_key_index(r.key), none, t);
  answer(r, t);
}

process window_unit::change(window_request& r, ps t) {
  const ps arrived = t;
  begun_.push_back({&r, arrived});
  t = pipe_.start(t, interval_);
  valid_probe_.pulse(1, t, cycle_);
  op_probe_.set(static_cast<std::uint64_t>(r.op), t);
  key_probe_.set(r.key, t);
  co_await queue_.until(t);
  r.fault = window_fault::none;
  switch (r.op) {
    case window_op::bind:
      co_await bind(r, t);
      break;
    case window_op::invalidate:
      co_await invalidate(r, t);
      break;
    case window_op::close:
    case window_op::unbind:
      co_await close(r, t);
      break;
    default:
      co_await fast_register(r, t);
      break;
  }
  co_await queue_.until(t);
  const auto op = static_cast<std::size_t>(r.op == window_op::unbind ? window_op::close : r.op);
  if (r.fault == window_fault::none) {
    ++done_[op];
    time_[op].add(t - arrived);
  } else {
    ++faults_[static_cast<std::size_t>(r.fault)];
  }
  std::erase_if(begun_, [&r](const begun& b) { return b.request == &r; });
  fault_probe_.set(static_cast<std::uint64_t>(r.fault), t);
  pending_.set(--under_way_, t);
  pending_probe_.set(under_way_, t);
  answer(r, t);
}

bool window_unit::claimed(std::uint32_t index) const {
  return std::any_of(reservations_.begin(), reservations_.end(),
                     [index](const reservation& x) { return x.index == index && x.claimed; });
}

bool window_unit::used(std::uint32_t index) const {
  return std::any_of(reservations_.begin(), reservations_.end(),
                     [index](const reservation& x) { return x.index == index && x.uses > 0; });
}

window_unit::reservation& window_unit::reserved(std::uint32_t index) {
  for (reservation& x : reservations_) {
    if (x.index == index) return x;
  }
  return reservations_.emplace_back(reservation{index, 0, false});
}

// Claims `index` and uses `region`, both or none; either may be 0.
task<> window_unit::claim(std::uint32_t index, std::uint32_t region, ps& t) {
  while (claimed(index) || (region != index && claimed(region))) {
    ++lock_waits_;
    co_await unclaimed_.wait();
    t = std::max(t, now());
  }
  if (region != none && region != index) ++reserved(region).uses;
  if (index == none) co_return;
  reserved(index).claimed = true;
  while (used(index)) {
    co_await unclaimed_.wait();
    t = std::max(t, now());
  }
}

void window_unit::unclaim(std::uint32_t index, std::uint32_t region) {
  if (region != none && region != index) --reserved(region).uses;
  if (index != none) reserved(index).claimed = false;
  std::erase_if(reservations_, [](const reservation& x) { return x.uses == 0 && !x.claimed; });
  unclaimed_.wake_all(queue_);
}

// Waits until the kernel reaches the time of the change: earlier accesses see the older state.
task<> window_unit::reach(ps& t) {
  t += latency_;
  co_await queue_.until(t);
  t = std::max(t, now());
}

// False = the context cannot be fetched; `c.index` against `c.area_entries` says why.
task<bool> window_unit::fetch(context_request& c, std::uint32_t index, ps& t) {
  c.op = context_op::fetch;
  c.failed = c.dirty = false;
  c.index = index;
  co_await mrc.request(c, t);
  co_return !c.failed;
}

task<> window_unit::bind(window_request& r, ps& t) {
  const bool unbinds = r.length == 0 && r.type == 1;
  const std::uint32_t window = hca_key_index(r.key);
  const std::uint32_t region = unbinds ? none : hca_key_index(r.region_key);
  std::uint32_t old_parent = 0;
  co_await claim(window, region, t);
  r.fault = co_await bind_claimed(r, old_parent, t);
  unclaim(window, region);
  if (r.fault != window_fault::none) co_return;
  if (unbinds) ++unbinds_;
  if (r.type == 2 && rules_.type2 == window_association::qp) co_await count_at_qp(r.qpn, 1, r.operation, t);
  if (r.type == 1) co_await drain(r.key, r.operation, t);  // [O5]
  if (old_parent != 0) co_await uncount_at_region(old_parent, r.operation, t);
}

// The MRCs are fetched one after the other: the region's stays valid while the region is in use.
task<window_fault> window_unit::bind_claimed(window_request& r, std::uint32_t& old_parent, ps& t) {
  hca_mrc region{};
  window_fault fault = window_fault::none;
  bool counted = false;
  context_request c;
  c.operation = r.operation;
  const bool unbinds = r.length == 0 && r.type == 1;
  if (!unbinds) {
    const bool there = co_await fetch(c, hca_key_index(r.region_key), t);
    if (!there) {
      fault = c.index >= c.area_entries ? window_fault::bad_region : window_fault::table_error;
    } else {
      region = c.as<const hca_mrc>();
      counted = counts_windows(region, r.region_key);
      if (counted) ++c.as<hca_mrc>().parent;
      c.dirty = counted;
      mrc.release(c);
      if (needs_extents(region)) fault = co_await find_extent(region, r, t);
    }
  }
  const bool there = co_await fetch(c, hca_key_index(r.key), t);
  co_await reach(t);
  if (!there) {
    fault = c.index >= c.area_entries ? window_fault::not_a_window : window_fault::table_error;
  } else {
    auto& window = c.as<hca_mrc>();
    if (fault == window_fault::none || fault == window_fault::out_of_range) {
      const window_fault first = check_bind(r, window, region);
      if (first != window_fault::none) fault = first;
    }
    c.dirty = fault == window_fault::none;
    if (c.dirty) {
      old_parent = window.parent;
      apply_bind(r, window, region);
    }
    mrc.release(c);
  }
  if (fault != window_fault::none && counted) co_await uncount(r.region_key, r.operation, t);
  co_return fault;
}

task<> window_unit::invalidate(window_request& r, ps& t) {
  const std::uint32_t index = hca_key_index(r.key);
  context_request c;
  c.operation = r.operation;
  co_await claim(index, none, t);
  const bool there = co_await fetch(c, index, t);
  co_await reach(t);
  if (!there) {
    r.fault = c.index >= c.area_entries ? window_fault::not_a_window : window_fault::table_error;
    unclaim(index, none);
    co_return;
  }
  auto& m = c.as<hca_mrc>();
  r.fault = check_invalidate(r, m, rules_);
  const bool change = r.fault == window_fault::none && m.state != HCA_MRC_FREE;
  const bool window = m.kind == HCA_MRC_WINDOW_2;
  const std::uint32_t parent = window ? m.parent : 0;
  if (change) apply_invalidate(m);
  c.dirty = change;
  mrc.release(c);
  unclaim(index, none);
  if (r.fault != window_fault::none) co_return;
  if (r.remote) ++remote_invalidates_;
  co_await drain(r.key, r.operation, t);
  if (!change) co_return;
  if (!window) co_await drop_translations(index, r.operation, t);
  if (parent != 0) co_await uncount_at_region(parent, r.operation, t);
  if (window && rules_.type2 == window_association::qp) co_await count_at_qp(r.qpn, -1, r.operation, t);
}

task<> window_unit::fast_register(window_request& r, ps& t) {
  const std::uint32_t index = hca_key_index(r.key);
  context_request c;
  c.operation = r.operation;
  co_await claim(index, none, t);
  const bool there = co_await fetch(c, index, t);
  co_await reach(t);
  if (!there) {
    r.fault = c.index >= c.area_entries ? window_fault::not_a_window : window_fault::table_error;
  } else {
    auto& m = c.as<hca_mrc>();
    r.fault = check_fast_register(r, m);
    c.dirty = r.fault == window_fault::none;
    if (c.dirty) apply_fast_register(r, m);
    mrc.release(c);
  }
  unclaim(index, none);
}

// Windows may always go [C2.2]. A window that goes with its region is only unbound.
task<> window_unit::close(window_request& r, ps& t) {
  const std::uint32_t index = hca_key_index(r.key);
  context_request c;
  c.operation = r.operation;
  co_await claim(index, none, t);
  const bool there = co_await fetch(c, index, t);
  co_await reach(t);
  if (!there) {
    r.fault = window_fault::table_error;
    unclaim(index, none);
    co_return;
  }
  auto& m = c.as<hca_mrc>();
  const hca_mrc old = m;
  const bool change = r.op == window_op::close || old.parent == r.region_key;
  if (r.op == window_op::unbind) {
    if (change) m = unbound(old);
  } else {
    m = {};
    m.key_byte = old.key_byte;
  }
  c.dirty = change;
  mrc.release(c);
  unclaim(index, none);
  if (!change) co_return;
  co_await drain(r.key, r.operation, t);
  if (old.parent != 0) co_await uncount_at_region(old.parent, r.operation, t);
  const bool tied = old.kind == HCA_MRC_WINDOW_2 && old.state == HCA_MRC_VALID;
  if (tied && rules_.type2 == window_association::qp) co_await count_at_qp(old.qpn, -1, r.operation, t);
}

// A range of an address space in pieces must lie in one piece [S9].
task<window_fault> window_unit::find_extent(const hca_mrc& region, const window_request& r, ps& t) {
  extent_search search(region, r.va, r.length);
  for (;;) {
    context_request e;
    e.operation = r.operation;
    e.index = search.line();
    co_await extent.request(e, t);
    if (e.failed) co_return window_fault::table_error;
    t += extent_step_;
    const extent_search::result found = search.look(e.entry);
    extent.release(e);
    if (found == extent_search::inside) co_return window_fault::none;
    if (found == extent_search::outside) co_return window_fault::out_of_range;
    if (found == extent_search::damaged) co_return window_fault::table_error;
  }
}

task<> window_unit::drain(std::uint32_t key, std::uint64_t operation, ps& t) {
  const ps begin = t;
  key_request k;
  k.operation = operation;
  k.op = key_op::drain;
  k.key = key;
  co_await keys.request(k, t);
  drain_wait_.add(t - begin);
}

task<> window_unit::drop_translations(std::uint32_t index, std::uint64_t operation, ps& t) {
  translate_request w;
  w.operation = operation;
  w.op = translate_op::drop;
  w.map.index = HCA_TAG_REGION | index;
  w.va = 0;
  w.last = ~std::uint64_t{0};
  co_await walker.request(w, t);
}

// Counts one window less at the region that `parent` names, if the region is still the same.
task<> window_unit::uncount_at_region(std::uint32_t parent, std::uint64_t operation, ps& t) {
  co_await claim(none, hca_key_index(parent), t);
  co_await uncount(parent, operation, t);
  unclaim(none, hca_key_index(parent));
}

task<> window_unit::uncount(std::uint32_t parent, std::uint64_t operation, ps& t) {
  context_request c;
  c.operation = operation;
  const bool there = co_await fetch(c, hca_key_index(parent), t);
  if (!there) co_return;
  auto& m = c.as<hca_mrc>();
  c.dirty = counts_windows(m, parent) && m.parent != 0;
  if (c.dirty) --m.parent;
  mrc.release(c);
}

task<> window_unit::count_at_qp(std::uint32_t qpn, std::int32_t by, std::uint64_t operation, ps& t) {
  context_request c;
  c.operation = operation;
  c.index = qpn;
  co_await qpc.request(c, t);
  if (c.failed) co_return;
  c.as<hca_qpc>().bound_windows += static_cast<std::uint32_t>(by);
  c.dirty = true;
  qpc.release(c);
}

}  // namespace hcasim
