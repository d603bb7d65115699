# Installs the build, copies the example away from the source tree, builds it there against the installed copy, and runs it.
# cmake -DBUILD=... -DSOURCE=... -DLAUNCHER=... -P installed_test.cmake
set(OUT /tmp)
if(DEFINED ENV{TMPDIR})
  set(OUT $ENV{TMPDIR})
endif()
string(SHA1 build_name ${BUILD})
string(SUBSTRING ${build_name} 0 12 build_name)
set(OUT ${OUT}/hcasim_installed_${build_name})
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})

function(run what)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${OUT} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(said "${said}" PARENT_SCOPE)
  set(status ${status} PARENT_SCOPE)
  if(NOT what STREQUAL "may fail" AND NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${said}")
  endif()
endfunction()

run("the installation" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${OUT}/prefix)
file(GLOB_RECURSE pages RELATIVE ${OUT}/prefix ${OUT}/prefix/share/doc/*.md)
foreach(page README.md docs/coverification.md docs/rtl_shell.md docs/units/key_check.md)
  if(NOT "${pages}" MATCHES "share/doc/hcasim/${page}")
    message(FATAL_ERROR "${page} is not installed: ${pages}")
  endif()
endforeach()
file(COPY ${SOURCE}/testbenches/coverification/example DESTINATION ${OUT})
# The Verilator of the build, which may be another than that of the machine, comes first.
load_cache(${BUILD} READ_WITH_PREFIX "" VERILATOR_EXECUTABLE VERILATOR_INCLUDE)
cmake_path(GET VERILATOR_EXECUTABLE PARENT_PATH folder_of_verilator)
set(ENV{PATH} ${folder_of_verilator}:$ENV{PATH})
set(ENV{CMAKE_INCLUDE_PATH} ${VERILATOR_INCLUDE})
run("configuring the example" ${CMAKE_COMMAND} -G Ninja -S example -B build -DCMAKE_PREFIX_PATH=${OUT}/prefix -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run("building the example" ${CMAKE_COMMAND} --build build)

# Nothing of the source tree or of its build is needed.
file(STRINGS ${OUT}/build/build.ninja leaks REGEX "${SOURCE}/|${BUILD}/")
list(FILTER leaks EXCLUDE REGEX "${OUT}")
if(leaks)
  message(FATAL_ERROR "the example refers to the source tree: ${leaks}")
endif()

run("the lockstep report of my_key_check" build/compare_keys --requests 20000)
message("${said}")
foreach(stream single full random)
  if(NOT said MATCHES "key_check +${stream} +[0-9]+ +0 ")
    message(FATAL_ERROR "no line of stream '${stream}' without differences")
  endif()
endforeach()

run("my_key_check inside both adapters" ${OUT}/prefix/bin/hcasim run rkey_reuse --no-trace -o ${OUT}/system
    --set "node*.hca.key_check.implementation=build/libkeys.so")
if(NOT said MATCHES "passed")
  message(FATAL_ERROR "rkey_reuse with my_key_check: ${said}")
endif()

run("my_memory behind a socket" build/use_memory)
message("${said}")
if(NOT said MATCHES "[1-9][0-9]+ bursts, [1-9][0-9]+ cycles, 0 accesses")
  message(FATAL_ERROR "use_memory did not say how many bursts there were")
endif()

file(WRITE ${OUT}/other.stream "lockstep page_walker mode full seed 1 stall 0 fault 0\n")
run("may fail" build/compare_keys --stream other.stream)
if(NOT status EQUAL 2 OR NOT said MATCHES "a stream of page_walker, not of key_check")
  message(FATAL_ERROR "a stream of another unit: ${status}: ${said}")
endif()

# A newcomer's first minutes: a project of each form and its mutants, built and passed by one command. The test `tutorial` builds one
# beside the build.
set(kinds)
if(DEFINED ENV{HCASIM_FULL})
  set(kinds doorbell stream page_walker device tlp_device)
endif()
foreach(kind IN LISTS kinds)
  run("new-unit --kind ${kind}" ${OUT}/prefix/bin/hcasim new-unit my_${kind} --kind ${kind})
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} ${CMAKE_COMMAND} --workflow --preset check
                  WORKING_DIRECTORY ${OUT}/my_${kind} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0 OR NOT said MATCHES "100% tests passed")
    message(FATAL_ERROR "my_${kind} does not pass as it is (${status}):\n${said}")
  endif()
endforeach()

if(DEFINED ENV{HCASIM_FULL})
  run("mutate" ${OUT}/prefix/bin/hcasim mutate my_page_walker --requests 300 --least 0.3)
  if(NOT said MATCHES "page_walker +mutants +killed")
    message(FATAL_ERROR "hcasim mutate my_page_walker: ${said}")
  endif()
endif()

# A Verilator other than the one the libraries were built with is refused.
file(WRITE ${OUT}/verilator "#!/bin/sh\necho 'Verilator 5.042 2025-11-02'\n")
file(CHMOD ${OUT}/verilator PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
run("may fail" ${CMAKE_COMMAND} -G Ninja -S example -B other -DCMAKE_PREFIX_PATH=${OUT}/prefix -DVERILATOR_EXECUTABLE=${OUT}/verilator)
if(status EQUAL 0 OR NOT said MATCHES "Verilator 5\\.042 was found; the installed hcasim was built with")
  message(FATAL_ERROR "another Verilator: ${status}: ${said}")
endif()
file(REMOVE_RECURSE ${OUT})
