// The replacement policies. A new policy is a file NAME.h in this folder with a class `NAME_replacement`. The build finds the
// file, and the tests of the caches take all.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "tlm/base/replacement/all.h"

namespace hcasim {

#define HCASIM_POLICY(name) name,
enum class replacement_policy : std::uint8_t { HCASIM_REPLACEMENT_POLICIES(HCASIM_POLICY) };
#undef HCASIM_POLICY

#define HCASIM_POLICY(name) std::string_view(#name),
inline const std::initializer_list<std::string_view> replacement_policies = {HCASIM_REPLACEMENT_POLICIES(HCASIM_POLICY)};
#undef HCASIM_POLICY

#define HCASIM_POLICY(name) replacement_policy::name,
inline constexpr replacement_policy all_replacement_policies[] = {HCASIM_REPLACEMENT_POLICIES(HCASIM_POLICY)};
#undef HCASIM_POLICY

inline std::unique_ptr<replacement> make_replacement(replacement_policy p, std::uint32_t sets, std::uint32_t ways,
                                                     std::uint64_t seed) {
  switch (p) {
#define HCASIM_POLICY(name)      \
  case replacement_policy::name: \
    return std::make_unique<name##_replacement>(sets, ways, seed);
    HCASIM_REPLACEMENT_POLICIES(HCASIM_POLICY)
#undef HCASIM_POLICY
  }
  return nullptr;
}

}  // namespace hcasim
