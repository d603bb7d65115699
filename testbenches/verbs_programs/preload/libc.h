// The system's own function, for which the library's function of the same name stands in.
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
