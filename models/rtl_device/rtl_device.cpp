#include "models/rtl_device/rtl_device.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace hcasim {
namespace {

// Bits of a bundle, whatever they are.
unsigned bits_of(const rtl::design& d, const char* bundle, bool into) {
  return d.find(bundle, into, 0).bits;
}

unsigned word_of(const rtl::design& d) {
  const unsigned bits = bits_of(d, "reg_w", true) / 9 * 8;
  if (bits != 32 && bits != 64)
    throw std::invalid_argument(std::string(d.name()) + ": bundle 'reg_w' has " + std::to_string(bits_of(d, "reg_w", true)) +
                                " bits, an AXI-Lite slave of 32 or 64 data bits has 36 or 72");
  return bits / 8;
}

}  // namespace

rtl_device::rtl_device(const sc_core::sc_module_name& name, const rtl_device_config& config, const rtl::chosen& what,
                       std::uint16_t requester, const pcie_limits& limits)
    : shell(name, clock_domain(config.clock), what.make, what.options),
      config_(config),
      word_(word_of(design())),
      address_bits_(bits_of(design(), "reg_aw", true)),
      reg_aw_(into("reg_aw", address_bits_)),
      reg_w_(into("reg_w", 9 * word_)),
      reg_b_(out_of("reg_b", 2)),
      reg_ar_(into("reg_ar", address_bits_)),
      reg_r_(out_of("reg_r", 8 * word_ + 2)) {
  if (!std::has_single_bit(config.bar)) throw std::invalid_argument(std::string(this->name()) + ".bar: is no power of two");
  if (address_bits_ < 64 && config.bar > std::uint64_t{1} << address_bits_)
    throw std::invalid_argument(std::string(this->name()) + ".bar: " + std::to_string(config.bar) +
                                " bytes, and bundle 'reg_aw' has " + std::to_string(address_bits_) + " bits of address");
  if (!design().has_bundle("rd_req.t")) {
    axi_ = std::make_unique<rtl::axi_master>("bus", *this, rtl::axi_master_options{.endpoint = "m0", .requester = requester});
  } else {
    rtl::tlp_master_options o;
    o.max_payload = static_cast<unsigned>(limits.payload);
    o.max_read_request = static_cast<unsigned>(limits.read_request);
    o.completion_boundary = static_cast<unsigned>(limits.completion_boundary);
    o.requester = requester;
    tlps_ = std::make_unique<rtl::tlp_master>("bus", *this, o);
    strap("requester", requester);
  }
  bar.register_nb_transport_fw(this, &rtl_device::begin);
  reg_b_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { word_done(static_cast<unsigned>(p.get(0, 2)), t); };
  reg_r_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    const tlm::tlm_generic_payload& a = *accesses_.front();
    const std::uint64_t word = word_at();
    for (unsigned i = 0; i < word_; ++i) {
      const std::uint64_t at = word + i - a.get_address();  // wraps below the first byte
      if (at < a.get_data_length()) a.get_data_ptr()[at] = static_cast<unsigned char>(p.get(8 * i, 8));
    }
    word_done(static_cast<unsigned>(p.get(8 * word_, 2)), t);
  };
  stats_.add("register_reads", "1", "words read from its registers", register_reads_);
  stats_.add("register_writes", "1", "words written to its registers", register_writes_);
  stats_.add("register_errors", "1", "register accesses that it refused", register_errors_);
  stats_.total("bursts", "1", "bursts of its AXI master, or its requests by TLPs",
               [this](ps) { return static_cast<double>(bursts()); });
  stats_.total("rtl_cycles", "1", "clock edges that the RTL was given", [this](ps) { return static_cast<double>(cycles()); });
}

rtl_device::~rtl_device() {
  rtl::write_coverage(design(), config_.of_rtl, name());
}

tlm::tlm_initiator_socket<64>& rtl_device::memory() {
  if (axi_) return axi_->memory;
  return tlps_->memory;
}

std::uint64_t rtl_device::bursts() const {
  return axi_ ? axi_->bursts() : tlps_->requests();
}

tlm::tlm_sync_enum rtl_device::begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const ps t = from_delay(delay);
  accesses_.push_back(&p);
  if (accesses_.size() == 1) next_word(t);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

std::uint64_t rtl_device::word_at() const {
  return (accesses_.front()->get_address() + moved_) / word_ * word_;
}

void rtl_device::next_word(ps t) {
  const tlm::tlm_generic_payload& a = *accesses_.front();
  const std::uint64_t word = word_at();
  rtl::payload address;
  rtl::writer(address).put(word, address_bits_);
  owe(1);
  if (!a.is_write()) {
    ++register_reads_;
    return push(reg_ar_, address, t);
  }
  ++register_writes_;
  rtl::payload data;
  for (unsigned i = 0; i < word_; ++i) {
    const std::uint64_t at = word + i - a.get_address();
    if (at >= a.get_data_length()) continue;
    data.set(8 * i, 8, a.get_data_ptr()[at]);
    data.set(8 * word_ + i, 1, 1);
  }
  push(reg_aw_, address, t);
  push(reg_w_, data, t);
}

void rtl_device::word_done(unsigned response, ps t) {
  if (accesses_.empty()) return violation("an answer of its registers that nobody asked for");
  owe(-1);
  tlm::tlm_generic_payload& a = *accesses_.front();
  if (response != 0) {
    ++register_errors_;
    status_ = response == 3 ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE;
  }
  moved_ = static_cast<unsigned>(word_at() + word_ - a.get_address());
  if (moved_ < a.get_data_length()) return next_word(t);
  moved_ = 0;
  a.set_response_status(std::exchange(status_, tlm::TLM_OK_RESPONSE));
  accesses_.pop_front();
  if (!accesses_.empty()) next_word(t);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(t);
  bar->nb_transport_bw(a, phase, delay);
}

}  // namespace hcasim
