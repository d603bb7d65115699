# What most C++ sources begin with, compiled once: most of the time goes into the headers of SystemC and GoogleTest. Of each way of
# compiling there is a host, a target of an empty source, which the targets that are compiled like that begin with. Without
# HCASIM_UNITY every source includes what it needs.
include_guard(GLOBAL)

set(HCASIM_BEGIN <systemc> <tlm> <algorithm> <array> <coroutine> <deque> <functional> <map> <memory> <optional> <ostream> <span> <string>
                 <unordered_map> <utility> <vector>)

# ccache leaves alone what begins with precompiled headers, unless it may take them for the text that they were made from. With the
# compiler's list of included files it does not preprocess what it then compiles, and it reads headers of 100 MB once instead of for
# each source: a fifth of the time.
function(hca_cached_although_precompiled target)
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    set_target_properties(${target} PROPERTIES
      CXX_COMPILER_LAUNCHER "env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_DEPEND=1;CCACHE_INODECACHE=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# hca_beginning(NAME HEADERS... [LINK ...] [QUICK])
function(hca_beginning name)
  cmake_parse_arguments(ARG "QUICK" "" "LINK" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/begin_with/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE hcasim_options ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  if(ARG_QUICK)
    hca_compile_quickly(${name})
  endif()
  hca_cached_although_precompiled(${name})
endfunction()

# hca_begin_with(TARGET BEGINNING): nothing for a target of another way of compiling, or with sources in C. In folders that have set
# HCASIM_ON_SYSTEM tests, of which there are many, begin with the headers of whole systems too.
function(hca_begin_with target beginning)
  get_target_property(sources ${target} SOURCES)
  if(HCASIM_ON_SYSTEM AND TARGET ${beginning}_on_system)
    string(APPEND beginning _on_system)
  endif()
  if(HCASIM_UNITY AND NOT sources MATCHES "\\.c(;|$)")
    # GCC 14 refuses headers of another optimisation, which older versions take.
    get_target_property(own ${target} COMPILE_OPTIONS)
    get_target_property(host ${beginning} COMPILE_OPTIONS)
    foreach(of own host)
      string(REGEX MATCH "-Og" ${of} "${${of}}")
    endforeach()
    if(NOT "${own}" STREQUAL "${host}")
      message(FATAL_ERROR "${target} is not optimised as ${beginning}, whose headers it begins with")
    endif()
    target_precompile_headers(${target} REUSE_FROM ${beginning})
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:SystemC::systemc,INTERFACE_COMPILE_DEFINITIONS>)
    hca_cached_although_precompiled(${target})
  endif()
endfunction()

# hca_begin_verilated(TARGET): Verilated code, whose options and definitions are complete. Most of it is small, and so takes longest for
# the headers that it begins with.
function(hca_begin_verilated target)
  if(NOT HCASIM_UNITY)
    return()
  endif()
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(definitions ${target} COMPILE_DEFINITIONS)
  string(MD5 how "${options} ${definitions}")
  set(beginning begin_verilated_${how})
  if(NOT TARGET ${beginning})
    hca_beginning(${beginning} <verilated.h> ${CMAKE_SOURCE_DIR}/tlm/rtl/design.h LINK hcasim_verilated)
    target_compile_options(${beginning} PRIVATE ${options})
    target_compile_definitions(${beginning} PRIVATE ${definitions})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${beginning})
  hca_cached_although_precompiled(${target})
endfunction()

if(HCASIM_UNITY)
  hca_beginning(begin_model ${HCASIM_BEGIN} LINK SystemC::systemc)
  hca_beginning(begin_program ${HCASIM_BEGIN} LINK SystemC::systemc QUICK)
  if(HCASIM_TESTS)
    set(tests ${HCASIM_BEGIN} <gtest/gtest.h> <rapidcheck.h>)
    hca_beginning(begin_test ${tests} LINK SystemC::systemc GTest::gtest rapidcheck QUICK)
    hca_beginning(begin_test_on_system ${tests} ${CMAKE_SOURCE_DIR}/models/system/system.h LINK SystemC::systemc GTest::gtest rapidcheck QUICK)
  endif()
endif()
