#include "models/adapter/context_cache/context_cache.h"

#include <bit>

#include "tlm/base/delegate.h"

namespace hcasim {

context_cache::context_cache(const sc_core::sc_module_name& name, const context_cache_config& config, const clock_domain& clock,
                             std::uint32_t entry_bytes, unsigned clients, const cell_protection& protection)
    : unit(name),
      config_(config),
      entry_bytes_(entry_bytes),
      stride_shift_(static_cast<unsigned>(std::countr_zero(std::bit_ceil(entry_bytes)))),
      mask_(std::has_single_bit(config.sets) ? config.sets - 1 : 0),
      hit_latency_(clock.cycles(config.hit_latency)),
      interval_(clock.cycles(config.issue_interval)),
      cycle_(clock.period()),
      data_((std::size_t{config.sets} * config.ways) << stride_shift_),
      cells_(protection),
      stalled_in_set_(config.sets),
      policy_(make_replacement(config.policy, config.sets, config.ways, config.seed)),
      locked_(config.ways),
      fetch_records_(config.fetches),
      write_buffers_(queue_, config.write_buffers) {
  clear();
  for (std::size_t i = 0; i < fetch_records_.size(); ++i) {
    fetch_records_[i].number = static_cast<std::uint16_t>(i);
    free_fetches_.push(fetch_records_[i]);
  }
  for (unsigned i = 0; i < clients; ++i) {
    in.emplace_back(("in_" + std::to_string(i)).c_str()).on<&context_cache::handle>(this);
  }
  register_statistics();
}

void context_cache::clear() {
  const std::size_t entries = std::size_t{config_.sets} * config_.ways;
  tags_ = lazy_array<std::uint32_t>(entries);
  slots_ = lazy_array<slot_state>(entries);
  lost_one_ = false;
}

std::size_t context_cache::find(std::uint32_t index) const {
  const std::size_t first = std::size_t{set_of(index)} * config_.ways;
  const std::uint32_t* tag = tags_.data() + first;
  for (std::uint32_t w = 0; w < config_.ways; ++w) {
    if (tag[w] == index + 1) return first + w;
  }
  return nowhere;
}

// Kept out of line: hits change no state.
[[gnu::noinline]] void context_cache::on(std::size_t slot, line_event e) {
  slot_state& s = slots_[slot];
  s.life = line_table.step(status_of(s.life, s.pins), e).life;
}

void context_cache::lend(context_request& r, std::size_t slot) {
  r.failed = false;
  r.dirty = false;
  r.entry = bytes_of(slot);
  ++slots_[slot].pins;
  ++pins_;
  const std::uint32_t set = set_of(r.index);
  policy_->used(set, static_cast<std::uint32_t>(slot - std::size_t{set} * config_.ways));
}

bool context_cache::gated() const {
  return !gate_.empty() || area_change_ || (!config_.hit_under_miss && (active_fetches() > 0 || stalled_count_ > 0));
}

bool context_cache::idle() const {
  return pins_ == 0 && active_fetches() == 0 && stalled_count_ == 0 && writing_.empty() && dropping_.empty();
}

[[gnu::always_inline]] inline void context_cache::give_back(context_request& r, ps) {
  if (!r.entry) return;
  const auto slot = static_cast<std::size_t>(r.entry - data_.data()) >> stride_shift_;
  slot_state& s = slots_[slot];
  if (r.dirty && s.life != line_life::dirty) [[unlikely]] {
    on(slot, line_event::dirtied);
  }
  r.entry = nullptr;
  --pins_;
  if (--s.pins == 0 && (leaving(s.life) || stalled_count_ > 0 || area_change_)) [[unlikely]] {
    released(slot);
  }
}

tlm::tlm_sync_enum context_cache::handle(context_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) {
    give_back(r, t);
    return tlm::TLM_COMPLETED;
  }
  const ps start = port_.start(t, interval_);
  t = start + hit_latency_;
  valid_probe_.pulse(1, start, cycle_);
  index_probe_.set(r.index, start);
  if (r.op == context_op::fetch && !gated()) [[likely]] {
    const std::size_t slot = find(r.index);
    if (slot != nowhere && may_be_lent(slots_[slot].life)) [[likely]] {
      if (cells_.due() && spoiled(slot)) [[unlikely]] {
        return slow(r, t);
      }
      lend(r, slot);
      ++hits_;
      hit_probe_.pulse(1, t, cycle_);
      return tlm::TLM_COMPLETED;
    }
  }
  return slow(r, t);
}

