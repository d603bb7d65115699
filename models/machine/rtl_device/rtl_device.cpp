#include "models/machine/rtl_device/rtl_device.h"

#include <bit>
#include <stdexcept>
#include <string>

namespace hcasim {

rtl_device::rtl_device(const sc_core::sc_module_name& name, const rtl_device_config& config, const rtl::chosen& what,
                       const pcie_function& is)
    : open_shell(name, clock_domain(config.clock), what.make, what.options) {
  if (!std::has_single_bit(config.bar)) throw std::invalid_argument(std::string(this->name()) + ".bar: is not a power of two");
  const bool requests_by_tlps = design().has_bundle("rd_req.t");
  const bool registers_by_tlps = design().has_bundle("rx_req.t");
  if (requests_by_tlps) {
    rtl::tlp_master_options o;
    o.max_payload = static_cast<unsigned>(is.payload);
    o.max_read_request = static_cast<unsigned>(is.read_request);
    o.completion_boundary = static_cast<unsigned>(is.completion_boundary);
    o.requester = is.requester;
    tlps_ = std::make_unique<rtl::tlp_master>("bus", *this, o);
  } else {
    axi_ =
        std::make_unique<rtl::axi_master>("bus", *this, rtl::axi_master_options{.endpoint = "m0", .requester = is.requester});
  }
  if (registers_by_tlps) {
    rtl::tlp_completer_options o;
    o.max_payload = static_cast<unsigned>(is.payload);
    o.completer = is.requester;
    o.base = is.bar;
    completer_ = std::make_unique<rtl::tlp_completer>("registers", *this, o);
  } else {
    lite_ = std::make_unique<lite_registers>("registers", *this);
  }
  if (requests_by_tlps || registers_by_tlps) strap("requester", is.requester);
  const auto add = [this](const char* statistic, const char* text, auto of_lite, auto of_tlps) {
    stats_.total(statistic, "1", text, [this, of_lite, of_tlps](ps) {
      return static_cast<double>(lite_ ? (lite_.get()->*of_lite).value() : (completer_.get()->*of_tlps)());
    });
  };
  add("register_reads", "words read from its registers, by TLPs requests", &lite_registers::reads, &rtl::tlp_completer::reads);
  add("register_writes", "words written to its registers, by TLPs requests", &lite_registers::writes,
      &rtl::tlp_completer::writes);
  add("register_errors", "register accesses that it refused", &lite_registers::errors, &rtl::tlp_completer::errors);
  stats_.total("bursts", "1", "bursts of its AXI master, or its requests by TLPs",
               [this](ps) { return static_cast<double>(bursts()); });
  stats_.total("rtl_cycles", "1", "clock edges that the RTL was given", [this](ps) { return static_cast<double>(cycles()); });
}

rtl_device::~rtl_device() = default;

tlm::tlm_initiator_socket<64>& rtl_device::memory() {
  if (axi_) return axi_->memory;
  return tlps_->memory;
}

tlm::tlm_target_socket<64>& rtl_device::bar() {
  if (lite_) return lite_->bar;
  return completer_->memory;
}

std::uint64_t rtl_device::bursts() const {
  return axi_ ? axi_->bursts() : tlps_->requests();
}

}  // namespace hcasim
