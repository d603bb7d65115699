// The export of a shared object with a user's unit: `hcasim_unit`, written by hca_add_unit (cmake/add_unit.cmake). The object
// needs nothing of the loading program.
#pragma once

#include <cstdint>

#include "tlm/rtl/design.h"
#include "tlm/rtl/payload.h"

namespace hcasim::rtl {

// Makes a unit with sockets of its own. `Maker`: completion_maker, dma_engine_maker (models/adapter/<unit>/<unit>_boundary.h).
struct whole_unit {
  virtual ~whole_unit() = default;
};
template <class Maker>
struct whole_unit_of final : whole_unit {
  explicit whole_unit_of(Maker m) : make(m) {}
  Maker make;
};

struct unit_object {
  static constexpr std::uint32_t this_version = 5;
  // Changes with the layout of types passed between the two: both must have been compiled with the same headers.
  static constexpr std::uint64_t this_layout =
      sizeof(design) | sizeof(bundle) << 16 | sizeof(pin) << 32 | std::uint64_t{payload_bits} << 48;

  std::uint32_t version;
  std::uint64_t layout;
  const char* kind;  // kind of the replaced unit
  const char* name;
  design_factory make;      // a design for the project's shell,
  const whole_unit* whole;  // or, of a kind without one, the unit itself
  // Returns why the unit refuses these knobs ("ways=8", ..., null); null = accepted. A null `refuses` = it accepts any.
  const char* (*refuses)(const char* const* knobs);
};

}  // namespace hcasim::rtl

// NOLINTBEGIN(cppcoreguidelines-macro-usage): an exported function has a linkage that no template has
#define HCASIM_UNIT_OBJECT_(KIND, NAME, MAKE, WHOLE, REFUSES)                                                             \
  extern "C" [[gnu::visibility("default")]] const hcasim::rtl::unit_object* hcasim_unit() {                               \
    static const hcasim::rtl::unit_object exported{                                                                       \
        hcasim::rtl::unit_object::this_version, hcasim::rtl::unit_object::this_layout, KIND, NAME, MAKE, WHOLE, REFUSES}; \
    return &exported;                                                                                                     \
  }
#define HCASIM_UNIT_OBJECT(KIND, NAME, MAKE, REFUSES) HCASIM_UNIT_OBJECT_(KIND, NAME, MAKE, nullptr, REFUSES)
#define HCASIM_WHOLE_UNIT_OBJECT(KIND, NAME, MAKE)            \
  static const hcasim::rtl::whole_unit_of hcasim_whole{MAKE}; \
  HCASIM_UNIT_OBJECT_(KIND, NAME, nullptr, &hcasim_whole, nullptr)
// NOLINTEND(cppcoreguidelines-macro-usage)
