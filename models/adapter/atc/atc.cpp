#include "models/adapter/atc/atc.h"

#include <algorithm>

#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

bool relaxed(const tlm::tlm_generic_payload& p) {
  const auto* extension = p.get_extension<pcie_extension>();
  return extension && extension->relaxed_ordering;
}

}  // namespace

atc::atc(const sc_core::sc_module_name& name, const atc_config& config, const clock_domain& clock, std::uint16_t requester,
         icm_check check)
    : unit(name),
      config_(config),
      clock_(clock),
      requester_(requester),
      cache_(config.entries, config.ways, {12, 21, 30}, config.policy, config.seed),
      cells_({.check = check}),
      groups_(config.page_requests) {
  engine.register_nb_transport_fw(this, &atc::from_engine);
  pcie.register_nb_transport_bw(this, &atc::from_link);
  down.register_nb_transport_fw(this, &atc::from_above);
  down.register_transport_dbg(this, &atc::debug);
  bar.register_nb_transport_bw(this, &atc::from_bar);
  for (std::uint32_t g = config.page_requests; g-- > 0;) free_groups_.push_back(static_cast<std::uint16_t>(g));
  describe();
}

unsigned atc::debug(tlm::tlm_generic_payload& p) {
  return bar->transport_dbg(p);
}

const page_cache::entry* atc::cached(const access& a) {
  page_cache::entry* e = cache_.find(0, a.address);
  if (e && cells_.due() && spoiled(*e)) [[unlikely]] {
    cache_.drop(0, a.address, a.address);
    return nullptr;
  }
  const std::uint64_t needed = a.payload().is_write() ? ats_write : ats_read;
  return e && (e->rights & needed) ? e : nullptr;
}

// A damaged translation must at least lead to a page of memory. A wrong tag that fits its check turns the entry into the
// translation of another page.
bool atc::spoiled(page_cache::entry& e) {
  const auto known = static_cast<std::uint32_t>(e.number);
  std::uint32_t tag = known;
  if (!cells_.read_tag(tag)) return true;
  if (tag != known) {
    const page_cache::entry was = e;
    const std::uint64_t number = was.number ^ known ^ tag;
    cache_.drop(0, was.number << was.shift, was.number << was.shift);
    evictions_ += cache_.put(0, number << was.shift, was.shift, was.value, was.rights);
    return true;
  }
  if (!cells_.read(std::as_writable_bytes(std::span(&e.value, 1)))) return true;
  return e.value >> 48 != 0 || offset_in_page(e.value, e.shift) != 0;
}

tlm::tlm_sync_enum atc::from_engine(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return pcie->nb_transport_fw(p, phase, delay);
  const ps arrived = from_delay(delay);
  const ps start = port_.start(arrived, clock_.cycles(config_.issue_interval));
  const ps t = start + clock_.cycles(config_.hit_latency);
  access& a = accesses_.get();
  a.owner = this;
  a.address = a.physical = p.get_address();
  a.refused = a.tracked = a.in_order = false;
  a.plain = a.known = a.address >> 48 != 0 || (a.address >= msi_window && a.address < msi_window + msi_window_bytes);
  a.arrived = arrived;
  a.looked_up = t;
  a.get_on(p);
  ++bursts_;
  plain_ += a.plain;
  valid_probe_.pulse(1, start, clock_.period());
  address_probe_.set(a.address, start);
  if (order_.empty()) {
    if (!a.plain) {
      if (const page_cache::entry* e = cached(a)) {
        a.physical = e->at(a.address);
        a.known = true;
        ++hits_;
        hit_probe_.pulse(1, t, clock_.period());
      }
    }
    if (a.known) {
      delay = to_delay(t);
      const tlm::tlm_sync_enum status = send(a, phase, delay);
      if (status == tlm::TLM_COMPLETED || phase == tlm::BEGIN_RESP) {
        end(a, from_delay(delay));
        return status;
      }
      phase = tlm::END_REQ;
      delay = to_delay(port_.free_at());
      return tlm::TLM_UPDATED;
    }
  }
  hold(a, t);
  phase = tlm::END_REQ;
  delay = to_delay(port_.free_at());
  return tlm::TLM_UPDATED;
}

void atc::hold(access& a, ps t) {
  const tlm::tlm_generic_payload& p = a.payload();
  held_.push_back(&a);
  held_level_.set(held_.size(), now());
  held_probe_.set(held_.size(), now());
  // A read has to wait for the writes before it, and for nothing else.
  a.in_order = !relaxed(p) && (p.is_write() || !order_.empty());
  if (a.in_order) {
    if (!order_.empty()) ++order_waits_;
    order_.push(a);
  }
  if (a.plain) return pump(t);
  look_up(a, t);
}

void atc::look_up(access& a, ps t) {
  const page_cache::entry* e = cached(a);
  if (!e) return join(a, t);
  ++hits_;
  a.physical = e->at(a.address);
  known(a, t);
}

// The burst is translated or refused. A burst in order waits for its turn.
void atc::known(access& a, ps t) {
  a.known = true;
  if (a.in_order) return pump(t);
  leave(a, t);
}

void atc::pump(ps t) {
  while (!order_.empty()) {
    access& a = order_.front();
    // A read at the front has no write before it.
    if (!a.known && a.payload().is_write()) return;
    order_.pop().in_order = false;
    if (a.known) leave(a, t);
  }
}

