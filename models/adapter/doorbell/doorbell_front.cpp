#include "models/adapter/doorbell/doorbell_front.h"

#include <cstring>

#include "tlm/base/border.h"
#include "tlm/pcie.h"

namespace hcasim {

using doorbell_rules::area;

doorbell_front::doorbell_front(const doorbell_config& config, const clock_domain& clock)
    : bar("bar"), register_latency_(clock.cycles(config.register_latency)) {
  bar.register_nb_transport_fw(this, &doorbell_front::nb_access);
  bar.register_b_transport(this, &doorbell_front::b_access);
  own(bar);
  control.on<&doorbell_front::on_control>(this);
}

void doorbell_front::set(pages& of, std::uint32_t number, std::uint16_t page) {
  if (number / block >= of.size()) of.resize(number / block + 1);
  std::vector<std::uint16_t>& here = of[number / block];
  if (here.empty()) here.assign(block, no_page);
  here[number % block] = page;
}

tlm::tlm_sync_enum doorbell_front::on_control(doorbell_control& c, tlm::tlm_phase, ps&) {
  set(c.of_cq ? cq_pages_ : qp_pages_, c.number, c.open ? static_cast<std::uint16_t>(c.uar) : no_page);
  if (!c.open) stopped(c.of_cq, c.number);
  return tlm::TLM_COMPLETED;
}

// A doorbell without a queue is judged by the units behind.
bool doorbell_front::of_owner(std::uint64_t page, const doorbell_rules::uar_write& w) const {
  const bool is_bell = w.is.what == doorbell_rules::target::bell;
  if (is_bell && w.is.kind == bell::event) return page == page_of_events;
  const pages& of = is_bell && w.is.kind == bell::completion ? cq_pages_ : qp_pages_;
  const std::uint32_t number = number_of(w);
  if (number == 0) return true;
  return number / block < of.size() && !of[number / block].empty() && of[number / block][number % block] == page;
}

tlm::tlm_sync_enum doorbell_front::nb_access(tlm::tlm_generic_payload& gp, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) b_access(gp, delay);
  return tlm::TLM_COMPLETED;
}

void doorbell_front::b_access(tlm::tlm_generic_payload& gp, sc_core::sc_time& delay) {
  const ps at = now();
  ps t = at;
  access(gp, t);
  delay += to_sc(t - at);
}

void doorbell_front::access(tlm::tlm_generic_payload& gp, ps& t) {
  const std::uint64_t offset = gp.get_address();
  const std::uint64_t bytes = gp.get_data_length();
  auto* const data = reinterpret_cast<std::byte*>(gp.get_data_ptr());
  if (gp.get_byte_enable_ptr()) {
    gp.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    return;
  }
  gp.set_response_status(tlm::TLM_OK_RESPONSE);
  switch (doorbell_rules::area_of(offset, bytes)) {
    case area::control:
      return access_register(gp, command, t);
    case area::msix:
      return access_register(gp, msix, t);
    case area::device_memory:
      return access_register(gp, device_memory, t);
    case area::uar:
      if (monitor_ && gp.is_write()) [[unlikely]] {
        monitor_->uar_written(offset - HCA_BAR_UAR, data, bytes, t);
      }
      if (gp.is_write()) {
        const auto* const extension = gp.get_extension<pcie_extension>();
        const doorbell_rules::uar_write w(static_cast<std::uint32_t>(offset % HCA_UAR_PAGE), data, bytes,
                                          extension ? extension->operation : 0);
        if (of_owner((offset - HCA_BAR_UAR) / HCA_UAR_PAGE, w)) return write_uar(w, t);
        ++foreign_;
        return;
      }
      ++bad_reads_;
      std::memset(data, 0, bytes);
      t += register_latency_;
      return;
    case area::none:
      ++(gp.is_write() ? bad_writes_ : bad_reads_);
      gp.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
  }
}

void doorbell_front::access_register(tlm::tlm_generic_payload& gp, initiator_socket<register_access>& owner, ps& t) {
  const unsigned bytes = gp.get_data_length();
  const std::uint64_t offset = gp.get_address();
  if ((bytes != 4 && bytes != 8) || offset % 4 != 0) {
    ++(gp.is_write() ? bad_writes_ : bad_reads_);
    gp.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  ++register_accesses_;
  register_access a;
  a.offset = static_cast<std::uint32_t>(offset);
  a.bytes = bytes;
  a.write = gp.is_write();
  if (a.write) {
    std::memcpy(&a.value, gp.get_data_ptr(), bytes);
  }
  ps done = t;
  owner.access(a, done);
  if (a.write) return;
  t = done + register_latency_;
  std::memcpy(gp.get_data_ptr(), &a.value, bytes);
}

void doorbell_front::describe_front(statistics& s) {
  s.add("blueflame_wqes", "1", "WQEs taken by BlueFlame", blueflame_wqes_);
  s.add("blueflame_lines", "1", "64 B lines of these", blueflame_lines_);
  s.add("blueflame_refused", "1", "BlueFlame WQEs taken as plain doorbells: too large, or no room", blueflame_refused_);
  s.add("blueflame_bad", "1", "BlueFlame writes that hold no whole WQE", blueflame_bad_);
  s.add("coalesced", "1", "SQ doorbells merged with one of the same QP that was waiting", coalesced_);
  s.add("dropped", "1", "SQ and RQ doorbells dropped because the FIFO was full", dropped_count_);
  s.add("recovered", "1", "doorbell records read back and rung", recovered_);
  s.add("recovery_failures", "1", "records that could not be read: no such QP, or no record", recovery_failures_);
  s.add("aside", "1", "CQ and EQ doorbells that waited beside the full FIFO", aside_count_);
  s.add("bad_writes", "1", "writes that are no doorbell and no register", bad_writes_);
  s.add("foreign", "1",
        "doorbells rung through another UAR page than that of their queue, or of queues that were never started", foreign_);
  s.add("bad_reads", "1", "reads of addresses that cannot be read", bad_reads_);
  s.add("register_accesses", "1", "reads and writes of control registers and the MSI-X table", register_accesses_);
}

}  // namespace hcasim
