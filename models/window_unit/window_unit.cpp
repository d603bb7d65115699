#include "models/window_unit/window_unit.h"

#include <algorithm>
#include <string>

#include "models/protection/extents.h"

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

  static constexpr const char* ops[4] = {"binds", "invalidates", "fast_registers", "closes"};
  for (std::size_t i = 0; i < 4; ++i) {
    stats_.add(ops[i], "1", std::string(ops[i]) + " that took effect", done_[i]);
    stats_.add(std::string(ops[i]) + "_time", "ps", "from the request to the end of the last older access", time_[i]);
  }
  stats_.add("unbinds", "1", "of the binds: type 1 windows that were closed", unbinds_);
  stats_.add("remote_invalidates", "1", "of the invalidates: by SEND_WITH_INV", remote_invalidates_);
  for (std::size_t i = 1; i < window_faults; ++i) {
    stats_.add(std::string("fault_") + window_fault_names[i], "1", std::string("changes refused with ") + window_fault_names[i],
               faults_[i]);
  }
  stats_.add("drain_wait", "ps", "wait of a change for the accesses that the older state admitted", drain_wait_);
  stats_.add("lock_waits", "1", "times a change waited for the command unit", lock_waits_);
  stats_.add("pending", "1", "changes under way", pending_);
  stats_.formula("pipe_busy", "ps", "time the unit took changes in",
                 [this] { return static_cast<double>(pipe_.busy().count()); });
  signals_.add("valid", 1, valid_probe_);
  signals_.add("op", 3, op_probe_, {"bind", "invalidate", "fast_register", "close", "lock", "unlock"});
  signals_.add("key", 32, key_probe_);
  signals_.add("fault", 5, fault_probe_, {window_fault_names, window_fault_names + window_faults});
  signals_.add("pending", 16, pending_probe_);
}