// Sends or answers a held burst, not before the end of its lookup: earlier bursts that hit leave first.
void atc::leave(access& a, ps t) {
  std::erase(held_, &a);
  held_level_.set(held_.size(), now());
  held_probe_.set(held_.size(), now());
  wait_time_.add(t - a.arrived);
  t = std::max(t, a.looked_up);
  if (a.refused) return refuse(a, t);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(t);
  tlm::tlm_generic_payload& p = a.payload();
  const tlm::tlm_sync_enum status = send(a, phase, delay);
  if (status != tlm::TLM_COMPLETED && phase != tlm::BEGIN_RESP) return;
  end(a, from_delay(delay));
  phase = tlm::BEGIN_RESP;
  engine->nb_transport_bw(p, phase, delay);
}

tlm::tlm_sync_enum atc::send(access& a, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  tlm::tlm_generic_payload& p = a.payload();
  if (!a.plain) {
    if (auto* extension = p.get_extension<pcie_extension>()) extension->address_type = pcie_address_type::translated;
    p.set_address(a.physical);
    a.tracked = p.is_read() || relaxed(p);
    if (a.tracked) {
      a.slot = tracked_.size();
      a.number = tracked_left_++;
      tracked_.push_back(&a);
    }
  }
  left_until_ = std::max(left_until_, from_delay(delay));
  return pcie->nb_transport_fw(p, phase, delay);
}

// Gives the answered burst back to the engine under its original address.
void atc::end(access& a, ps t) {
  tlm::tlm_generic_payload& p = a.payload();
  p.set_address(a.address);
  if (auto* extension = p.get_extension<pcie_extension>()) extension->address_type = pcie_address_type::untranslated;
  a.get_off();
  if (a.tracked) {
    tracked_[a.slot] = tracked_.back();
    tracked_[a.slot]->slot = a.slot;
    tracked_.pop_back();
    drained(a, t);
  }
  accesses_.put(a);
}

void atc::refuse(access& a, ps t) {
  ++refused_;
  refused_probe_.pulse(1, t, clock_.period());
  a.payload().set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  queue_.at(std::max(t, now()), call_holder<&access::owner, &atc::answer_refused>(a));
}

void atc::answer_refused(access& a) {
  tlm::tlm_generic_payload& p = a.payload();
  end(a, now());
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(now());
  engine->nb_transport_bw(p, phase, delay);
}

tlm::tlm_sync_enum atc::from_link(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  access* a = p.get_extension<access>();
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;  // taken already
  const ps t = from_delay(delay);
  if (a) {
    end(*a, t);
    return engine->nb_transport_bw(p, phase, delay);
  }
  auto& q = static_cast<own_payload&>(p);
  if (q.of) {
    answered(q, t);
  } else {
    message_left(q, t);
  }
  q.release();
  return tlm::TLM_COMPLETED;
}

void atc::describe() {
  stats_.add("bursts", "1", "bursts of the DMA engine", bursts_);
  stats_.add("hits", "1", "bursts whose translation was known", hits_);
  stats_.add("plain", "1", "bursts that are not translated: interrupts, other devices", plain_);
  stats_.add("misses", "1", "pages whose translation was asked for", misses_);
  stats_.add("merged", "1", "bursts that joined another burst's translation request", merged_);
  stats_.add("slot_waits", "1", "translation requests that waited because too many were under way", slot_waits_);
  stats_.add("order_waits", "1", "bursts that waited for a write before them", order_waits_);
  stats_.add("evictions", "1", "translations that made room", evictions_);
  stats_.add("dropped_entries", "1", "translations forgotten by invalidations", dropped_);
  cells_.list(stats_);
  stats_.add("stale_answers", "1", "answers asked for again because an invalidation came meanwhile", stale_);
  stats_.add("invalidations", "1", "ranges that the IOMMU had forgotten", invalidated_);
  stats_.add("drained", "1", "invalidations that waited for reads under way", drains_);
  stats_.add("retranslated", "1", "bursts that an invalidation met before they left", retranslated_);
  stats_.add("page_requests", "1", "page requests sent", page_requests_);
  stats_.add("credit_waits", "1", "page requests that waited for a credit", credit_waits_);
  stats_.add("page_retries", "1", "pages asked for again that were granted, but not there", page_retries_);
  stats_.add("pages_refused", "1", "page requests answered with invalid request", pages_refused_);
  stats_.add("stops", "1", "times that page requests were given up for good", stops_);
  stats_.add("refused", "1", "bursts that failed", refused_);
  const auto translated = [this](ps) { return static_cast<double>(bursts_.value() - plain_.value()); };
  stats_.ratio(
      "hit_ratio", "share of the translated bursts that found their translation",
      [=, this](ps t) { return translated(t) - static_cast<double>(misses_.value() + merged_.value()); }, translated);
  stats_.add("request_time", "ps", "from a translation request to its completion", request_time_);
  stats_.add("page_time", "ps", "from a page request to its answer", page_time_);
  stats_.add("wait_time", "ps", "of bursts that did not go on at once: from their arrival until they left", wait_time_);
  stats_.add("invalidation_time", "ps", "from an invalidation to its completion", invalidation_time_);
  stats_.add("requests_outstanding", "1", "translation requests under way", asking_level_, "requests");
  stats_.add("pages_outstanding", "1", "page requests under way", pages_level_, "pages");
  stats_.add("held", "1", "bursts that wait", held_level_);
  stats_.busy_time("port_busy", "time the look-up port was busy", port_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("address", 64, address_probe_);
  signals_.add("hit", 1, hit_probe_);
  signals_.add("requests", 13, asking_probe_);
  signals_.add("pages", 10, pages_probe_);
  signals_.add("held", 16, held_probe_);
  signals_.add("invalidate", 1, invalidate_probe_);
  signals_.add("refused", 1, refused_probe_);
  signals_.add("stopped", 1, stopped_probe_);
}

}  // namespace hcasim
