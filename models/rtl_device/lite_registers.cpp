#include "models/rtl_device/lite_registers.h"

#include <stdexcept>
#include <string>
#include <utility>

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

lite_registers::lite_registers(const sc_core::sc_module_name& name, rtl::open_shell& of, std::uint64_t bytes)
    : sc_module(name),
      shell_(of),
      word_(word_of(of.design())),
      address_bits_(bits_of(of.design(), "reg_aw", true)),
      aw_(of.into("reg_aw", address_bits_)),
      w_(of.into("reg_w", 9 * word_)),
      ar_(of.into("reg_ar", address_bits_)) {
  if (address_bits_ < 64 && bytes > std::uint64_t{1} << address_bits_)
    throw std::invalid_argument(std::string(of.name()) + ".bar: " + std::to_string(bytes) + " bytes, and bundle 'reg_aw' has " +
                                std::to_string(address_bits_) + " bits of address");
  bar.register_nb_transport_fw(this, &lite_registers::begin);
  of.out_of("reg_b", 2).on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    word_done(static_cast<unsigned>(p.get(0, 2)), t);
  };
  of.out_of("reg_r", 8 * word_ + 2).on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { read(p, t); };
}

tlm::tlm_sync_enum lite_registers::begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const ps t = from_delay(delay);
  accesses_.push_back(&p);
  if (accesses_.size() == 1) next_word(t);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

std::uint64_t lite_registers::word_at() const {
  return (accesses_.front()->get_address() + moved_) / word_ * word_;
}

void lite_registers::next_word(ps t) {
  const tlm::tlm_generic_payload& a = *accesses_.front();
  const std::uint64_t word = word_at();
  rtl::payload address;
  rtl::writer(address).put(word, address_bits_);
  shell_.owe(1);
  if (!a.is_write()) {
    ++reads;
    return shell_.push(ar_, address, t);
  }
  ++writes;
  rtl::payload data;
  for (unsigned i = 0; i < word_; ++i) {
    const std::uint64_t at = word + i - a.get_address();
    if (at >= a.get_data_length()) continue;
    data.set(8 * i, 8, a.get_data_ptr()[at]);
    data.set(8 * word_ + i, 1, 1);
  }
  shell_.push(aw_, address, t);
  shell_.push(w_, data, t);
}

void lite_registers::read(const rtl::payload& p, ps t) {
  if (!accesses_.empty()) {
    const tlm::tlm_generic_payload& a = *accesses_.front();
    const std::uint64_t word = word_at();
    for (unsigned i = 0; i < word_; ++i) {
      const std::uint64_t at = word + i - a.get_address();  // wraps below the first byte
      if (at < a.get_data_length()) a.get_data_ptr()[at] = static_cast<unsigned char>(p.get(8 * i, 8));
    }
  }
  word_done(static_cast<unsigned>(p.get(8 * word_, 2)), t);
}

void lite_registers::word_done(unsigned response, ps t) {
  if (accesses_.empty()) return shell_.violation("an answer of its registers without a request");
  shell_.owe(-1);
  tlm::tlm_generic_payload& a = *accesses_.front();
  if (response != 0) {
    ++errors;
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
