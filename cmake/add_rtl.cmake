# hca_add_rtl(NAME name TOP module SOURCES files... PINS bundles...
#             [FILELISTS files...] [INCLUDE_DIRS folders...] [DEFINES A=1 ...] [PARAMETERS N=4 ...]
#             [WARNINGS errors|show|off] [VERILATOR_ARGS ...] [INTERFACE known] [MUTATIONS file | MUTANTS all|N] [WAVES | INSTRUMENTED]
#             [LOADED target])
#
# Verilates a unit and wraps it as a design that the shells of tlm/rtl drive: the library `name`, and a header "rtl/<name>.h" with
#   std::unique_ptr<hcasim::rtl::design> hcasim::rtl::make_<name>();
#
# SOURCES and FILELISTS: one of them at least; paths in a file list are relative to it. What Verilator has read, included files
# too, is looked at by each build. WARNINGS of Verilator are errors unless they are to be shown, or off. VERILATOR_ARGS go to
# Verilator as they are.
#
# PINS, one of these a string:
#   "clock PORT [period=N/M] [phase=N/M]"   the first one is that of the shell; periods and phases of others are in periods of it
#   "reset PORT [active_low] [clock=PORT]"  (any number)
#   "idle PORT"   "strap NAME PORT" (an input that is constant)   "side NAME PORT" (an input or output that is looked at by name)
#   "in  BUNDLE valid=PORT ready=PORT data=PORT[,PORT...] [fifo] [clock=PORT]"          into the RTL
#   "out BUNDLE valid=PORT ready=PORT data=PORT[,PORT...] [fifo] [late] [clock=PORT]"   out of it
#   "axi4|axi_lite|axis|tlp NAME = PREFIX*SUFFIX[I/N] [CHANNEL.SIGNAL=PORT...] [clock=PORT]"   all ports of an endpoint
# A PORT may be a slice: bus[7:4], flags[2]. A payload that lies on several ports is named from its lowest bits up; without data=
# there is none. `ready=` left out: always ready. `ready=!PORT`: the port says that it is busy or full; `valid=!PORT`: that it
# has nothing. Instead of ready=PORT a bundle may say credit=PORT credits=N: the receiver gives back a credit with every cycle that
# PORT is high. A request that a pulse begins and a pulse ends has credits=1.
# fifo: our side is high only in a cycle in which the other one is (wr_en and full, rd_en and empty). late: data follows a cycle
# after it was taken.
# An endpoint takes the ports that are called as AXI has it (awaddr, tdata), of TLPs hdr, data, strb, sop, eop and the like, between PREFIX and SUFFIX, in small or large letters, and
# [I/N] of each the Ith of N equal slices; its direction is that of its valid. CHANNEL (aw, w, b, ar, r; t) .SIGNAL names another.
# {A,B} in PREFIX or SUFFIX means either, as in s_axi_*{_i,_o}.
# INTERFACE (key_check, context_cache, qpc_cache, page_walker, doorbell, completion, memory_port) has every bundle of that unit checked
# here: that it is there, its direction and its width; device an AXI master m0, or TLPs rd_req, wr_req and cpl, and
# registers by AXI-Lite (`axi_lite reg = PATTERN`, or bundles reg_aw, reg_w, reg_b, reg_ar, reg_r), or by TLPs rx_req and tx_cpl.
#
# WAVES adds waveforms and assertions. INSTRUMENTED adds these and coverage (lines, toggles, cover properties), which takes longest to
# compile. MUTATIONS builds every seeded fault of a file into one design; `mutate`
# chooses which one is active. MUTANTS builds in faults of SOURCES that are made mechanically, all or N, evenly spread.
#
# LOADED (within hcasim): the design is a shared object, `name`.so of the folder designs, and the library `name` loads it when it
# makes the first one. The target that builds it is `parts`, for what a run may need, or `covered`, for coverage alone. Programs and
# libraries are built without it.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/rtl_advice.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/rtl_verilate.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/rtl_faults.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/add_unit.cmake)

