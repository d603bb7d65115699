#include "tlm/rtl/design.h"

#include <algorithm>
#include <cstring>

namespace hcasim::rtl {

const pin* design::find_pin(const std::string& pin_name) const {
  for (const pin& p : pins_) {
    if (p.name == pin_name) return &p;
  }
  throw std::invalid_argument(std::string(name()) + ": there is no port '" + pin_name + "'");
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
    if (s.name == strap_name) std::memcpy(s.at->at, &value, std::min(s.at->bytes(), 8U));
  }
}

void design::add_bundle(const char* bundle_name, bool into, const char* valid, const char* ready, bool busy,
                        std::initializer_list<const char*> data, const char* credit, unsigned credits) {
  bundle b;
  b.name = bundle_name;
  b.into = into;
  b.valid = find_pin(valid);
  b.ready = *ready ? find_pin(ready) : nullptr;
  b.busy = busy;
  b.credit = *credit ? find_pin(credit) : nullptr;
  b.credits = credits;
  for (const char* d : data) {
    b.data.push_back(find_pin(d));
    b.bits += b.data.back()->bits;
  }
  bundles_.push_back(b);
}

}  // namespace hcasim::rtl
