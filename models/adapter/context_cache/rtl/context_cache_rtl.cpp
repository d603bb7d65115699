#include "models/adapter/context_cache/rtl/context_cache_rtl.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

std::uint64_t entries_of(const context_request& r) {
  return std::min<std::uint64_t>(r.area_entries, ~std::uint32_t{0});
}

}  // namespace

context_cache_rtl::context_cache_rtl(const sc_core::sc_module_name& name, const context_cache_config& config,
                                     const clock_domain& clock, unsigned clients, const rtl::design_factory& make,
                                     const rtl::shell_options& options, std::uint32_t bytes)
    : shell(name, clock, make, options),
      bytes_(bytes),
      req_(into("req", tag_bits + 130)),
      rsp_(out_of("rsp", tag_bits + slot_bits + 8 * bytes + 1)),
      rel_(into("rel", slot_bits + 8 * bytes + 1)),
      rd_req_(out_of("rd_req", fetch_bits + 64)),
      rd_rsp_(into("rd_rsp", fetch_bits + 8 * bytes + 1)),
      wr_req_(out_of("wr_req", tag_bits + 8 * bytes + 65)),
      wr_rsp_(into("wr_rsp", tag_bits + 1)),
      lines_(slots) {
  const auto demand = [](bool ok, const char* knob, const char* value) { built_for("context_cache", ok, knob, value); };
  demand(config.sets == 64, "sets", "64");
  demand(config.ways == 4, "ways", "4");
  demand(config.policy == replacement_policy::lru, "policy", "lru");
  demand(config.hit_latency == 2, "hit_latency", "2 cycles");
  demand(config.issue_interval == 1, "issue_interval", "1 cycle");
  demand(config.fetches == fetches, "fetches", "16");
  demand(config.write_buffers == 4, "write_buffers", "4");
  demand(!config.write_changes, "write_changes", "false");
  demand(config.second_sets == 0, "second_sets", "0");
  demand(config.hit_under_miss, "hit_under_miss", "true");
  for (unsigned i = 0; i < tags; ++i) free_tags_.push_back(static_cast<std::uint8_t>(i));
  const auto prepare = [this](auto& transfers) {
    for (unsigned i = 0; i < transfers.size(); ++i) {
      transfer& d = transfers[i];
      d.self = this;
      d.number = i;
      d.data = d.buffer.data();
      call_on_response<&transfer::self, &context_cache_rtl::on_response>(d, d);
    }
  };
  prepare(reads_);
  prepare(writes_);
  for (unsigned i = 0; i < clients; ++i)
    in.emplace_back(("in_" + std::to_string(i)).c_str()).on<&context_cache_rtl::handle>(this);

  rel_.on_transfer = [this](const rtl::payload&, std::uint64_t cookie, ps t) {
    released(cookie & 0xffff, static_cast<std::uint32_t>(cookie >> 32), cookie >> 16 & 1, t);
  };
  req_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { owe(1); };
  rd_rsp_.on_transfer = wr_rsp_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { await(-1); };
  rsp_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { answer(p, t); };
  rd_req_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    ++misses_;
    start(reads_[p.get(64, fetch_bits)], dma_op::read, p.get(0, 64), t);
  };
  stall_by(rd_req_, [](const rtl::payload& p) { return rtl::of_address(p.get(0, 64)); });
  stall_by(wr_req_, [this](const rtl::payload& p) { return rtl::of_address(p.get(8 * bytes_, 64)); });
  wr_req_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    ++written_back_;
    rtl::reader r(p);
    transfer& d = writes_[p.get(8 * bytes_ + 64, tag_bits + 1)];
    r.bytes(d.buffer.data(), bytes_);
    start(d, dma_op::write, r.get(64), t);
  };
  describe();
}

tlm::tlm_sync_enum context_cache_rtl::handle(context_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) {
    give_back(r, t);
    return tlm::TLM_COMPLETED;
  }
  if (r.op == context_op::give) {
    give(r.index, t);
    return tlm::TLM_COMPLETED;
  }
  arrive(r, t);
  return tlm::TLM_ACCEPTED;
}

// Another area, and the requests behind, wait until all lent entries are given back.
bool context_cache_rtl::may_wait() const {
  return awaited() > 0 && std::any_of(tagged_.begin(), tagged_.end(),
                                      [](const context_request* r) { return r && r->op == context_op::set_area; });
}

