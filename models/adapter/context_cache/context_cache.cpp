#include "models/adapter/context_cache/context_cache.h"

namespace hcasim {

context_cache::context_cache(const sc_core::sc_module_name& name, const context_cache_config& config, const clock_domain& clock,
                             std::uint32_t entry_bytes, unsigned clients, const cell_protection& protection)
    : unit(name),
      config_(config),
      hit_latency_(clock.cycles(config.hit_latency)),
      port_{{}, clock.cycles(config.issue_interval), clock.period()},
      lines_(config_, entry_bytes),
      icm_(dma, entry_bytes, counters_),
      pending_(config_, port_, {admission_, fetches_}, counters_, shown_),
      second_(config_, entry_bytes),
      writes_(config.write_buffers, {lines_, second_, icm_, pending_}, counters_),
      drops_(lines_, icm_, pending_, counters_),
      fetches_(config.fetches, clock.cycles(config.second_latency), {lines_, second_, icm_, writes_, drops_, pending_},
               counters_, shown_),
      cells_(protection, {lines_, icm_, writes_, drops_}),
      admission_({lines_, second_, icm_, pending_, writes_, drops_, fetches_, cells_}, counters_) {
  for (unsigned i = 0; i < clients; ++i) {
    in.emplace_back(("in_" + std::to_string(i)).c_str()).on<&context_cache::handle>(this);
  }
  counters_.list(stats_, second_.there());
  cells_.faults().list(stats_);
  counters_.list_levels(stats_);
  stats_.busy_time("port_busy", "time the look-up port was busy", port_.turns);
  stats_.busy_time("write_buffers_busy", "share of `write_buffers` in use, times the time", writes_.buffers());
  stats_.wait_time("port_waited", "time requests waited for the look-up port, summed", port_.turns);
  shown_.list(signals_);
}

[[gnu::always_inline]] inline void context_cache::give_back(context_request& r) {
  if (!r.entry) return;
  const std::size_t slot = lines_.take_back(r);
  if (slot != cache_lines::nowhere && (leaving(lines_.life(slot)) || pending_.wants_room())) [[unlikely]] {
    on_release(slot);
  }
}

tlm::tlm_sync_enum context_cache::handle(context_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) {
    give_back(r);
    return tlm::TLM_COMPLETED;
  }
  const ps start = port_.turns.start(t, port_.interval);
  t = start + hit_latency_;
  shown_.valid.pulse(1, start, port_.cycle);
  shown_.index.set(r.index, start);
  if (r.op == context_op::fetch && !pending_.gated()) [[likely]] {
    const std::size_t slot = lines_.find(r.index);
    if (slot != cache_lines::nowhere && may_be_lent(lines_.life(slot))) [[likely]] {
      if (cells_.spoiled(slot)) [[unlikely]] {
        return slow(r, t);
      }
      lines_.lend(r, slot);
      ++counters_.hits;
      shown_.hit.pulse(1, t, port_.cycle);
      return tlm::TLM_COMPLETED;
    }
  }
  return slow(r, t);
}

tlm::tlm_sync_enum context_cache::slow(context_request& r, ps& t) {
  if (r.op == context_op::give) {  // a give passes every waiting request
    drops_.give(r.index);
    return tlm::TLM_COMPLETED;
  }
  return pending_.take(r, t) ? tlm::TLM_COMPLETED : tlm::TLM_ACCEPTED;
}

void context_cache::on_release(std::size_t slot) {
  if (leaving(lines_.life(slot))) drops_.on_release(lines_.index_of(slot));
  pending_.on_release();
}

}  // namespace hcasim
