# The hardware units, one folder each under models/.
set(HCASIM_UNITS protection pcie host doorbell send_queue context_cache key_check page_walker dma_engine requester responder
    completion command_unit port fabric)

# Settings of all own code.
add_library(hcasim_options INTERFACE)
target_include_directories(hcasim_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(hcasim_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(HCASIM_SANITIZE)
  target_compile_options(hcasim_options INTERFACE -fsanitize=${HCASIM_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(hcasim_options INTERFACE -fsanitize=${HCASIM_SANITIZE})
endif()

# hca_library(NAME SOURCES... [LINK ...]): a library of own code.
function(hca_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC hcasim_options ${ARG_LINK})
endfunction()

# hca_test(NAME SOURCES... [LINK ...]): a GoogleTest program; every test runs in a process of its own.
function(hca_test name)
  if(NOT HCASIM_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hcasim_options ${ARG_LINK} GTest::gtest rapidcheck)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
endfunction()

# hca_unit(NAME [LINK ...]): the unit in this folder. *_test.cpp are its tests, everything else is the unit.
function(hca_unit name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  hca_library(hcasim_${name} ${sources} LINK hcasim_tlm ${ARG_LINK})
  if(tests)
    hca_test(${name}_test ${tests} LINK hcasim_${name} hcasim_unit_testing LABELS unit)
  endif()
endfunction()
