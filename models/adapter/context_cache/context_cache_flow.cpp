// Fetches, write-backs and drops while requests wait, and the order in which these go on.
#include "models/adapter/context_cache/context_cache.h"
#include "tlm/base/delegate.h"

namespace hcasim {

void context_cache::answer(pending& p) {
  context_request& r = *p.request;
  const ps t = std::max(p.t, now());
  pendings_.put(p);
  note_waiting();
  target_socket<context_request>::respond(r, t);
}

void context_cache::settle(pending& p) {
  const outcome o = admit(p);
  if (o == outcome::answered) {
    answer(p);
  } else if (o != outcome::queued) {
    stall(p, o);
  }
}

void context_cache::settle_all(fifo<pending> list) {
  while (!list.empty()) settle(list.pop());
}

void context_cache::stall(pending& p, outcome why) {
  count_stall(p, why);
  stalled_.push(p);
}

void context_cache::count_stall(pending& p, outcome why) {
  if (p.why == outcome::answered) ++(why == outcome::no_fetch ? no_fetch_ : no_victim_);
  p.why = why;
  ++stalled_count_;
  if (why == outcome::no_fetch) {
    ++stalled_for_fetch_;
  } else {
    ++stalled_in_set_[set_of(p.request->index)];
  }
  waiting_probe_.set(stalled_count_, now());
}

void context_cache::retry_stalled() {
  fifo<pending> list = stalled_.take();
  fifo<pending> still;
  while (!list.empty()) {
    pending& p = list.pop();
    --stalled_count_;
    if (p.why == outcome::no_fetch) {
      --stalled_for_fetch_;
    } else {
      --stalled_in_set_[set_of(p.request->index)];
    }
    // Another try takes a turn of the lookup port; newcomers wait for it.
    const ps turn = std::max(port_.free_at(), now());
    p.t = std::max(p.t, turn);
    const outcome o = admit(p);
    if (o == outcome::answered) {
      port_.start(now(), interval_);
      answer(p);
    } else if (o != outcome::queued) {
      count_stall(p, o);
      still.push(p);
    } else {
      port_.start(now(), interval_);
    }
    if (free_fetches_.empty()) break;
  }
  // First come, first served: requests that stalled meanwhile are last.
  still.append(list);
  still.append(stalled_);
  stalled_ = still;
  waiting_probe_.set(stalled_count_, now());
}

// Stalled requests try again in the cycle after a way or a fetch became free; a lookup may be faster.
void context_cache::poke() {
  if (poked_) return;
  poked_ = true;
  queue_.at(now() + cycle_, call<&context_cache::on_poke>(this));
}

void context_cache::on_poke() {
  poked_ = false;
  if (stalled_count_ > 0) retry_stalled();
  progress();
}

void context_cache::progress() {
  again_ = true;
  if (progressing_) return;
  progressing_ = true;
  while (again_) {
    again_ = false;
    if (area_change_ && idle()) settle(*std::exchange(area_change_, nullptr));
    while (!gate_.empty() && !area_change_ && (config_.hit_under_miss || (active_fetches() == 0 && stalled_count_ == 0))) {
      settle(gate_.pop());
    }
  }
  progressing_ = false;
}

process context_cache::fetch(fetch_record& f, write_back* evicted, std::uint64_t operation) {
  co_await queue_.until(f.begin);
  outstanding_.add(1, now());
  outstanding_probe_.set(outstanding_.value(), now());
  if (evicted) {
    co_await write_buffers_.take();
    write(*evicted, now());
  }
  ps t = now();
  f.read.operation = operation;
  f.read.op = dma_op::read;
  f.read.source = dma_source::context;
  f.read.failed = false;
  f.read.bytes = entry_bytes_;
  f.read.address = icm_address(tags_[f.slot] - 1);
  f.read.data = bytes_of(f.slot);
  co_await dma.request(f.read, t);
  co_await landed{queue_, t, f.launching};
  fill(f, t);
}

void context_cache::fill(fetch_record& f, ps t) {
  const std::size_t slot = f.slot;
  drop_record* d = drop_of(tags_[slot] - 1);
  fifo<pending> list = f.waiting.take();
  miss_latency_.add(t - f.begin);
  if (f.read.failed) {
    forget(slot, line_event::fetch_fails);
    if (d) d->slot = nowhere;
  } else {
    on(slot, line_event::fetched);
  }
  const bool failed = f.read.failed;
  free_fetches_.push(f);
  outstanding_.add(-1, t);
  outstanding_probe_.set(outstanding_.value(), t);

  // All requests hold the entry before the first goes on.
  fifo<pending> ready;
  while (!list.empty()) {
    pending& p = list.pop();
    p.t = std::max(p.t, t);
    if (failed) {
      fail(*p.request);
    } else {
      on(slot, line_event::lent);
      lend(*p.request, slot);
    }
    ready.push(p);
  }
  if (d && failed) wake(*d);
  while (!ready.empty()) answer(ready.pop());
  if (stalled_count_ > 0) poke();
  if (area_change_ || !gate_.empty()) progress();
}

process context_cache::write(write_back& w, ps t) {
  w.write.op = dma_op::write;
  w.write.source = dma_source::context;
  w.write.failed = false;
  w.write.bytes = entry_bytes_;
  w.write.address = icm_address(w.index);
  w.write.data = w.bytes.data();
  ++written_back_;
  co_await dma.request(w.write, t);
  write_failures_ += w.write.failed;
  std::erase(writing_, &w);
  write_buffers_.give();
  const fifo<pending> list = w.waiting.take();
  write_backs_.put(w);
  settle_all(list);
  if (area_change_) progress();
}

process context_cache::drop(drop_record& d) {
  struct sleep {
    drop_record& d;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { d.sleeper = h; }
    void await_resume() const {}
  };
  while (d.slot != nowhere && (under_way(slots_[d.slot].life) || slots_[d.slot].pins > 0)) co_await sleep{d};
  ps t = std::max(d.request->t, now());
  co_await queue_.until(t);
  if (d.slot != nowhere && slots_[d.slot].life == line_life::dropping_dirty) {
    d.write.op = dma_op::write;
    d.write.source = dma_source::context;
    d.write.failed = false;
    d.write.bytes = entry_bytes_;
    d.write.address = icm_address(d.index);
    d.write.data = bytes_of(d.slot);
    ++written_back_;
    co_await dma.request(d.write, t);
    co_await landed{queue_, t, d.launching};
    write_failures_ += d.write.failed;
  }
  if (d.slot != nowhere) forget(d.slot, line_event::forgotten);
  pending& p = *std::exchange(d.request, nullptr);
  fifo<pending> list;
  if (p.request->op == context_op::drop) {
    std::erase(dropping_, &d);
    list = d.waiting.take();
    drops_.put(d);
  }
  p.t = std::max(p.t, t);
  answer(p);
  settle_all(list);
  if (stalled_count_ > 0) poke();
  if (area_change_) progress();
}

void context_cache::wake(drop_record& d) {
  if (d.sleeper) queue_.soon(resume(std::exchange(d.sleeper, {})));
}

void context_cache::register_statistics() {
  stats_.add("hits", "1", "fetches answered from the cache at once", hits_);
  stats_.add("misses", "1", "entries read from ICM", misses_);
  stats_.add("merged", "1", "fetches that waited for another one's read of the same entry", merged_);
  stats_.add("evictions", "1", "entries that made room for others", evictions_);
  stats_.add("write_backs", "1", "dirty entries written to ICM", written_back_);
  stats_.add("drops", "1", "entries the command unit had forgotten", dropped_);
  stats_.add("failed", "1", "fetches of an index beyond the area, or whose read failed", failed_);
  stats_.add("write_failures", "1", "write-backs that could not reach ICM; their bytes are lost", write_failures_);
  stats_.add("stalls_no_fetch", "1", "misses that waited for one of the fetches in flight to end", no_fetch_);
  stats_.add("stalls_no_victim", "1", "misses that waited because every entry of the set was held or being fetched",
             no_victim_);
  stats_.add("stalls_write_back", "1", "fetches that waited for the write-back of the same entry", behind_write_);
  cells_.list(stats_);
  stats_.add("miss_latency", "ps", "from the end of the look-up to the entry", miss_latency_);
  stats_.add("outstanding", "1", "fetches in flight", outstanding_);
  stats_.add("waiting", "1", "requests not answered yet", waiting_);
  stats_.ratio("hit_ratio", "hits over all fetches answered with an entry", {&hits_}, {&hits_, &merged_, &misses_});
  stats_.busy_time("port_busy", "time the look-up port was busy", port_);
  stats_.busy_time("write_buffers_busy", "share of `write_buffers` in use, times the time", write_buffers_);
  stats_.wait_time("port_waited", "time requests waited for the look-up port, summed", port_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("index", 32, index_probe_);
  signals_.add("hit", 1, hit_probe_);
  signals_.add("outstanding", 13, outstanding_probe_);
  signals_.add("stalled", 16, waiting_probe_);
}

}  // namespace hcasim
