// The common part of AXI4 and AXI-Lite ports of RTL, and the attributes of a burst that a generic payload cannot carry.
//
// PINS of hca_add_rtl: "axi4 NAME = PATTERN" takes the channels aw, w, b, ar and r with those of the signals below that the RTL
// has, "axi_lite NAME = PATTERN" those of AXI-Lite.
#pragma once

#include "tlm/base/kernel.h"
#include "tlm/rtl/stream.h"

namespace hcasim::rtl {

// AWBURST and ARBURST.
enum class axi_kind : std::uint8_t { fixed, incrementing, wrapping, reserved };
// BRESP and RRESP.
enum class axi_response : std::uint8_t { okay, exokay, slverr, decerr };
// No burst crosses this many bytes; an exclusive access has at most that many.
inline constexpr std::uint64_t axi_boundary = 4096;
inline constexpr std::uint64_t axi_exclusive_bytes = 128;

// Rides on the generic payload; a target that does not know it may ignore it. The payload alone says which bytes an access
// reads or writes: a WRAP burst is an access of the bytes that it wraps in, a FIXED one has a streaming width.
struct axi_extension : tlm::tlm_extension<axi_extension> {
  bool wrap = false;            // a WRAP burst
  std::uint64_t first = 0;      // where it begins
  unsigned beat_bytes = 0;      // beats narrower than the bus; 0 = as wide as it is
  bool exclusive = false;       // AxLOCK
  bool exclusive_done = false;  // answered EXOKAY; filled in by the target
  std::uint32_t id = 0;         // of the master that asks; a target with ids chooses its own
  std::uint8_t cache = 0, prot = 0, qos = 0, region = 0;
  std::uint64_t user = 0;

  [[nodiscard]] tlm_extension_base* clone() const override { return new axi_extension(*this); }
  void copy_from(const tlm_extension_base& other) override { *this = static_cast<const axi_extension&>(other); }
};

// Places of the signals of AW or AR.
struct axi_address_fields {
  field id, addr, len, size, burst, lock, cache, prot, qos, region, user;

  axi_address_fields() = default;
  explicit axi_address_fields(const stream* s);
};

// Returns a field; `otherwise` if it is not there.
[[nodiscard]] inline std::uint64_t get_field(const payload& p, field f, std::uint64_t otherwise = 0) {
  return f ? p.get(f.at, f.bits) : otherwise;
}
inline void set_field(payload& p, field f, std::uint64_t v) {
  if (f) p.set(f.at, f.bits, v);
}
[[nodiscard]] inline unsigned log_of(unsigned power) {
  unsigned n = 0;
  while (power >> (n + 1)) ++n;
  return n;
}

}  // namespace hcasim::rtl