void context_cache::released(std::size_t slot) {
  if (leaving(slots_[slot].life)) wake(*drop_of(tags_[slot] - 1));
  if (stalled_count_ > 0) poke();
  if (area_change_) queue_.soon(call<&context_cache::progress>(this));
}

tlm::tlm_sync_enum context_cache::slow(context_request& r, ps& t) {
  if (r.op == context_op::give) {  // a give passes every waiting request
    give(r.index);
    return tlm::TLM_COMPLETED;
  }
  pending& p = pendings_.get();
  p = {&r, t, outcome::answered, nullptr};
  if (gated()) {
    gate_.push(p);
    note_waiting();
    return tlm::TLM_ACCEPTED;
  }
  const outcome o = admit(p);
  if (o == outcome::answered) {
    pendings_.put(p);
    return tlm::TLM_COMPLETED;
  }
  if (o != outcome::queued) stall(p, o);
  note_waiting();
  return tlm::TLM_ACCEPTED;
}

context_cache::outcome context_cache::admit(pending& p) {
  switch (p.request->op) {
    case context_op::fetch:
      return admit_fetch(p);
    case context_op::drop:
    case context_op::take:
      return admit_drop(p);
    default:
      return admit_area(p);
  }
}

context_cache::outcome context_cache::admit_fetch(pending& p) {
  context_request& r = *p.request;
  if (r.index >= area_entries_) {
    fail(r);
    return outcome::answered;
  }
  if (drop_record* d = drop_of(r.index)) {
    d->waiting.push(p);
    return outcome::queued;
  }
  if (const std::size_t slot = find(r.index); slot != nowhere && slots_[slot].life == line_life::ruined) {
    fail(r);
    return outcome::answered;
  } else if (slot != nowhere) {
    ++merged_;
    if (under_way(slots_[slot].life)) {
      fetch_records_[slots_[slot].fetch].waiting.push(p);
      return outcome::queued;
    }
    on(slot, line_event::lent);
    lend(r, slot);
    return outcome::answered;
  }
  if (write_back* w = write_of(r.index)) {
    ++behind_write_;
    w->waiting.push(p);
    return outcome::queued;
  }
  return begin_fetch(p);
}

void context_cache::fail(context_request& r) {
  r.failed = true;
  r.entry = nullptr;
  r.area_entries = area_entries_;
  ++failed_;
}

// True = a bit of the entry is wrong, and the entry cannot be lent. Holders of a pinned entry have read it before.
bool context_cache::spoiled(std::size_t slot) {
  if (slots_[slot].pins != 0) return false;
  if (!keeps_its_tag(slot)) return true;
  if (cells_.read({bytes_of(slot), entry_bytes_})) return false;
  if (slots_[slot].life == line_life::clean) {
    forget(slot, line_event::forgotten);
  } else {
    on(slot, line_event::spoils);
  }
  return true;
}

// A wrong tag that fits its check renames the entry, if the new index is of the same set and free.
bool context_cache::keeps_its_tag(std::size_t slot) {
  const std::uint32_t index = tags_[slot] - 1;
  const int in_set = std::countr_one(mask_);  // bits given by the set
  std::uint32_t tag = index >> in_set;
  const bool fits = cells_.read_tag(tag);
  const std::uint32_t found = tag << in_set | (index & mask_);
  if (fits && found == index) return true;
  const bool can_be = tag >> (32 - in_set - 1) == 0 && found < area_entries_ && set_of(found) == set_of(index);
  if (fits && can_be && find(found) == nowhere && !drop_of(found) && !write_of(found)) {
    tags_[slot] = found + 1;
  } else {
    lost_one_ |= slots_[slot].life == line_life::dirty;
    forget(slot, line_event::loses_its_tag);
  }
  return false;
}