void context_cache_rtl::arrive(context_request& r, ps t) {
  const bool area = r.op == context_op::set_area;
  const auto taken = std::find_if(taken_.begin(), taken_.end(), [&r](const taken_entry& e) { return e.index == r.index; });
  if (!area && taken != taken_.end()) {
    taken->behind.push_back({&r, t});
    return;
  }
  if (r.op != context_op::take) return pass_on(r, t);
  taken_.push_back({r.index, {}, &r, t});
  ask_for(taken_.back(), t);
}

// A take goes to the RTL when every earlier fetch has been answered: in the RTL a drop passes a fetch that waits for room.
void context_cache_rtl::ask_for(taken_entry& e, ps t) {
  if (!e.asks || being_fetched(e.index)) return;
  pass_on(*std::exchange(e.asks, nullptr), std::max(e.t, t));
}

bool context_cache_rtl::being_fetched(std::uint32_t index) const {
  const auto fetches_it = [index](const context_request* r) { return r && r->op == context_op::fetch && r->index == index; };
  const auto waits_for_it = [&](const waiting_request& w) { return fetches_it(w.request); };
  return std::any_of(tagged_.begin(), tagged_.end(), fetches_it) || std::any_of(behind_.begin(), behind_.end(), waits_for_it) ||
         std::any_of(after_release_.begin(), after_release_.end(), waits_for_it);
}

bool context_cache_rtl::any_taken() const {
  return std::any_of(taken_.begin(), taken_.end(), [](const taken_entry& e) { return !e.asks; });
}

void context_cache_rtl::pass_on(context_request& r, ps t) {
  const bool area = r.op == context_op::set_area;
  if (area ? !after_release_.empty() || any_taken() : area_behind_ || being_released(r.index)) {
    area_behind_ |= area;
    after_release_.push_back({&r, t});
  } else {
    accept(r, t);
  }
}

void context_cache_rtl::give(std::uint32_t index, ps t) {
  const auto taken = std::find_if(taken_.begin(), taken_.end(), [index](const taken_entry& e) { return e.index == index; });
  if (taken == taken_.end()) return;
  const std::deque<waiting_request> behind = std::move(taken->behind);
  taken_.erase(taken);
  for (const waiting_request& w : behind) arrive(*w.request, std::max(w.t, t));
  resume(t);
}

void context_cache_rtl::accept(context_request& r, ps t) {
  if (free_tags_.empty() || !behind_.empty()) {
    behind_.push_back({&r, t});
    waiting_.set(behind_.size(), t);
  } else {
    enter(r, t);
  }
}

void context_cache_rtl::released(std::uint64_t slot, std::uint32_t index, bool dirty, ps t) {
  --lines_[slot].holders;
  await(-1);
  if (!dirty) return;
  being_released_.erase(std::find(being_released_.begin(), being_released_.end(), index));
  resume(t);
}

// A request goes on when its entry has been given back. Another area, and the requests behind, go on when all requests before
// have gone on.
void context_cache_rtl::resume(ps t) {
  std::deque<waiting_request> still;
  area_behind_ = false;
  for (const waiting_request& w : std::exchange(after_release_, {})) {
    const bool area = w.request->op == context_op::set_area;
    if (area_behind_ || (area ? !still.empty() || any_taken() : being_released(w.request->index))) {
      area_behind_ |= area;
      still.push_back(w);
    } else {
      accept(*w.request, std::max(w.t, t));
    }
  }
  after_release_ = std::move(still);
}

bool context_cache_rtl::being_released(std::uint32_t index) const {
  return std::find(being_released_.begin(), being_released_.end(), index) != being_released_.end();
}

void context_cache_rtl::enter(context_request& r, ps t) {
  const unsigned tag = free_tags_.front();
  free_tags_.pop_front();
  tags_probe_.set(tags - free_tags_.size(), t);
  valid_probe_.pulse(1, t, clock().period());
  index_probe_.set(r.index, t);
  tagged_[tag] = &r;
  arrived_[tag] = t;
  rtl::payload p;
  rtl::writer(p)
      .put(static_cast<std::uint64_t>(r.op == context_op::take ? context_op::drop : r.op), 2)
      .put(r.index, 32)
      .put(r.area_base, 64)
      .put(entries_of(r), 32)
      .put(tag, tag_bits);
  push(req_, p, t);
}

void context_cache_rtl::give_back(context_request& r, ps t) {
  if (!r.entry) return;
  const auto slot = static_cast<std::uint64_t>(reinterpret_cast<line*>(r.entry) - lines_.data());
  rtl::payload p;
  rtl::writer(p).bytes(r.entry, bytes_).put(slot, slot_bits).put(r.dirty, 1);
  r.entry = nullptr;
  --pinned_;
  if (r.dirty) being_released_.push_back(r.index);
  push(rel_, p, t, slot | std::uint64_t{r.dirty} << 16 | std::uint64_t{r.index} << 32);
}

