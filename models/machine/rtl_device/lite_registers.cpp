#include "models/machine/rtl_device/lite_registers.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace hcasim {

// An endpoint names its signals; of a bundle the second one is a ninth of a byte, the strobe, or two bits, the response of a
// read.
lite_registers::channel lite_registers::find(rtl::open_shell& of, const char* name, bool into, const char* first,
                                             const char* second) {
  const bool endpoint = of.design().has_bundle(std::string("reg.") + name);
  const std::string bundle = (endpoint ? "reg." : "reg_") + std::string(name);
  rtl::stream& s = into ? of.into(bundle.c_str(), 0) : of.out_of(bundle.c_str(), 0);
  if (endpoint) return {s, s.find(first), s.find(second)};
  const unsigned rest = *second == 's' ? s.bits() / 9 : *second == 'r' ? 2 : 0;
  return {s, {0, s.bits() - rest}, {s.bits() - rest, rest}};
}

lite_registers::lite_registers(const sc_core::sc_module_name& name, rtl::open_shell& of)
    : sc_module(name),
      shell_(of),
      aw_(find(of, "aw", true, "addr", "")),
      w_(find(of, "w", true, "data", "strb")),
      b_(find(of, "b", false, "resp", "")),
      ar_(find(of, "ar", true, "addr", "")),
      r_(find(of, "r", false, "data", "resp")),
      word_(w_.first.bits / 8) {
  const std::string who = std::string(of.design().name()) + ": registers: ";
  if (w_.first.bits != 32 && w_.first.bits != 64)
    throw std::invalid_argument(who + w_.s.name() + " has " + std::to_string(w_.first.bits) +
                                " data bits, AXI-Lite has 32 or 64");
  if (r_.first.bits != w_.first.bits || (w_.second && w_.second.bits != word_))
    throw std::invalid_argument(who + w_.s.name() + " has " + std::to_string(w_.s.bits()) + " bits, " + r_.s.name() + " has " +
                                std::to_string(r_.s.bits()) + ": data, strobes and responses do not fit together");
  bar.register_nb_transport_fw(this, &lite_registers::begin);
  b_.s.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    word_done(b_.first ? static_cast<unsigned>(p.get(b_.first.at, b_.first.bits)) : 0, t);
  };
  r_.s.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { read(p, t); };
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

bool lite_registers::reaches(std::uint64_t word) const {
  const tlm::tlm_generic_payload& a = *accesses_.front();
  const unsigned bits = (a.is_write() ? aw_ : ar_).first.bits;
  if (bits < 64 && word >> bits != 0) return false;
  const bool whole = word >= a.get_address() && word + word_ <= a.get_address() + a.get_data_length();
  return !a.is_write() || whole || w_.second;
}

void lite_registers::next_word(ps t) {
  const tlm::tlm_generic_payload& a = *accesses_.front();
  const std::uint64_t word = word_at();
  ++(a.is_write() ? writes : reads);
  if (!reaches(word)) return end_word(3, t);
  const channel& asked = a.is_write() ? aw_ : ar_;
  rtl::payload address;
  address.set(asked.first.at, asked.first.bits, word);
  shell_.owe(1);
  if (!a.is_write()) return shell_.push(ar_.s, address, t);
  rtl::payload data;
  for (unsigned i = 0; i < word_; ++i) {
    const std::uint64_t at = word + i - a.get_address();
    if (at >= a.get_data_length()) continue;
    data.set(w_.first.at + 8 * i, 8, a.get_data_ptr()[at]);
    if (w_.second) data.set(w_.second.at + i, 1, 1);
  }
  shell_.push(aw_.s, address, t);
  shell_.push(w_.s, data, t);
}

void lite_registers::read(const rtl::payload& p, ps t) {
  if (!accesses_.empty()) {
    const tlm::tlm_generic_payload& a = *accesses_.front();
    const std::uint64_t word = word_at();
    for (unsigned i = 0; i < word_; ++i) {
      const std::uint64_t at = word + i - a.get_address();  // wraps below the first byte
      if (at < a.get_data_length()) a.get_data_ptr()[at] = static_cast<unsigned char>(p.get(r_.first.at + 8 * i, 8));
    }
  }
  word_done(r_.second ? static_cast<unsigned>(p.get(r_.second.at, 2)) : 0, t);
}

void lite_registers::word_done(unsigned response, ps t) {
  if (accesses_.empty()) return shell_.violation("an answer of its registers without a request");
  shell_.owe(-1);
  end_word(response, t);
}

void lite_registers::end_word(unsigned response, ps t) {
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