context_cache::outcome context_cache::begin_fetch(pending& p) {
  const std::uint32_t index = p.request->index;
  if (lost_one_) [[unlikely]] {
    fail(*p.request);
    return outcome::answered;
  }
  const std::uint32_t set = set_of(index);
  const bool newcomer = p.why == outcome::answered;  // a newcomer goes behind requests that wait for the same
  if (free_fetches_.empty() || (newcomer && stalled_for_fetch_ > 0)) return outcome::no_fetch;
  if (newcomer && stalled_in_set_[set] > 0) return outcome::no_victim;
  const std::size_t slot = victim(set);
  if (slot == nowhere) return outcome::no_victim;

  fetch_record& f = free_fetches_.pop();
  write_back* evicted = tags_[slot] ? evict(slot) : nullptr;
  tags_[slot] = index + 1;
  on(slot, line_event::fetch_begins);
  slots_[slot].fetch = f.number;
  f.slot = slot;
  f.begin = std::max(p.t, now());
  f.waiting.push(p);
  ++misses_;
  f.launching = true;
  fetch(f, evicted, p.request->operation);
  f.launching = false;
  return outcome::queued;
}

std::size_t context_cache::victim(std::uint32_t set) {
  const std::size_t first = std::size_t{set} * config_.ways;
  bool any = false;
  for (std::uint32_t w = 0; w < config_.ways; ++w) {
    if (!tags_[first + w]) return first + w;
    const slot_state& s = slots_[first + w];
    locked_[w] = s.pins > 0 || !may_make_room(s.life);
    any |= !locked_[w];
  }
  return any ? first + policy_->victim(set, locked_.data()) : nowhere;
}

context_cache::write_back* context_cache::evict(std::size_t slot) {
  ++evictions_;
  if (slots_[slot].life == line_life::clean) return nullptr;
  write_back& w = write_backs_.get();
  w.write.ruined = slots_[slot].life == line_life::ruined;
  w.index = tags_[slot] - 1;
  w.bytes.assign(bytes_of(slot), bytes_of(slot) + entry_bytes_);
  writing_.push_back(&w);
  return &w;
}

void context_cache::forget(std::size_t slot, line_event why) {
  on(slot, why);
  tags_[slot] = 0;
}

context_cache::outcome context_cache::admit_drop(pending& p) {
  const std::uint32_t index = p.request->index;
  p.request->failed = lost_one_;
  if (index >= area_entries_) return outcome::answered;
  if (drop_record* d = drop_of(index)) {
    d->waiting.push(p);
    return outcome::queued;
  }
  if (write_back* w = write_of(index)) {
    w->waiting.push(p);
    return outcome::queued;
  }
  ++dropped_;
  const bool takes = p.request->op == context_op::take;
  const std::size_t slot = find(index);
  const bool there = slot != nowhere;
  if (!there || (slots_[slot].life == line_life::clean && slots_[slot].pins == 0)) {
    if (there) forget(slot, line_event::forgotten);
    if (takes) begin_drop(nullptr, index, nowhere);
    // A way is free now, for requests that wait for one.
    if (there && stalled_count_ > 0) poke();
    return outcome::answered;
  }
  const bool ruined = slots_[slot].life == line_life::ruined;
  on(slot, line_event::drop_asked);
  drop_record& d = begin_drop(&p, index, slot);
  d.write.ruined = ruined;
  d.launching = true;
  drop(d);
  d.launching = false;
  return outcome::queued;
}

context_cache::drop_record& context_cache::begin_drop(pending* p, std::uint32_t index, std::size_t slot) {
  drop_record& d = drops_.get();
  d.request = p;
  d.index = index;
  d.slot = slot;
  dropping_.push_back(&d);
  return d;
}

void context_cache::give(std::uint32_t index) {
  drop_record* const d = drop_of(index);
  if (!d || d->request) return;  // not taken: beyond the area
  std::erase(dropping_, d);
  const fifo<pending> list = d->waiting.take();
  drops_.put(*d);
  settle_all(list);
  if (area_change_) progress();
}

context_cache::outcome context_cache::admit_area(pending& p) {
  if (!idle()) {
    area_change_ = &p;
    return outcome::queued;
  }
  clear();
  area_base_ = p.request->area_base;
  area_entries_ = std::min<std::uint64_t>(p.request->area_entries, ~std::uint32_t{0});
  p.request->failed = false;
  return outcome::answered;
}

context_cache::drop_record* context_cache::drop_of(std::uint32_t index) const {
  for (drop_record* d : dropping_) {
    if (d->index == index) return d;
  }
  return nullptr;
}

context_cache::write_back* context_cache::write_of(std::uint32_t index) const {
  for (write_back* w : writing_) {
    if (w->index == index) return w;
  }
  return nullptr;
}

}  // namespace hcasim
