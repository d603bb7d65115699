// The function of the system that one of the same name stands in for.
#pragma once

#include <dlfcn.h>

namespace hcasim::preload {

template <class F>
F* next(F* /*like*/, const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace hcasim::preload

#define HCASIM_REAL(f)                                            \
  ([]() -> auto* {                                                \
    static auto* const found = ::hcasim::preload::next(&::f, #f); \
    return found;                                                 \
  }())
