#include "tlm/rtl/design.h"

#include <algorithm>
#include <cstring>

#include "tlm/rtl/payload.h"

namespace hcasim::rtl {

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
    throw std::invalid_argument(std::string(name()) + ": " + text + " is no slice of " + port + ", which has " +
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

void design::strap(const std::string& strap_name, std::uint64_t value) const {
  for (const strap_pin& s : straps_) {
    if (s.name != strap_name) continue;
    for (unsigned i = 0; i < s.at->bits; ++i) s.at->set(i, i < 64 && (value >> i & 1));
  }
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
  if (b.bits > payload_bits) {
    throw std::invalid_argument(std::string(name()) + ": bundle '" + b.name + "' has " + std::to_string(b.bits) +
                                " bits, a stream carries at most " + std::to_string(payload_bits));
  }
}

}  // namespace hcasim::rtl
