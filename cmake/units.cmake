# The hardware units, one folder each under models/adapter and models/machine.
file(GLOB HCASIM_UNITS CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} models/adapter/*/CMakeLists.txt models/machine/*/CMakeLists.txt)
list(TRANSFORM HCASIM_UNITS REPLACE "/CMakeLists.txt$" "")
list(REMOVE_ITEM HCASIM_UNITS models/adapter/hca models/driver models/system)

# Settings of all own code.
add_library(hcasim_options INTERFACE)
target_include_directories(hcasim_options INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/made>)
target_compile_options(hcasim_options INTERFACE $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> $<BUILD_INTERFACE:-Wpedantic>
                       $<BUILD_INTERFACE:-Wshadow> $<BUILD_INTERFACE:-Wconversion>
                       $<BUILD_INTERFACE:$<$<BOOL:${HCASIM_WERROR}>:-Werror>>)
if(HCASIM_SANITIZE)
  target_compile_options(hcasim_options INTERFACE -fsanitize=${HCASIM_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all
                         $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fsanitize-address-use-after-return=never>)  # it takes the kernel's threads for returned
  target_link_options(hcasim_options INTERFACE -fsanitize=${HCASIM_SANITIZE})
endif()

if(HCASIM_FUZZ)
  target_compile_options(hcasim_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(hcasim_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined)
endif()

# Sources of one target are compiled together, as one source: most of the time goes into the headers of SystemC. Names in
# unnamed namespaces of one target must therefore differ. Sources in C stay alone.
option(HCASIM_UNITY "Compile the C++ sources of a target in groups" ON)
function(hca_in_groups target)
  get_target_property(c_sources ${target} SOURCES)
  list(FILTER c_sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${c_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HCASIM_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  if(HCASIM_UNITY)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)  # every source looks like a header
  endif()
endfunction()

# What drives the models, as opposed to the models: they do the work, and compiling takes half the time.
function(hca_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
endfunction()

include(precompiled)

# With HCASIM_FEW_SOURCES the libraries of one part of the tree are compiled together, each part in a library of its own,
# hcasim_together_PART, on which the then empty libraries stand. From nothing this takes half the time: GCC spends most of it on
# headers and templates, which each source has for itself. After a change it takes longer.
option(HCASIM_FEW_SOURCES "Compile the libraries in a few large sources: quickest from nothing, slowest after a change" OFF)

if(HCASIM_TESTS)
  set(HCASIM_FEW_SOURCES OFF)  # tests are of single libraries
endif()

# Sets the part of the tree that the current folder is in.
function(hca_part variable)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE path)
  if(path STREQUAL "testbenches")
    set(part program)
  elseif(path MATCHES "^(models/)?(adapter|driver|testbenches)(/|$)")
    set(part ${CMAKE_MATCH_2})
  else()
    set(part machine)  # with what all stands on
  endif()
  set(${variable} ${part} PARENT_SCOPE)
endfunction()

# hca_library(NAME SOURCES... [LINK ...] [QUICK] [ALONE]): a library of own code. QUICK: hca_compile_quickly. ALONE: never compiled
# together with others.
function(hca_library name)
  cmake_parse_arguments(ARG "QUICK;ALONE" "" "LINK" ${ARGN})
  if(HCASIM_FEW_SOURCES AND NOT ARG_ALONE)
    hca_part(part)
    if(ARG_QUICK)
      string(APPEND part _quick)
    endif()
    foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
      cmake_path(ABSOLUTE_PATH source)
      set_property(GLOBAL APPEND PROPERTY HCASIM_SOURCES_OF_${part} ${source})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY HCASIM_LIBRARIES_OF_${part} ${name})
    set_property(GLOBAL APPEND PROPERTY HCASIM_TOGETHER ${part})
    set(nothing ${CMAKE_BINARY_DIR}/begin_with/nothing.cpp)
    file(CONFIGURE OUTPUT ${nothing} CONTENT "")
    add_library(${name} STATIC ${nothing})
    target_link_libraries(${name} PUBLIC hcasim_options ${ARG_LINK} hcasim_together_${part})
    return()
  endif()
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC hcasim_options ${ARG_LINK})
  hca_in_groups(${name})
  if(ARG_QUICK)
    hca_compile_quickly(${name})
    if(NOT HCASIM_FEW_SOURCES)  # then one library alone would begin like that
      hca_begin_with(${name} begin_program)
    endif()
  else()
    hca_begin_with(${name} begin_model)
  endif()
endfunction()

# The libraries of HCASIM_FEW_SOURCES, when all others are there.
function(hca_add_libraries_together)
  get_property(parts GLOBAL PROPERTY HCASIM_TOGETHER)
  list(REMOVE_DUPLICATES parts)
  foreach(part IN LISTS parts)
    get_property(sources GLOBAL PROPERTY HCASIM_SOURCES_OF_${part})
    get_property(libraries GLOBAL PROPERTY HCASIM_LIBRARIES_OF_${part})
    add_library(hcasim_together_${part} STATIC ${sources})
    target_link_libraries(hcasim_together_${part} PUBLIC ${libraries})
    hca_in_groups(hcasim_together_${part})
    if(part MATCHES "_quick$")
      hca_compile_quickly(hcasim_together_${part})
    endif()
  endforeach()
endfunction()

# hca_list_headers(FOLDER MACRO LEFT_OUT...): writes made/PATH/all.h of a folder whose headers are extensions: includes each, and
# MACRO(X) is X(name) for each. The headers LEFT_OUT are no extensions.
function(hca_list_headers folder macro)
  file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/${folder}
       ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.h)
  list(REMOVE_ITEM headers ${ARGN})
  set(includes)
  set(names)
  foreach(header IN LISTS headers)
    string(REPLACE .h "" name ${header})
    string(APPEND includes "#include \"${path}/${header}\"\n")
    string(APPEND names " X(${name})")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/made/${path}/all.h CONTENT "// Made by hca_list_headers.
