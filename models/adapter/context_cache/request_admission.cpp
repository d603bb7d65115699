#include "models/adapter/context_cache/request_admission.h"

namespace hcasim {

admission request_admission::admit(pending_request& p) {
  switch (p.request->op) {
    case context_op::fetch:
      return fetch(p);
    case context_op::drop:
    case context_op::take:
      return drop(p);
    default:
      return set_area(p);
  }
}

bool request_admission::idle() const {
  return parts_.lines.pinned() == 0 && parts_.fetches.active() == 0 && !parts_.pending.any_stalled() && parts_.writes.empty() &&
         parts_.drops.empty();
}

admission request_admission::fetch(pending_request& p) {
  context_request& r = *p.request;
  cache_lines& lines = parts_.lines;
  if (r.index >= parts_.icm.count()) {
    parts_.icm.fail(r);
    return admission::answered;
  }
  if (parts_.drops.queue(p)) return admission::queued;
  if (const std::size_t slot = lines.find(r.index); slot != cache_lines::nowhere) {
    if (lines.life(slot) == line_life::ruined) {
      parts_.icm.fail(r);
      return admission::answered;
    }
    ++counters_.merged;
    if (under_way(lines.life(slot))) {
      parts_.fetches.join(p, slot);
      return admission::queued;
    }
    lines.on(slot, line_event::lent);
    lines.lend(r, slot);
    return admission::answered;
  }
  if (write_buffers::entry* const e = parts_.writes.of(r.index)) {
    ++counters_.behind_write;
    e->waiting.push(p);
    return admission::queued;
  }
  return begin_fetch(p);
}

admission request_admission::begin_fetch(pending_request& p) {
  if (parts_.cells.lost_one()) [[unlikely]] {
    parts_.icm.fail(*p.request);
    return admission::answered;
  }
  const std::uint32_t set = set_of(p);
  const bool newcomer = p.stall == admission::answered;  // goes behind requests that wait for the same
  if (!parts_.fetches.any_free() || (newcomer && parts_.pending.stalled_for_fetch())) return admission::no_fetch;
  if (newcomer && parts_.pending.stalled_in(set)) return admission::no_victim;
  const std::size_t slot = parts_.lines.victim(set);
  if (slot == cache_lines::nowhere) return admission::no_victim;
  parts_.fetches.begin(p, slot);
  return admission::queued;
}

admission request_admission::drop(pending_request& p) {
  cache_lines& lines = parts_.lines;
  const std::uint32_t index = p.request->index;
  p.request->failed = parts_.cells.lost_one();
  if (index >= parts_.icm.count()) return admission::answered;
  if (parts_.drops.queue(p)) return admission::queued;
  if (write_buffers::entry* const e = parts_.writes.of(index)) {
    e->waiting.push(p);
    return admission::queued;
  }
  ++counters_.dropped;
  parts_.second.forget(index);
  const std::size_t slot = lines.find(index);
  const bool there = slot != cache_lines::nowhere;
  if (there && (lines.life(slot) != line_life::clean || lines.held(slot))) {
    parts_.drops.begin(p, slot);
    return admission::queued;
  }
  if (there) lines.forget(slot, line_event::forgotten);
  if (p.request->op == context_op::take) parts_.drops.take(index);
  if (there) parts_.pending.on_room();
  return admission::answered;
}

admission request_admission::set_area(pending_request& p) {
  if (!idle()) {
    parts_.pending.change_area(p);
    return admission::queued;
  }
  parts_.lines.clear();
  parts_.second.clear();
  parts_.cells.clear();
  parts_.icm.set(p.request->area_base, p.request->area_entries);
  p.request->failed = false;
  return admission::answered;
}

}  // namespace hcasim
