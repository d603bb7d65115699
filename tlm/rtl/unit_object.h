// The export of a shared object that holds a user's unit: `hcasim_unit`, which hca_add_unit (cmake/add_unit.cmake) writes. The
// object needs nothing of the program that loads it.
#pragma once

#include <cstdint>

#include "tlm/rtl/design.h"
#include "tlm/rtl/payload.h"

namespace hcasim::rtl {

// Makes a unit with sockets of its own: a completion_maker, a dma_engine_maker (models/adapter/<unit>/<unit>_boundary.h).
using whole_unit_maker = void (*)();

struct unit_object {
  static constexpr std::uint32_t this_version = 3;
  // Changes with the layout of what passes between the two: both must have been compiled with the same headers.
  static constexpr std::uint64_t this_layout =
      sizeof(design) | sizeof(bundle) << 16 | sizeof(pin) << 32 | std::uint64_t{payload_bits} << 48;

  std::uint32_t version;
  std::uint64_t layout;
  const char* kind;  // of the unit in whose place it stands
  const char* name;
  design_factory make;     // a design for the project's shell,
  whole_unit_maker whole;  // or, of a kind without one, the unit itself
  // Why it does not take these knobs of the unit ("ways=8", ..., null), or null: it does. A null pointer: it takes any.
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
#define HCASIM_WHOLE_UNIT_OBJECT(KIND, NAME, MAKE) \
  HCASIM_UNIT_OBJECT_(KIND, NAME, nullptr, reinterpret_cast<hcasim::rtl::whole_unit_maker>(MAKE), nullptr)
// NOLINTEND(cppcoreguidelines-macro-usage)