function(hca_add_rtl)
  cmake_parse_arguments(ARG "WAVES;INSTRUMENTED" "NAME;TOP;INTERFACE;MUTATIONS;MUTANTS;WARNINGS;LOADED"
                        "SOURCES;FILELISTS;INCLUDE_DIRS;DEFINES;PINS;PARAMETERS;VERILATOR_ARGS" ${ARGN})
  foreach(needed NAME TOP PINS)
    if(NOT ARG_${needed})
      message(FATAL_ERROR "hca_add_rtl(${ARG_NAME}): ${needed} is missing")
    endif()
  endforeach()
  if(NOT ARG_SOURCES AND NOT ARG_FILELISTS)
    message(FATAL_ERROR "hca_add_rtl(${ARG_NAME}): SOURCES is missing, or FILELISTS")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hca_add_rtl(${ARG_NAME}): not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  set(waves 0)
  set(coverage 0)
  if(ARG_WAVES OR ARG_INSTRUMENTED)
    set(waves 1)
  endif()
  if(ARG_INSTRUMENTED)
    set(coverage 1)
  endif()
  hca_find_verilator()
  set(name ${ARG_NAME})
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.rtl)
  file(MAKE_DIRECTORY ${dir}/rtl)

  hca_rtl_paths(sources "source" ${ARG_SOURCES})
  hca_rtl_paths(lists "file list" ${ARG_FILELISTS})
  hca_rtl_paths(includes "include folder" ${ARG_INCLUDE_DIRS})

  if(DEFINED HCASIM_VERILATED AND NOT HCASIM_VERILATED)
    hca_leave_out_design(${name} ${dir} ${ARG_TOP} "${ARG_INTERFACE}" "${ARG_LOADED}")
    return()
  endif()
  set(mutants 0)
  set(list_of_mutants)
  set(arguments --cc --make cmake --top-module ${ARG_TOP} --prefix V${name} --Mdir ${dir} -O3 --x-assign fast --x-initial unique)
  if(ARG_MUTATIONS)
    hca_mutate("${ARG_MUTATIONS}" ${dir} sources mutants)
    list(APPEND arguments -Wno-fatal -Wno-lint -Wno-style -Wno-UNOPTFLAT)
  elseif(ARG_MUTANTS)
    hca_make_mutants(${name} "${ARG_MUTANTS}" ${dir} sources mutants)
    set(list_of_mutants "#include \"mutants/mutants.inc\"")
    # Loops are unrolled as they are without the faults.
    list(APPEND arguments -Wno-fatal -Wno-lint -Wno-style -Wno-UNOPTFLAT --unroll-stmts 1000000)
  elseif(ARG_WARNINGS STREQUAL "off")
    list(APPEND arguments -Wno-fatal -Wno-lint -Wno-style -Wno-UNOPTFLAT)
  elseif(ARG_WARNINGS STREQUAL "show")
    list(APPEND arguments -Wall -Wno-fatal -Wno-DECLFILENAME)
  elseif(NOT ARG_WARNINGS OR ARG_WARNINGS STREQUAL "errors")
    list(APPEND arguments -Wall -Wno-DECLFILENAME)
  else()
    message(FATAL_ERROR "hca_add_rtl(${name}): WARNINGS ${ARG_WARNINGS} is none of errors, show, off")
  endif()
  if(waves)
    list(APPEND arguments --trace --assert)
  endif()
  if(coverage)
    list(APPEND arguments --coverage-line --coverage-toggle --coverage-user)
  endif()
  foreach(parameter IN LISTS ARG_PARAMETERS)
    list(APPEND arguments -G${parameter})
  endforeach()
  foreach(define IN LISTS ARG_DEFINES)
    list(APPEND arguments -D${define})
  endforeach()
  foreach(folder IN LISTS includes)
    list(APPEND arguments -I${folder})
  endforeach()
  foreach(list IN LISTS lists)
    list(APPEND arguments -F ${list})
  endforeach()
  hca_rtl_readable(${name} "${sources}" "${ARG_VERILATOR_ARGS}")
  hca_verilate(${name} ${dir} "${arguments};${ARG_VERILATOR_ARGS}" "${sources}" "${lists}")

  hca_rtl_whole(whole)
  if(coverage)
    set(whole "the design is INSTRUMENTED")
  elseif(waves)
    set(whole "the design has WAVES")
  endif()
  set(threads 1)
  if(ARG_VERILATOR_ARGS MATCHES "--threads[; ]([0-9]+)")
    set(threads ${CMAKE_MATCH_1})
  endif()
  hca_host_program(wrapper hcasim_wrap tlm/rtl/wrap)
  execute_process(COMMAND ${wrapper} ${name} ${ARG_TOP} ${dir} ${CMAKE_CURRENT_FUNCTION_LIST_DIR} "interface=${ARG_INTERFACE}" "threads=${threads}"
                          "mutants=${mutants}" "list=${list_of_mutants}" "waves=${waves}" "coverage=${coverage}" "whole=${whole}" ${ARG_PINS}
                  OUTPUT_VARIABLE way ERROR_VARIABLE said RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "hca_add_rtl(${name}): ${said}")
  endif()
  hca_rtl_tell_way(${name} "${way}")

  # Names alone: newer versions escape folders with letters beyond ASCII in a way that CMake does not read.
  file(READ ${dir}/V${name}.cmake generated)
  string(REGEX MATCHALL "/V${name}[A-Za-z0-9_]*\\.cpp" fast_sources "${generated}")
  list(TRANSFORM fast_sources PREPEND ${dir})
  set(slow_sources ${fast_sources})
  list(FILTER slow_sources INCLUDE REGEX "(__Slow|__Syms|__ConstPool_[0-9]+)\\.cpp$")
  list(REMOVE_ITEM fast_sources ${slow_sources})
  # Slow paths (construction, reset, dumps) are quick to compile, with instrumentation or faults the fast ones too. Verilator's many small
  # sources make one each: most of the time would go into its headers.
  set(fast -O3 $<$<CXX_COMPILER_ID:GNU>:--param=max-combine-insns=2>)  # wide expressions take GCC most of its time to combine
  if(waves OR ARG_MUTATIONS OR ARG_MUTANTS)
    set(fast -Og)
  endif()
  if(HCASIM_SANITIZE)
    set(fast -O0)  # clang takes a minute for a design, for a few hundred cycles in all
  endif()
  set(code ${name})
  if(ARG_LOADED)
    set(code ${name}_code)
  endif()
  add_library(${code}_slow OBJECT ${slow_sources})
  add_library(${code} STATIC ${fast_sources} ${dir}/${name}_design.cpp $<TARGET_OBJECTS:${code}_slow>)
  target_compile_options(${code}_slow PRIVATE -O0 -w)
  target_compile_options(${code} PRIVATE ${fast} -w)  # generated code has warnings of its own
  foreach(part ${code} ${code}_slow)
    if(ARG_LOADED OR COMMAND hca_begin_verilated)  # within hcasim: one way of compiling for all
      target_compile_options(${part} PRIVATE -fPIC -fvisibility=hidden)
    endif()
    target_include_directories(${part} PUBLIC $<BUILD_INTERFACE:${dir}>)
    target_link_libraries(${part} PUBLIC hcasim_rtl hcasim_verilated)
    set_target_properties(${part} PROPERTIES EXCLUDE_FROM_ALL ON EXPORT_COMPILE_COMMANDS OFF UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_compile_definitions(${part} PRIVATE VM_TRACE=${waves} VM_TRACE_VCD=${waves} VM_COVERAGE=${coverage})
    if(COMMAND hca_begin_verilated)  # within hcasim
      hca_begin_verilated(${part})
    endif()
  endforeach()
  if(ARG_LOADED)
    hca_add_loader(${name} ${dir} ${ARG_LOADED})
    hca_add_object(${name} ${dir} "${ARG_INTERFACE}" ${ARG_LOADED})
  endif()
  set_target_properties(${name} PROPERTIES HCASIM_RTL_DIR ${dir} HCASIM_RTL_INTERFACE "${ARG_INTERFACE}" HCASIM_RTL_CODE ${code})
endfunction()

# Within hcasim, HCASIM_VERILATED off: a design is not Verilated. Code that loads the design finds it missing, other code does not link.
function(hca_leave_out_design name dir top interface target)
  set(NAME ${name})
  set(TOP ${top})
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/rtl_design.h.in ${dir}/rtl/${name}.h @ONLY)
  file(CONFIGURE OUTPUT ${dir}/nothing.cpp CONTENT "")
  set(code ${name})
  if(target)
    set(code ${name}_code)
    hca_add_loader(${name} ${dir} ${target})
  endif()
  add_library(${code} STATIC EXCLUDE_FROM_ALL ${dir}/nothing.cpp)
  add_library(${code}_slow OBJECT EXCLUDE_FROM_ALL ${dir}/nothing.cpp)
  target_include_directories(${code} PUBLIC $<BUILD_INTERFACE:${dir}>)
  target_link_libraries(${code} PUBLIC hcasim_rtl)
  set_target_properties(${name} PROPERTIES HCASIM_RTL_DIR ${dir} HCASIM_RTL_INTERFACE "${interface}" HCASIM_RTL_CODE ${code})