void context_cache_rtl::answer(const rtl::payload& p, ps t) {
  const std::uint64_t slot = p.get(8 * bytes_, slot_bits);
  const bool failed = p.get(8 * bytes_ + slot_bits, 1);
  const auto tag = static_cast<unsigned>(p.get(8 * bytes_ + 1 + slot_bits, tag_bits));
  context_request* const r = tagged_[tag];
  if (!r) return violation("stream rsp answers tag " + std::to_string(tag) + ", which is not in use");
  owe(-1);
  tagged_[tag] = nullptr;
  free_tags_.push_back(static_cast<std::uint8_t>(tag));
  tags_probe_.set(tags - free_tags_.size(), t);
  r->failed = failed;
  if (r->op == context_op::fetch) {
    latency_.add(t - arrived_[tag]);
    r->dirty = false;
    r->entry = nullptr;
    if (failed) {
      ++failed_;
      r->area_entries = area_entries_;
    } else {
      line& l = lines_[slot];
      if (l.holders++ == 0) rtl::reader(p).bytes(l.bytes.data(), bytes_);
      r->entry = l.bytes.data();
      ++fetched_;
      ++pinned_;
      await(1);
    }
    for (taken_entry& e : taken_) {
      if (e.index == r->index) ask_for(e, t);
    }
  } else if (r->op == context_op::set_area) {
    area_base_ = r->area_base;
    area_entries_ = entries_of(*r);
  } else {
    dropped_ += r->index < area_entries_;
    if (r->op == context_op::take && r->index >= area_entries_) give(r->index, t);  // there is nothing to take
  }
  if (!behind_.empty()) {
    const waiting_request w = behind_.front();
    behind_.pop_front();
    waiting_.set(behind_.size(), t);
    enter(*w.request, std::max(w.t, t));
  }
  target_socket<context_request>::respond(*r, t);
}

void context_cache_rtl::start(transfer& d, dma_op op, std::uint64_t address, ps t) {
  await(1);
  d.operation = 0;
  for (const context_request* r : tagged_) {
    const bool missed = r && r->op == context_op::fetch && area_base_ + std::uint64_t{r->index} * bytes_ == address;
    if (missed && op == dma_op::read) d.operation = r->operation;
  }
  d.op = op;
  d.source = dma_source::context;
  d.failed = false;
  d.bytes = bytes_;
  d.address = address;
  if (dma.send(d, t) == tlm::TLM_COMPLETED) on_response(d, t);
}

void context_cache_rtl::on_response(transfer& d, ps t) {
  rtl::payload p;
  if (d.op == dma_op::read) {
    rtl::writer(p).bytes(d.buffer.data(), bytes_).put(d.failed, 1).put(d.number, fetch_bits);
    push(rd_rsp_, p, t, 0, rtl::of_address(d.address));
  } else {
    write_failures_ += d.failed;
    rtl::writer(p).put(d.number, tag_bits + 1);
    push(wr_rsp_, p, t, 0, rtl::of_address(d.address));
  }
}

void context_cache_rtl::describe() {
  stats_.add("fetched", "1", "fetches answered with an entry", fetched_);
  stats_.add("misses", "1", "entries read from ICM", misses_);
  stats_.add("write_backs", "1", "dirty entries written to ICM", written_back_);
  stats_.add("write_failures", "1", "write-backs that could not reach ICM; their bytes are lost", write_failures_);
  stats_.add("failed", "1", "fetches of an index beyond the area, or whose read failed", failed_);
  stats_.add("drops", "1", "entries the command unit had forgotten", dropped_);
  stats_.add("latency", "ps", "from a fetch to its answer, hits included", latency_);
  stats_.add("waiting", "1", "requests that wait for a tag", waiting_);
  stats_.ratio(
      "hit_ratio", "fetches that needed no read of their own over all that were answered with an entry",
      [this](ps) { return static_cast<double>(fetched_.value()) - static_cast<double>(misses_.value()); },
      [this](ps) { return static_cast<double>(fetched_.value()); });
  stats_.total("rtl_cycles", "1", "clock edges that the RTL was given", [this](ps) { return static_cast<double>(cycles()); });
  signals_.add("valid", 1, valid_probe_);
  signals_.add("index", 32, index_probe_);
  signals_.add("in_flight", 6, tags_probe_);
}

}  // namespace hcasim