#pragma once

@includes@
#define ${macro}(X)@names@
" @ONLY)
endfunction()

# hca_test(NAME SOURCES... [LINK ...] [LABELS ...] [TIMEOUT seconds] [COST seconds]): a GoogleTest program; every test runs in a
# process of its own. COST: about what its longest take; the longest begin first, so that none runs alone at the end. TIMED: a filter of
# tests that measure a time of the host; they run alone. LONG: not built with the others, and listed where it is; all its tests are in
# scripts/long_tests.txt, and `ninja tests_long` builds it.
function(hca_test name)
  if(NOT HCASIM_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "LONG" "TIMEOUT;COST;TIMED" "LINK;LABELS" ${ARGN})
  if(NOT HCASIM_UNIT_TESTS AND ARG_LABELS MATCHES "^(unit|firmware)$")
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hcasim_options ${ARG_LINK} GTest::gtest rapidcheck)
  hca_in_groups(${name})
  hca_compile_quickly(${name})
  hca_begin_with(${name} begin_test)
  set(properties LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST})
  if(ARG_TIMED)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_FILTER ${ARG_TIMED} TEST_LIST ${name}_timed PROPERTIES ${properties} RUN_SERIAL ON)
    set(ARG_TIMED TEST_FILTER -${ARG_TIMED})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST ${ARG_TIMED} PROPERTIES ${properties})
  if(ARG_LONG)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(tests_long ${name})
    get_property(lists DIRECTORY PROPERTY TEST_INCLUDE_FILES)
    list(POP_BACK lists its_list)
    set(where_built ${CMAKE_CURRENT_BINARY_DIR}/${name}_where_built.cmake)
    file(WRITE ${where_built} "if(EXISTS \"${CMAKE_CURRENT_BINARY_DIR}/${name}\")\n  include(\"${its_list}\")\nendif()\n")
    set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES ${lists} ${where_built})
  endif()
  if(NOT ARG_LABELS MATCHES "^(unit|firmware)$")
    add_dependencies(${name} parts)
  endif()
  # `ninja tests_unit` builds what `ctest -L unit` runs.
  foreach(label IN LISTS ARG_LABELS)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()

# hca_fuzz(NAME SOURCES... [LINK ...]): a libFuzzer program (preset fuzz). `ninja fuzzers` builds them, `ctest -L fuzz` gives each a
# fixed number of inputs, starting from the files in NAME_seeds/ if there are any. WHOLE: of whole systems, which takes long to build;
# `ninja fuzzers_whole`, `ctest -L fuzz_whole`.
function(hca_fuzz name)
  if(NOT HCASIM_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "WHOLE" "" "LINK" ${ARGN})
  set(group "")
  if(ARG_WHOLE)
    set(group _whole)
  endif()
  # libsystemc refers to sc_main, which only its own main() calls; the fuzzer brings another main().
  set(no_main ${CMAKE_BINARY_DIR}/no_sc_main.cpp)
  file(CONFIGURE OUTPUT ${no_main} CONTENT "extern \"C\" [[gnu::weak]] int sc_main(int, char**) { return 0; }\n")
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS} ${no_main})
  target_link_libraries(${name} PRIVATE hcasim_options ${ARG_LINK})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_found)
  file(MAKE_DIRECTORY ${found})
  set(corpus ${found})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}_seeds)
    list(APPEND corpus ${CMAKE_CURRENT_SOURCE_DIR}/${name}_seeds)
  endif()
  add_test(NAME ${name} COMMAND ${name} -seed=1 -runs=200000 -max_len=4400 -max_total_time=30 -timeout=10 ${corpus}
           WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS fuzz${group} TIMEOUT 120)
  if(NOT TARGET fuzzers${group})
    add_custom_target(fuzzers${group})
  endif()
  add_dependencies(fuzzers${group} ${name})
endfunction()

# hca_unit(NAME [LINK ...]): the unit in this folder. *_test.cpp are its tests, everything else is the unit.
function(hca_unit name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  hca_library(hcasim_${name} ${sources} LINK hcasim_tlm ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY HCASIM_UNIT_LIBRARIES hcasim_${name})
  if(tests)
    hca_test(${name}_test ${tests} LINK hcasim_${name} hcasim_unit_testing LABELS unit)
  endif()
endfunction()