endfunction()

# The library that loads a design.
function(hca_add_loader name dir target)
  file(CONFIGURE OUTPUT ${dir}/${name}_load.cpp CONTENT "// Made by hca_add_rtl.
#include \"rtl/${name}.h\"
#include \"tlm/rtl/unit_loading.h\"

std::unique_ptr<hcasim::rtl::design> hcasim::rtl::make_${name}(unsigned random_reset) {
  static const design_factory make = own_design(\"${name}\", \"${target}\");
  return make(random_reset);
}
")
  hca_library(${name} ${dir}/${name}_load.cpp LINK hcasim_rtl)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${dir}>)
  set_target_properties(${name} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
endfunction()

# The object that it loads.
function(hca_add_object name dir interface target)
  file(CONFIGURE OUTPUT ${dir}/${name}_object.cpp CONTENT "// Made by hca_add_rtl.
#include \"rtl/${name}.h\"
#include \"tlm/rtl/unit_object.h\"

HCASIM_UNIT_OBJECT(\"${interface}\", \"${name}\", hcasim::rtl::make_${name}, nullptr)
")
  add_library(${name}_object MODULE ${dir}/${name}_object.cpp)
  target_link_libraries(${name}_object PRIVATE ${name}_code hcasim_design)
  target_link_options(${name}_object PRIVATE LINKER:--exclude-libs,ALL)
  set_target_properties(${name}_object PROPERTIES EXPORT_COMPILE_COMMANDS OFF PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${HCASIM_DESIGNS}
                                                  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  add_dependencies(${target} ${name}_object)
  set(optional)
  if(NOT target STREQUAL "parts")
    set_target_properties(${name}_object PROPERTIES EXCLUDE_FROM_ALL ON)
    set(optional OPTIONAL)
  endif()
  install(TARGETS ${name}_object LIBRARY DESTINATION lib/hcasim/designs ${optional})
endfunction()
