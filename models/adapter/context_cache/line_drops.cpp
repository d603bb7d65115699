#include "models/adapter/context_cache/line_drops.h"

namespace hcasim {

void line_drops::begin(pending_request& p, std::size_t slot) {
  const bool ruined = lines_.life(slot) == line_life::ruined;
  lines_.on(slot, line_event::drop_asked);
  drop& d = add(&p, p.request->index, slot);
  d.write.ruined = ruined;
  d.launching = true;
  run(d);
  d.launching = false;
}

line_drops::drop& line_drops::add(pending_request* p, std::uint32_t index, std::size_t slot) {
  drop& d = pool_.get();
  d.request = p;
  d.index = index;
  d.slot = slot;
  dropping_.push_back(&d);
  return d;
}

// Returns the requests behind the drop.
fifo<pending_request> line_drops::remove(drop& d) {
  std::erase(dropping_, &d);
  const fifo<pending_request> list = d.waiting.take();
  pool_.put(d);
  return list;
}

void line_drops::give(std::uint32_t index) {
  drop* const d = of(index);
  if (!d || d->request) return;  // not taken: beyond the area
  pending_.settle_all(remove(*d));
  pending_.on_end();
}

bool line_drops::queue(pending_request& p) {
  drop* const d = of(p.request->index);
  if (d) d->waiting.push(p);
  return d != nullptr;
}

line_drops::drop* line_drops::of(std::uint32_t index) const {
  for (drop* d : dropping_) {
    if (d->index == index) return d;
  }
  return nullptr;
}

void line_drops::on_fetch_failed(std::uint32_t index) {
  drop* const d = of(index);
  if (!d) return;
  d->slot = cache_lines::nowhere;
  wake(*d);
}

void line_drops::wake(drop& d) {
  if (d.sleeper) queue_.soon(resume(std::exchange(d.sleeper, {})));
}

bool line_drops::in_use(const drop& d) const {
  return d.slot != cache_lines::nowhere && (under_way(lines_.life(d.slot)) || lines_.held(d.slot));
}

process line_drops::run(drop& d) {
  struct sleep {
    drop& d;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { d.sleeper = h; }
    void await_resume() const {}
  };
  while (in_use(d)) co_await sleep{d};
  ps t = std::max(d.request->t, now());
  co_await queue_.until(t);
  const bool there = d.slot != cache_lines::nowhere;
  const bool dirty = there && lines_.life(d.slot) == line_life::dropping_dirty;
  const entry_part part = dirty ? lines_.changed(d.slot, d.write.ruined) : entry_part();
  if (part.bytes != 0) {
    co_await icm_.write(d.write, d.index, part, lines_.bytes_of(d.slot) + part.offset, t);
    co_await after_transfer{t, d.launching};
    counters_.write_failures += d.write.failed;
  }
  if (there) lines_.forget(d.slot, line_event::forgotten);
  pending_request& p = *std::exchange(d.request, nullptr);
  fifo<pending_request> list;
  if (p.request->op == context_op::drop) list = remove(d);
  p.t = std::max(p.t, t);
  pending_.answer(p);
  pending_.settle_all(list);
  pending_.on_room();
  pending_.on_end();
}

}  // namespace hcasim
