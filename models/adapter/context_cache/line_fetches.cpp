#include "models/adapter/context_cache/line_fetches.h"

namespace hcasim {

line_fetches::line_fetches(std::uint32_t fetches, ps second_latency, const parts& with, context_cache_counters& counters,
                           context_cache_signals& signals)
    : second_latency_(second_latency), parts_(with), counters_(counters), signals_(signals), records_(fetches) {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    records_[i].number = static_cast<std::uint16_t>(i);
    free_.push(records_[i]);
  }
}

void line_fetches::begin(pending_request& p, std::size_t slot) {
  record& f = free_.pop();
  write_buffers::entry* const evicted = parts_.lines.used(slot) ? parts_.writes.evict(slot) : nullptr;
  f.slot = slot;
  f.from_second = take_line(f, p.request->index);
  f.begin = std::max(p.t, now());
  f.waiting.push(p);
  ++(f.from_second ? counters_.second_hits : counters_.misses);
  f.launching = true;
  run(f, evicted, p.request->operation);
  f.launching = false;
}

bool line_fetches::take_line(record& f, std::uint32_t index) {
  cache_lines& lines = parts_.lines;
  std::optional<std::uint32_t> victim;
  if (lines.used(f.slot) && lines.life(f.slot) != line_life::ruined) victim = lines.index_of(f.slot);
  const bool found = parts_.second.exchange(index, victim, lines.bytes_of(f.slot));
  lines.begin(f.slot, index, f.number);
  return found;
}

void line_fetches::count(int more, ps t) {
  counters_.outstanding.add(more, t);
  signals_.outstanding.set(counters_.outstanding.value(), t);
}

process line_fetches::run(record& f, write_buffers::entry* evicted, std::uint64_t operation) {
  co_await queue_.until(f.begin);
  count(1, now());
  if (evicted) {
    co_await parts_.writes.take();
    parts_.writes.write(*evicted, now());
  }
  ps t = now();
  if (f.from_second) {
    f.read.failed = false;
    t += second_latency_;
  } else {
    f.read.operation = operation;
    co_await parts_.icm.read(f.read, parts_.lines.index_of(f.slot), parts_.lines.bytes_of(f.slot), t);
  }
  co_await after_transfer{t, f.launching};
  fill(f, t);
}

void line_fetches::fill(record& f, ps t) {
  cache_lines& lines = parts_.lines;
  const std::size_t slot = f.slot;
  const bool failed = f.read.failed;
  fifo<pending_request> list = f.waiting.take();
  counters_.miss_latency.add(t - f.begin);
  if (failed) {
    const std::uint32_t index = lines.index_of(slot);
    lines.forget(slot, line_event::fetch_fails);
    parts_.drops.on_fetch_failed(index);
  } else {
    lines.on(slot, line_event::fetched);
    lines.keep(slot);
  }
  free_.push(f);
  count(-1, t);

  // All requests hold the entry before the first goes on.
  fifo<pending_request> ready;
  while (!list.empty()) {
    pending_request& p = list.pop();
    p.t = std::max(p.t, t);
    if (failed) {
      parts_.icm.fail(*p.request);
    } else {
      lines.on(slot, line_event::lent);
      lines.lend(*p.request, slot);
    }
    ready.push(p);
  }
  while (!ready.empty()) parts_.pending.answer(ready.pop());
  parts_.pending.on_fetch_end();
}

}  // namespace hcasim
