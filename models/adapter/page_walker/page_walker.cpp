#include "models/adapter/page_walker/page_walker.h"

#include <algorithm>
#include <string>

#include "models/adapter/page_walker/geometry.h"

namespace hcasim {

page_walker::page_walker(const sc_core::sc_module_name& name, const page_walker_config& config, const clock_domain& clock,
                         unsigned clients, const cell_protection& protection)
    : unit(name),
      config_(config),
      line_shift_(static_cast<unsigned>(config.line)),
      hit_latency_(clock.cycles(config.hit_latency)),
      second_latency_(clock.cycles(config.second_latency)),
      interval_(clock.cycles(config.issue_interval)),
      cycle_(clock.period()),
      leaves_(config.leaf_sets, config.leaf_ways, entries_in(config.line), config.policy, config.seed),
      second_(config.second_sets, config.second_ways, entries_in(config.line), config.policy, config.seed),
      cells_(protection),
      mshrs_(config.mshrs) {
  const std::uint32_t ways = std::min(config.upper_ways, config.upper_entries);
  for (unsigned level = 1; level < max_levels; ++level) {
    uppers_.emplace_back(ways ? config.upper_entries / ways : 0, std::max(ways, 1U), 1U, config.policy, config.seed + level);
  }
  for (unsigned i = 0; i < clients; ++i) {
    in.emplace_back(("in_" + std::to_string(i)).c_str()).on<&page_walker::handle>(this);
  }
  describe();
}

tlm::tlm_sync_enum page_walker::handle(translate_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  const ps start = port_.start(t, interval_);
  t = start + hit_latency_;
  valid_probe_.pulse(1, start, cycle_);
  tag_probe_.set(r.map.index, start);
  page_probe_.set(geometry::page_number(r.map, r.va), start);
  if (r.op == translate_op::drop) [[unlikely]] {
    drop(r);
    return tlm::TLM_COMPLETED;
  }
  const bool behind = is_stopped() && r.map.levels > 0;
  if (!behind && look(r)) [[likely]] {
    hit_probe_.pulse(r.status == translate_status::ok, t, cycle_);
    return tlm::TLM_COMPLETED;
  }
  pending& p = pendings_.get();
  p = {&r, t, nullptr};
  if (behind || !miss(p)) {
    ++stalls_;
    stalled_.push(p);
  }
  note_queue(now());
  return tlm::TLM_ACCEPTED;
}

std::uint64_t page_walker::line_of(const translate_request& r) const {
  return geometry::page_number(r.map, r.va) >> line_shift_;
}

std::uint64_t page_walker::leaf_of(const translate_request& r, const std::uint64_t* entries) const {
  return entries[geometry::page_number(r.map, r.va) & ((1U << line_shift_) - 1)];
}

bool page_walker::look(translate_request& r) {
  const bool sane = r.map.levels <= max_levels && r.map.page_shift >= 12 && r.map.page_shift <= 52;
  if (r.map.null || (r.map.levels > 0 && !sane)) [[unlikely]] {
    r.status = r.map.null ? translate_status::not_present : translate_status::table_error;
    r.bytes = 0;
    ++(r.map.null ? not_present_ : errors_);
    return true;
  }
  if (r.map.levels == 0) {
    r.status = translate_status::ok;
    r.physical = r.va;
    r.bytes = r.length;
    ++physical_;
    return true;
  }
  const translation_cache::key key = translation_cache::key_of(r.map, line_of(r));
  std::uint64_t* entries = leaves_.find(key);
  if (!entries) return false;
  if (cells_.due() && spoiled(leaves_, key, {entries, std::size_t{1} << line_shift_})) [[unlikely]] {
    return false;
  }
  const std::uint64_t leaf = leaf_of(r, entries);
  if (!usable(r, leaf)) return false;
  ++hits_;
  return answer_from(r, leaf);
}

// True = a bit of the entries or of their tag is wrong. A wrong tag that fits its check gives the entries to another key or
// queue.
bool page_walker::spoiled(translation_cache& cache, const translation_cache::key& k, std::span<std::uint64_t> entries) {
  auto tag = static_cast<std::uint32_t>(k.tag_plus_1 - 1);
  const bool fits = cells_.read_tag(tag);
  if (fits && tag == k.tag_plus_1 - 1 && cells_.read(std::as_writable_bytes(entries))) return false;
  if (fits && tag != k.tag_plus_1 - 1) {
    cache.rename(k, tag);
  } else {
    cache.forget(k);
  }
  return true;
}

bool page_walker::answer_from(translate_request& r, std::uint64_t leaf) {
  const bool present = usable(r, leaf);
  r.status = present ? translate_status::ok : translate_status::not_present;
  r.physical = present ? geometry::physical(r.map, leaf, r.va) : 0;
  const std::uint64_t rest = (std::uint64_t{1} << r.map.page_shift) - geometry::page_offset(r.map, r.va);
  r.bytes = present ? std::min(r.length, rest) : 0;
  return true;
}

bool page_walker::miss(pending& p) {
  const translate_request& r = *p.request;
  const std::uint64_t line = line_of(r);
  const translation_cache::key key = translation_cache::key_of(r.map, line);
  for (walk* w : missed_) {
    if (w->key == key && !w->poisoned && (!w->known || has_usable(r, w->entries))) {
      ++merged_;
      w->waiting.push(p);
      return true;
    }
  }
  if (missed_.size() >= config_.mshrs) return false;
  walk& w = walks_.get();
  const std::uint64_t* const known = second_.find(key);
  w.known = has_usable(r, known);
  ++(w.known ? second_hits_ : misses_);
  w.map = r.map;
  w.key = key;
  w.line = line;
  w.operation = r.operation;
  w.missed = p.t;
  w.poisoned = false;
  w.tag_dropped = false;
  w.waiting.push(p);
  missed_.push_back(&w);
  mshrs_.add(1, now());
  if (w.known) {
    std::copy_n(known, std::size_t{1} << line_shift_, w.entries);
    w.launching = true;
    recall(w);
    w.launching = false;
  } else if (walking_ < config_.walkers && ready_.empty()) {
    begin(w, p.t);
  } else {
    ready_.push(w);
  }
  return true;
}

void page_walker::begin(walk& w, ps t) {
  ++walking_;
  w.begin = std::max(t, now());
  w.launching = true;
  run(w);
  w.launching = false;
}

process page_walker::run(walk& w) {
  co_await queue_.until(w.begin);
  walkers_busy_.add(1, now());
  walkers_probe_.set(walkers_busy_.value(), now());
  const translation& m = w.map;
  const std::uint64_t page = w.line << line_shift_;
  ps t = w.begin;
  // The lowest node that is known already.
  unsigned level = 0;
  std::uint64_t node = m.table;
  for (; level + 1 < m.levels; ++level) {
    const auto key = translation_cache::key_of(m, geometry::node_of(m, page, level));
    std::uint64_t* known = uppers_[level].find(key);
    if (!known || (cells_.due() && spoiled(uppers_[level], key, {known, 1}))) continue;
    ++upper_hits_[level + 1];
    node = hca_pte_address(*known);
    break;
  }
  for (;; --level) {
    level_probe_.set(level + 1, t);
    ++reads_[level];
    w.read.operation = w.operation;
    w.read.op = dma_op::read;
    w.read.source = dma_source::table;
    w.read.failed = false;
    constexpr std::uint32_t entry = sizeof(hca_pte);
    w.read.bytes = level == 0 ? entry << line_shift_ : entry;
    w.read.address = geometry::entry_address(m, node, page, level);
    w.read.data = reinterpret_cast<std::byte*>(w.entries);
    co_await dma.request(w.read, t);
    co_await landed{queue_, t, w.launching};
    if (w.read.failed) {
      finish(w, translate_status::table_error, t);
      co_return;
    }
    if (level == 0) break;
    if (!(w.entries[0] & HCA_PTE_PRESENT)) {
      finish(w, translate_status::not_present, t);
      co_return;
    }
    node = hca_pte_address(w.entries[0]);
    if (!w.tag_dropped) {
      // Covers all pages of the node below.
      const unsigned shift = m.page_shift + HCA_PTE_BITS * level;
      const std::uint64_t number = geometry::node_of(m, page, level - 1);
      const std::uint64_t span = shift < 64 ? (std::uint64_t{1} << shift) - 1 : ~std::uint64_t{0};
      const std::uint64_t first = m.table_va + (shift < 64 ? number << shift : 0);
      const auto key = translation_cache::key_of(m, number);
      uppers_[level - 1].put(key, w.entries, first, first + span);
    }
  }
  keep(w);
  finish(w, translate_status::ok, t);
}

process page_walker::recall(walk& w) {
  const ps t = std::max(w.missed, now()) + second_latency_;
  co_await landed{queue_, t, w.launching};
  keep(w);
  finish(w, translate_status::ok, t);
}

// Puts the line of a walk into the leaf cache. The second level keeps its lines until they make room.
void page_walker::keep(const walk& w) {
  if (w.poisoned) return;
  const unsigned shift = w.map.page_shift + line_shift_;
  const std::uint64_t first = w.map.table_va + (w.line << shift);
  const std::uint64_t last = first + ((std::uint64_t{1} << shift) - 1);
  evictions_ += leaves_.put(w.key, w.entries, first, last);
  if (!w.known) second_.put(w.key, w.entries, first, last);
}

void page_walker::finish(walk& w, translate_status failure, ps t) {
  std::erase(missed_, &w);
  mshrs_.add(-1, now());
  if (!w.known) {
    --walking_;
    walkers_busy_.add(-1, t);
    walkers_probe_.set(walkers_busy_.value(), t);
    level_probe_.set(0, t);
    walk_latency_.add(t - w.begin);
  }
  miss_latency_.add(t - w.missed);
  // All are answered out of the line before the first goes on.
  fifo<pending> ready;
  while (!w.waiting.empty()) {
    pending& p = w.waiting.pop();
    translate_request& r = *p.request;
    if (failure == translate_status::ok) {
      answer_from(r, leaf_of(r, w.entries));
    } else {
      r.status = failure;
      r.bytes = 0;
    }
    if (r.status == translate_status::not_present) ++not_present_;
    if (r.status == translate_status::table_error) ++errors_;
    status_probe_.set(static_cast<std::uint64_t>(r.status), t);
    ready.push(p);
  }
  walks_.put(w);
  resume_pending();
  note_queue(t);
  while (!ready.empty()) respond(ready.pop(), t);
}

// A walker, or an MSHR, has become free.
void page_walker::resume_pending() {
  while (walking_ < config_.walkers && !ready_.empty()) begin(ready_.pop(), now());
  fifo<pending> hits;
  while (!stalled_.empty() && missed_.size() < most_missed()) {
    pending& p = stalled_.pop();
    p.t = std::max(p.t, now());
    if (look(*p.request)) {
      hits.push(p);
    } else {
      miss(p);
    }
  }
  while (!hits.empty()) respond(hits.pop(), now());
}

void page_walker::respond(pending& p, ps t) {
  translate_request& r = *p.request;
  const ps at = std::max({p.t, t, now()});
  pendings_.put(p);
  target_socket<translate_request>::respond(r, at);
}

void page_walker::drop(translate_request& r) {
  ++drops_;
  r.status = translate_status::ok;
  std::uint64_t dropped = leaves_.drop(r.map.index, r.va, r.last) + second_.drop(r.map.index, r.va, r.last);
  for (translation_cache& upper : uppers_) dropped += upper.drop(r.map.index, r.va, r.last);
  dropped_ += dropped;
  for (walk* w : missed_) {
    if (w->map.index != r.map.index) continue;
    w->tag_dropped = true;
    const std::uint64_t first = w->map.table_va + (w->line << (w->map.page_shift + line_shift_));
    const std::uint64_t last = first + ((std::uint64_t{1} << (w->map.page_shift + line_shift_)) - 1);
    if (!w->poisoned && overlap(first, last, r.va, r.last)) {
      w->poisoned = true;
      ++poisoned_;
    }
  }
}

void page_walker::note_queue(ps t) {
  queued_.set(ready_.size() + stalled_.size(), t);
  queued_probe_.set(ready_.size() + stalled_.size(), t);
}

void page_walker::describe() {
  stats_.add("hits", "1", "translations answered from the leaf cache", hits_);
  stats_.add("physical", "1", "translations of maps without a table", physical_);
  if (config_.second_sets != 0) {
    stats_.add("second_hits", "1", "lines that the second level had, where no walk was needed", second_hits_);
  }
  stats_.add("misses", "1", "lines of page-table entries that were walked for", misses_);
  stats_.add("merged", "1", "misses that joined the walk of the same line", merged_);
  stats_.add("stalls", "1", "misses that waited for an MSHR", stalls_);
  stats_.add("not_present", "1", "translations that ended at an entry that is not present", not_present_);
  stats_.add("errors", "1", "translations that failed because a table could not be read", errors_);
  stats_.add("evictions", "1", "lines of the leaf cache that made room", evictions_);
  cells_.list(stats_);
  stats_.add("drops", "1", "ranges the command unit had forgotten", drops_);
  stats_.add("dropped_entries", "1", "cached entries, leaf lines and nodes, of both levels, forgotten by drops", dropped_);
  stats_.add("poisoned_walks", "1", "walks under way in a dropped range", poisoned_);
  for (unsigned level = 0; level < max_levels; ++level) {
    stats_.add("reads_level_" + std::to_string(level), "1", "DMA reads of tables of this level (0: page entries)",
               reads_[level]);
    if (level > 0) {
      stats_.add("upper_hits_level_" + std::to_string(level), "1", "walks that began below a cached entry of this level",
                 upper_hits_[level]);
    }
  }
  stats_.add("walk_latency", "ps", "from a walk's start to its line", walk_latency_);
  stats_.add("miss_latency", "ps", "from the end of the look-up to the line, waiting for a walker included", miss_latency_);
  stats_.add("walkers_busy", "1", "walks in progress", walkers_busy_, "walkers");
  stats_.add("queued", "1", "lines without a walker and misses without an MSHR", queued_);
  stats_.ratio("hit_ratio", "hits over all translations through a table", {&hits_},
               {&hits_, &misses_, &merged_, &second_hits_});
  stats_.busy_time("mshrs_busy", "share of `mshrs` in use, times the time", mshrs_);
  stats_.busy_time("port_busy", "time the look-up port was busy", port_);
  stats_.wait_time("port_waited", "time requests waited for the look-up port, summed", port_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("tag", 32, tag_probe_);
  signals_.add("page", 52, page_probe_);
  signals_.add("hit", 1, hit_probe_);
  signals_.add("walkers", 10, walkers_probe_);
  signals_.add("walk_level", 3, level_probe_, {"none", "leaf", "level_1", "level_2", "level_3"});
  signals_.add("queued", 16, queued_probe_);
  signals_.add("status", 2, status_probe_, {"ok", "not_present", "table_error"});
}

}  // namespace hcasim
