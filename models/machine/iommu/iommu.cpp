#include "models/machine/iommu/iommu.h"

#include <algorithm>
#include <cstring>

#include "tlm/access.h"
#include "tlm/base/delegate.h"

namespace hcasim {

iommu::iommu(const sc_core::sc_module_name& name, const iommu_config& config, std::uint64_t registers)
    : unit(name),
      config_(config),
      base_(registers),
      requesters_(IOMMU_CONTEXTS),
      tlb_(config.entries, config.ways, {12, 21, 30}, config.policy, config.seed) {
  devices.register_nb_transport_fw(this, &iommu::from_device);
  devices.register_transport_dbg(this, &iommu::device_debug);
  messages.register_nb_transport_fw(this, &iommu::message);
  cpu.register_nb_transport_fw(this, &iommu::from_cpu);
  cpu.register_transport_dbg(this, &iommu::cpu_debug);
  mmio.register_nb_transport_bw(this, &iommu::to_cpu);
  for (std::uint32_t i = 0; i < IOMMU_CONTEXTS; ++i) requesters_[i].id = i;
  if (config.node_entries != 0) {
    for (const unsigned shift : {21U, 30U, 39U}) {
      nodes_.emplace_back(config.node_entries, config.node_entries,
                          std::initializer_list<std::uint8_t>{static_cast<std::uint8_t>(shift)}, config.policy,
                          config.seed + shift);
    }
  }
  sc_core::sc_spawn_options on_timer;
  on_timer.spawn_method();
  on_timer.dont_initialize();
  on_timer.set_sensitivity(&device_invalidations_.timer);
  sc_core::sc_spawn([this] { device_invalidations_.expire(); }, sc_core::sc_gen_unique_name("tag_timer"), &on_timer);
  describe();
}

iommu::requester& iommu::requester_of(const tlm::tlm_generic_payload& p) {
  const auto* extension = p.get_extension<pcie_extension>();
  return requesters_[extension ? extension->requester % IOMMU_CONTEXTS : 0];
}

tlm::tlm_sync_enum iommu::from_device(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return memory->nb_transport_fw(p, phase, delay);
  const auto* extension = p.get_extension<pcie_extension>();
  const bool plain =
      !extension || (extension->address_type == pcie_address_type::untranslated && extension->message == pcie_message::none);
  if (!translating_) {
    if (plain) return memory->nb_transport_fw(p, phase, delay);
    p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  const ps arrived = std::max(from_delay(delay), now());
  const ps start = port_.start(arrived, config_.issue_interval);
  const ps t = start + config_.hit_latency;
  valid_probe_.pulse(1, start, config_.issue_interval);
  address_probe_.set(p.get_address(), start);
  requester& r = requesters_[extension ? extension->requester % IOMMU_CONTEXTS : 0];
  if (!plain) return from_ats_device(r, p, *extension, delay, t, arrived);
  ++bursts_;
  hold(r, p, false, t, arrived);
  return tlm::TLM_ACCEPTED;
}

// Interrupt messages are not translated, but keep their place in order.
tlm::tlm_sync_enum iommu::message(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ || !translating_) return interrupts->nb_transport_fw(p, phase, delay);
  const ps arrived = std::max(from_delay(delay), now());
  const ps t = port_.start(arrived, config_.issue_interval) + config_.hit_latency;
  hold(requester_of(p), p, true, t, arrived);
  return tlm::TLM_ACCEPTED;
}

void iommu::hold(requester& r, tlm::tlm_generic_payload& p, bool is_message, ps t, ps arrived) {
  const auto* extension = p.get_extension<pcie_extension>();
  const bool relaxed = extension && extension->relaxed_ordering && !is_message;
  access& a = accesses_.get();
  a = {};
  a.payload = &p;
  a.owner = this;
  a.from = &r;
  a.message = is_message;
  a.known = is_message;
  if (extension && !is_message) {
    a.type = extension->address_type;
    a.control = extension->message;
  }
  a.address = p.get_address();
  a.sequence = sequence_++;
  a.ready = t;
  a.arrived = arrived;
  held_.push_back(&a);
  waiting_.set(held_.size(), now());
  waiting_probe_.set(held_.size(), now());
  // A read has to wait for the writes before it, and for nothing else.
  a.in_order = !relaxed && (p.is_write() || !r.order.empty());
  if (a.in_order) {
    if (!r.order.empty() && !r.order.front().known) ++order_waits_;
    r.order.push(a);
  }
  if (!is_message) return look_up(a, t);
  if (a.in_order) {
    pump(r, t);
  } else {
    resume_access(a, t);
  }
}

void iommu::look_up(access& a, ps t) {
  requester& r = *a.from;
  if (r.state == context_state::unknown || r.state == context_state::loading) {
    r.no_context.push_back(&a);
    if (r.state == context_state::unknown) {
      r.state = context_state::loading;
      load_context(r, t);
    }
    return;
  }
  if (answer_from_cache(a)) {
    hit_probe_.pulse(a.fault == IOMMU_FAULT_NONE, t, config_.issue_interval);
    return known(a, t);
  }
  join_walk(a, t);
}

// False = a walk is needed.
bool iommu::answer_from_cache(access& a) {
  const requester& r = *a.from;
  const tlm::tlm_generic_payload& p = *a.payload;
  const bool asks = a.type == pcie_address_type::translation_request;
  if (asks || a.type == pcie_address_type::translated || a.control != pcie_message::none) {
    if (!r.ats || (a.control == pcie_message::page_request && !r.pages)) {
      a.fault = IOMMU_FAULT_ATS;
      return true;
    }
    a.physical = a.address;
    if (!asks) return true;
  }
  if (r.state == context_state::pass) {
    ++passed_;
    a.physical = a.address;
    return true;
  }
  if (r.state == context_state::absent) {
    a.fault = IOMMU_FAULT_CONTEXT;
    return true;
  }
  if (!asks && (a.address & 0xfff) + p.get_data_length() > 0x1000) {
    a.fault = IOMMU_FAULT_CROSSES;
    return true;
  }
  if (a.address >> 48 != 0) {
    a.physical = 0;
    if (!asks) a.fault = IOMMU_FAULT_NOT_MAPPED;
    return true;
  }
  const page_cache::entry* e = tlb_.find(r.id, a.address);
  if (!e) return false;
  if (!(e->rights & needed_by(a))) return false;  // the right may be new: look at the table
  ++hits_;
  a.physical = asks ? ats_entry(e->value, e->shift, e->rights) : e->at(a.address);
  return true;
}

// The access is translated or refused. An access in order waits for its turn.
void iommu::known(access& a, ps t) {
  a.known = true;
  a.ready = std::max(a.ready, t);
  if (a.in_order) return pump(*a.from, t);
  resume_access(a, t);
}

void iommu::pump(requester& r, ps t) {
  // A read at the front has no write before it.
  while (!r.order.empty() && !r.order.front().known && r.order.front().payload->is_read()) r.order.pop().in_order = false;
  if (r.order.empty() || !r.order.front().known || r.order.front().going) return;
  resume_access(r.order.front(), t);  // and stays first until it has gone
}

// Answers of held accesses come from the queue of events, never from inside the call that brought them.
void iommu::resume_access(access& a, ps t) {
  a.going = true;
  a.ready = std::max({a.ready, t, now()});
  queue_.at(a.ready, call_holder<&access::owner, &iommu::answer>(a));
}

void iommu::answer(access& a) {
  tlm::tlm_generic_payload& p = *a.payload;
  const bool is_message = a.message;
  requester& r = *a.from;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  if (a.fault != IOMMU_FAULT_NONE) {
    record_fault(a);
    p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  } else if (is_message) {
    interrupts->nb_transport_fw(p, phase, delay);
  } else if (a.control != pcie_message::none) {
    p.set_response_status(tlm::TLM_OK_RESPONSE);
    take_message(r, *p.get_extension<pcie_extension>(), a.address);
  } else if (a.type == pcie_address_type::translation_request) {
    std::memcpy(p.get_data_ptr(), &a.physical, sizeof a.physical);
    p.set_response_status(tlm::TLM_OK_RESPONSE);
  } else {
    p.set_address(a.physical);
    memory->nb_transport_fw(p, phase, delay);
  }
  wait_time_.add(now() - a.arrived);
  std::erase(held_, &a);
  waiting_.set(held_.size(), now());
  waiting_probe_.set(held_.size(), now());
  const bool first = a.in_order;
  if (first) r.order.pop();
  accesses_.put(a);
  if (first) pump(r, now());
  if (draining_ && !older_than(drain_before_)) queue_.soon(resume(std::exchange(draining_, {})));
  phase = tlm::BEGIN_RESP;
  (is_message ? messages : devices)->nb_transport_bw(p, phase, delay);
}

void iommu::record_fault(const access& a) {
  fault_log_.record(a.fault, a.from->id, a.address, a.payload->is_write(), config_.hit_latency);
}

bool iommu::older_than(std::uint64_t sequence) const {
  return !held_.empty() && held_.front()->sequence < sequence;
}

// Untimed accesses take the same way through the tables.
unsigned iommu::device_debug(tlm::tlm_generic_payload& p) {
  const requester& r = requester_of(p);
  if (!translating_ || r.state == context_state::pass) return memory->transport_dbg(p);
  if (r.state != context_state::translated) return 0;
  const std::uint64_t address = p.get_address();
  std::uint64_t node = r.root;
  for (unsigned level = IOMMU_LEVELS; level-- > 0;) {
    const unsigned shift = 12 + IOMMU_PTE_BITS * level;
    std::uint64_t e = 0;
    tlm::tlm_generic_payload look;
    set_access(look, tlm::TLM_READ_COMMAND, node + (address >> shift) % 512 * 8, &e, sizeof e);
    memory->transport_dbg(look);
    if (!(e & (IOMMU_PTE_READ | IOMMU_PTE_WRITE))) return 0;
    node = e & IOMMU_PTE_ADDRESS;
    if (level != 0 && !(e & IOMMU_PTE_LARGE)) continue;
    p.set_address(node | offset_in_page(address, shift));
    const unsigned n = memory->transport_dbg(p);
    p.set_address(address);
    return n;
  }
  return 0;
}

}  // namespace hcasim