tlm::tlm_sync_enum window_unit::on_change(window_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  delivered_ = &r;
  pending_.set(++under_way_, t);
  change(r, t);
  if (delivered_ != nullptr) {
    delivered_ = nullptr;
    return tlm::TLM_ACCEPTED;
  }
  t = delivered_at_;
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum window_unit::on_control(window_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  if (r.op == window_op::close) return on_change(r, phase, t);
  const std::uint32_t index = hca_key_index(r.key);
  if (r.op == window_op::lock) {
    locks_.push_back(index);
  } else {
    std::erase(locks_, index);
    unlocked_.wake_all(queue_);
  }
  return tlm::TLM_COMPLETED;
}

bool window_unit::locked(std::uint32_t index) const {
  return std::find(locks_.begin(), locks_.end(), index) != locks_.end();
}

process window_unit::change(window_request& r, ps t) {
  const ps arrived = t;
  t = pipe_.start(t, interval_);
  valid_probe_.pulse(1, t, cycle_);
  op_probe_.set(static_cast<std::uint64_t>(r.op), t);
  key_probe_.set(r.key, t);
  pending_probe_.set(under_way_, t);
  r.fault = window_fault::none;
  switch (r.op) {
    case window_op::bind:
      co_await bind(r, t);
      break;
    case window_op::invalidate:
      co_await invalidate(r, t);
      break;
    case window_op::close:
      co_await close(r, t);
      break;
    default:
      co_await fast_register(r, t);
      break;
  }
  const auto op = static_cast<std::size_t>(r.op);
  if (r.fault == window_fault::none) {
    ++done_[op];
    time_[op].add(t - arrived);
  } else {
    ++faults_[static_cast<std::size_t>(r.fault)];
  }
  fault_probe_.set(static_cast<std::uint64_t>(r.fault), t);
  pending_.set(--under_way_, t);
  pending_probe_.set(under_way_, t);
  if (delivered_ == &r) {
    delivered_ = nullptr;
    delivered_at_ = t;
  } else {
    target_socket<window_request>::respond(r, t);
  }
}

// The change is made when the kernel is where it happens, so that accesses before it see the older state.
task<> window_unit::reach(ps& t) {
  t += latency_;
  co_await queue_.until(t);
  t = std::max(t, now());
}

// False: the context cannot be had; `c.index` against `c.area_entries` says why.
task<bool> window_unit::fetch(context_request& c, std::uint32_t index, ps& t) {
  c.op = context_op::fetch;
  c.failed = c.dirty = false;
  c.index = index;
  co_await mrc.request(c, t);
  co_return !c.failed;
}

// Pins what the request names, at an instant at which the command unit has locked none of it.
task<bool> window_unit::fetch_unlocked(pair& p, const window_request& r, ps& t) {
  const std::uint32_t window = hca_key_index(r.key);
  const std::uint32_t region = hca_key_index(r.region_key);
  for (;;) {
    const bool first = co_await fetch(p.window, window, t);
    if (!first) co_return false;
    if (p.has_region) {
      const bool second = co_await fetch(p.region, region, t);
      if (!second) {
        mrc.release(p.window, t);
        co_return false;
      }
    }
    if (!locked(window) && (!p.has_region || !locked(region))) co_return true;
    release(p, false, t);
    ++lock_waits_;
    co_await unlocked_.wait();
    t = std::max(t, now());
  }
}

void window_unit::release(pair& p, bool dirty, ps t) {
  p.window.dirty = p.region.dirty = dirty;
  mrc.release(p.window, t);
  if (p.has_region) mrc.release(p.region, t);
}

task<> window_unit::bind(window_request& r, ps& t) {
  static const hca_mrc nothing{};
  pair p;
  p.has_region = !(r.length == 0 && r.type == 1);
  const bool fetched = co_await fetch_unlocked(p, r, t);
  if (!fetched) {
    const bool beyond = p.window.failed && p.window.index >= p.window.area_entries;
    const bool region_beyond = p.has_region && p.region.failed && p.region.index >= p.region.area_entries;
    r.fault = beyond ? window_fault::not_a_window : region_beyond ? window_fault::bad_region : window_fault::table_error;
    co_return;
  }
  const hca_mrc& region = p.has_region ? p.region.as<hca_mrc>() : nothing;
  // While the region is pinned its extents stay as they are.
  if (needs_extents(region)) r.fault = co_await find_extent(region, r, t);
  co_await reach(t);
  if (r.fault == window_fault::none || r.fault == window_fault::out_of_range) {
    const window_fault first = check_bind(r, p.window.as<hca_mrc>(), region);
    if (first != window_fault::none) r.fault = first;
  }
  if (r.fault != window_fault::none) {
    release(p, false, t);
    co_return;
  }
  auto& window = p.window.as<hca_mrc>();
  const std::uint32_t old_parent = window.parent;
  const bool rebound = r.type == 1;
  if (p.has_region) ++p.region.as<hca_mrc>().parent;
  apply_bind(r, window, region);
  if (!p.has_region) ++unbinds_;
  release(p, true, t);
  if (r.type == 2 && rules_.type2 == window_association::qp) co_await count_at_qp(r.qpn, 1, t);
  if (rebound) co_await drain(r.key, t);
  if (old_parent != 0) co_await count_at_region(old_parent, t);
}

task<> window_unit::invalidate(window_request& r, ps& t) {
  pair p;
  const bool fetched = co_await fetch_unlocked(p, r, t);
  co_await reach(t);
  if (!fetched) {
    r.fault = p.window.index >= p.window.area_entries ? window_fault::not_a_window : window_fault::table_error;
    co_return;
  }
  auto& m = p.window.as<hca_mrc>();
  r.fault = check_invalidate(r, m, rules_);
  const bool change = r.fault == window_fault::none && m.state != HCA_MRC_FREE;
  const bool window = m.kind == HCA_MRC_WINDOW_2;
  const std::uint32_t parent = window ? m.parent : 0;
  if (change) apply_invalidate(m);
  release(p, change, t);
  if (r.fault != window_fault::none) co_return;
  if (r.remote) ++remote_invalidates_;
  co_await drain(r.key, t);
  if (!change) co_return;
  if (!window) co_await drop_translations(hca_key_index(r.key), t);
  if (parent != 0) co_await count_at_region(parent, t);
  if (window && rules_.type2 == window_association::qp) co_await count_at_qp(r.qpn, -1, t);
}

task<> window_unit::fast_register(window_request& r, ps& t) {
  pair p;
  const bool fetched = co_await fetch_unlocked(p, r, t);
  co_await reach(t);
  if (!fetched) {
    r.fault = p.window.index >= p.window.area_entries ? window_fault::not_a_window : window_fault::table_error;
    co_return;
  }
  auto& m = p.window.as<hca_mrc>();
  r.fault = check_fast_register(r, m);
  const bool change = r.fault == window_fault::none;
  if (change) apply_fast_register(r, m);
  release(p, change, t);
}

// Windows may always go [C2.2].
task<> window_unit::close(window_request& r, ps& t) {
  pair p;
  const bool fetched = co_await fetch_unlocked(p, r, t);
  co_await reach(t);
  if (!fetched) {
    r.fault = window_fault::table_error;
    co_return;
  }
  auto& m = p.window.as<hca_mrc>();
  const hca_mrc old = m;
  m = {};
  m.key_byte = old.key_byte;
  release(p, true, t);
  co_await drain(r.key, t);
  if (old.parent != 0) co_await count_at_region(old.parent, t);
  const bool tied = old.kind == HCA_MRC_WINDOW_2 && old.state == HCA_MRC_VALID;
  if (tied && rules_.type2 == window_association::qp) co_await count_at_qp(old.qpn, -1, t);
}

// Of an address space in pieces: the range must lie in one of them [S9].
task<window_fault> window_unit::find_extent(const hca_mrc& region, const window_request& r, ps& t) {
  extent_search search(region, r.va, r.length);
  for (;;) {
    context_request e;
    e.index = search.line();
    co_await extent.request(e, t);
    if (e.failed) co_return window_fault::table_error;
    t += extent_step_;
    const extent_search::result found = search.look(&e.as<const hca_extent>());
    extent.release(e, t);
    if (found == extent_search::inside) co_return window_fault::none;
    if (found == extent_search::outside) co_return window_fault::out_of_range;
  }
}

task<> window_unit::drain(std::uint32_t key, ps& t) {
  const ps begin = t;
  key_request k;
  k.op = key_op::drain;
  k.key = key;
  co_await keys.request(k, t);
  drain_wait_.add(t - begin);
}

task<> window_unit::drop_translations(std::uint32_t index, ps& t) {
  translate_request w;
  w.op = translate_op::drop;
  w.map.index = HCA_TAG_REGION | index;
  w.va = 0;
  w.last = ~std::uint64_t{0};
  co_await walker.request(w, t);
}

// One window less at the region that `parent` names, if it is still that region.
task<> window_unit::count_at_region(std::uint32_t parent, ps& t) {
  pair p;
  window_request name;
  name.key = parent;
  const bool fetched = co_await fetch_unlocked(p, name, t);
  if (!fetched) co_return;
  auto& m = p.window.as<hca_mrc>();
  const bool counted = counts_windows(m, parent);
  if (counted) --m.parent;
  release(p, counted, t);
}

task<> window_unit::count_at_qp(std::uint32_t qpn, std::int32_t by, ps& t) {
  context_request c;
  c.index = qpn;
  co_await qpc.request(c, t);
  if (c.failed) co_return;
  c.as<hca_qpc>().bound_windows += static_cast<std::uint32_t>(by);
  c.dirty = true;
  qpc.release(c, t);
}

}  // namespace hcasim
