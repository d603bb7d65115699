# Profile-guided optimisation within one build folder. Programs made with `count` note beside the object files how often each branch
# is taken; `use` compiles by these notes. scripts/take_profile does the first part for the preset `profiled`.
include_guard(GLOBAL)

set(HCASIM_PROFILE "" CACHE STRING "Profile-guided optimisation: count, use, or empty for none")
set_property(CACHE HCASIM_PROFILE PROPERTY STRINGS "" count use)
if(HCASIM_PROFILE STREQUAL "")
  return()
elseif(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "HCASIM_PROFILE needs GCC; the compiler is ${CMAKE_CXX_COMPILER_ID}")
elseif(HCASIM_PROFILE STREQUAL "count")
  add_compile_options(-fprofile-generate)
  add_link_options(-fprofile-generate)
elseif(HCASIM_PROFILE STREQUAL "use")
  add_compile_options(-fprofile-use -Wno-missing-profile -Wno-coverage-mismatch)  # a source may have changed since
else()
  message(FATAL_ERROR "HCASIM_PROFILE is ${HCASIM_PROFILE}; count, use or nothing is meant")
endif()
