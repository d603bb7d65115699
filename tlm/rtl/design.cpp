#include "tlm/rtl/design.h"

#include <algorithm>
#include <cstring>

namespace hcasim::rtl {

// Byte after byte: a port has no more bytes than its bits need, so that nothing beyond is touched.
std::uint32_t pin::part(unsigned first, unsigned n) const {
  const auto* const bytes_at = static_cast<const std::uint8_t*>(at);
  std::uint32_t v = 0;
  for (unsigned done = 0; done < n;) {
    const unsigned bit = low + first + done;
    const unsigned here = std::min(n - done, 8 - bit % 8);
    v |= ((std::uint32_t{bytes_at[bit / 8]} >> bit % 8) & ((1U << here) - 1)) << done;
    done += here;
  }
  return v;
}

void pin::set_part(unsigned first, unsigned n, std::uint32_t v) const {
  auto* const bytes_at = static_cast<std::uint8_t*>(at);
  for (unsigned done = 0; done < n;) {
    const unsigned bit = low + first + done;
    const unsigned here = std::min(n - done, 8 - bit % 8);
    const unsigned mask = ((1U << here) - 1) << bit % 8;
    std::uint8_t& byte = bytes_at[bit / 8];
    byte = static_cast<std::uint8_t>((byte & ~mask) | (v >> done << bit % 8 & mask));
    done += here;
  }
}

field bundle::find(const std::string& field_name) const {
  field f;
  for (std::size_t i = 0; i < names.size(); ++i) {
    f.bits = data[i]->bits;
    if (names[i] == field_name) return f;
    f.at += f.bits;
  }
  return {};
}

const pin* design::find_pin(const std::string& text) {
  const std::size_t bracket = text.find('[');
  const std::string port = text.substr(0, bracket);
  const auto found = std::find_if(pins_.begin(), pins_.end(), [&](const pin& p) { return p.name == port; });
  if (found == pins_.end()) throw std::invalid_argument(std::string(name()) + ": there is no port '" + port + "'");
  if (bracket == std::string::npos) return &*found;
  const std::size_t colon = text.find(':');
  const auto high = static_cast<unsigned>(std::stoul(text.substr(bracket + 1)));
  const unsigned low = colon == std::string::npos ? high : static_cast<unsigned>(std::stoul(text.substr(colon + 1)));
  if (high < low || high >= found->bits) {
    throw std::invalid_argument(std::string(name()) + ": " + text + " is not a slice of " + port + ", which has " +
                                std::to_string(found->bits) + " bits");
  }
  return &slices_.emplace_back(pin{text, high - low + 1, found->output, found->at, low, false});
}

const bundle& design::find(const std::string& bundle_name, bool into, unsigned bits) const {
  const std::string who = std::string(name()) + ": bundle '" + bundle_name + "' ";
  for (const bundle& b : bundles_) {
    if (b.name != bundle_name) continue;
    if (b.into != into)
      throw std::invalid_argument(who + "goes the wrong way: it must lead " + (into ? "into" : "out of") + " the RTL");
    if (bits != 0 && b.bits != bits) {
      throw std::invalid_argument(who + "has " + std::to_string(b.bits) + " bits on " + b.data.front()->name + ", " +
                                  std::to_string(bits) + " are needed");
    }
    return b;
  }
  throw std::invalid_argument(who + "is not among its PINS");
}

bool design::has_bundle(const std::string& bundle_name) const {
  return std::any_of(bundles_.begin(), bundles_.end(), [&](const bundle& b) { return b.name == bundle_name; });
}

void design::check_endpoint(const std::string& endpoint_name, const std::string& kind, bool into) const {
  const std::string who = std::string(name()) + ": endpoint '" + endpoint_name + "' ";
  const auto found =
      std::find_if(endpoints_.begin(), endpoints_.end(), [&](const endpoint_pins& e) { return e.name == endpoint_name; });
  if (found == endpoints_.end()) throw std::invalid_argument(who + "is not among its PINS");
  const bool alike = found->kind == kind || (kind == "axi4" && found->kind == "axi_lite");
  if (!alike) throw std::invalid_argument(who + "is of kind " + found->kind + ", not " + kind);
  if (found->into != into) {
    const bool one_way = kind == "axis" || kind == "tlp";
    throw std::invalid_argument(
        who + (into      ? one_way ? "is a source: the RTL must take there" : "is a master: the RTL must be a slave there"
               : one_way ? "is a sink: the RTL must send there"
                         : "is a slave: the RTL must be a master there"));
  }
}

const pin& design::find_side(const std::string& side_name, bool output) const {
  const std::string who = std::string(name()) + ": side '" + side_name + "' ";
  for (const named_pin& s : sides_) {
    if (s.name != side_name) continue;
    if (s.at->output != output)
      throw std::invalid_argument(who + "is port " + s.at->name + ", an " + (output ? "input" : "output"));
    return *s.at;
  }
  throw std::invalid_argument(who + "is not among its PINS");
}

unsigned design::find_clock(const std::string& port) const {
  for (unsigned n = 0; n < clocks_.size(); ++n) {
    if (clocks_[n].at->name == port) return n;
  }
  throw std::invalid_argument(std::string(name()) + ": clock '" + port + "' is not among its PINS");
}

bool design::has_reset_of(unsigned of_clock) const {
  return std::any_of(resets_.begin(), resets_.end(), [&](const reset_pin& r) { return r.clock == static_cast<int>(of_clock); });
}

void design::strap(const std::string& strap_name, std::uint64_t value) const {
  for (const named_pin& s : straps_) {
    if (s.name != strap_name) continue;
    for (unsigned i = 0; i < s.at->bits; ++i) s.at->set(i, i < 64 && (value >> i & 1));
  }
}

void design::let_fall(const char* valid) {
  for (bundle& b : bundles_) b.falls |= b.valid->name == valid;
}

void design::add_bundle(bundle form, const char* bundle_name, const char* valid, const char* ready,
                        std::initializer_list<const char*> data, const char* credit) {
  bundle& b = bundles_.emplace_back(std::move(form));
  b.name = bundle_name;
  b.valid = find_pin(valid);
  b.ready = *ready ? find_pin(ready) : nullptr;
  b.credit = *credit ? find_pin(credit) : nullptr;
  for (const char* d : data) {
    b.data.push_back(find_pin(d));
    b.bits += b.data.back()->bits;
  }
}

}  // namespace hcasim::rtl
