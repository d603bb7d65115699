# RTL that is edited is built again, in folders of any name, from SOURCES that lie elsewhere and from included files. So is RTL of a
# project whose hcasim lies in such a folder.
# cmake -DSOURCE=... -DOUT=... -DMAKE=<ninja> -DCXX=... -DLAUNCHER=... -P rebuild_test.cmake
file(REMOVE_RECURSE ${OUT})

# The part of a clone that this needs, in a folder with a space, too.
set(clone "${OUT}/hcasim é")
file(COPY ${SOURCE}/cmake DESTINATION ${clone})
file(COPY ${SOURCE}/tlm/rtl DESTINATION ${clone}/tlm PATTERN testing EXCLUDE)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN} (${status}):\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

# The constant of the RTL that was compiled: the object has it as an immediate operand.
function(expect_constant dir value)
  file(READ ${dir}/build/x.rtl/read list)
  execute_process(COMMAND ${dir}/build/show OUTPUT_VARIABLE shown RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT shown STREQUAL "${value}\n")
    message(FATAL_ERROR "in '${dir}' the RTL says ${shown}, its source ${value}; read:\n${list}")
  endif()
endfunction()

function(edit file text)
  # A build compares times, which are those of the clock tick.
  execute_process(COMMAND ${CMAKE_COMMAND} -E sleep 0.05)
  file(WRITE ${file} "${text}")
endfunction()

set(number 0)
set(folders "with space c#d+e größe")
if(DEFINED ENV{HCASIM_FULL})
  list(APPEND folders plain "(1) é" "x=1,y%z~")
endif()
foreach(folder IN LISTS folders)
  set(dir "${OUT}/${folder}/tb")
  set(rtl "${OUT}/${folder}/rtl")
  file(WRITE ${dir}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(case LANGUAGES CXX)\nfind_package(Threads REQUIRED)\n"
       "add_library(hcasim_rtl STATIC \"${clone}/tlm/rtl/design.cpp\")\ntarget_include_directories(hcasim_rtl PUBLIC \"${clone}\")\n"
       "target_compile_features(hcasim_rtl PUBLIC cxx_std_20)\nadd_library(hcasim_fstapi INTERFACE)\ninclude(\"${clone}/cmake/add_rtl.cmake\")\n"
       "hca_add_rtl(NAME x TOP top SOURCES ../rtl/top.sv FILELISTS ../rtl/more.f INCLUDE_DIRS ../rtl WARNINGS off\n"
       "            PINS \"clock ck\" \"reset rst\" \"side d d\")\n"
       "add_executable(show show.cpp)\ntarget_link_libraries(show PRIVATE x)\n")
  file(WRITE ${dir}/show.cpp "#include <cstdio>\n#include \"rtl/x.h\"\nint main() {\n  const auto d = hcasim::rtl::make_x();\n  d->eval();\n"
       "  std::printf(\"%u\\n\", d->find_side(\"d\", true).part(0, 32));\n}\n")
  file(WRITE ${rtl}/top.sv "`include \"value.svh\"\nmodule top(input logic ck, input logic rst, output logic [31:0] d);\n"
       "  logic [31:0] more;\n  more m(.ck, .more);\n  assign d = (rst ? 0 : `VALUE) + more;\nendmodule\n")
  file(WRITE ${rtl}/more.sv "module more(input logic ck, output logic [31:0] more);\n  assign more = 0;\nendmodule\n")
  file(WRITE ${rtl}/more.f "more.sv\n")
  file(WRITE ${rtl}/value.svh "`define VALUE 11\n")
  run(${CMAKE_COMMAND} -G Ninja -DCMAKE_MAKE_PROGRAM=${MAKE} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_WORKS=1
      "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -S ${dir} -B ${dir}/build)
  run(${CMAKE_COMMAND} --build ${dir}/build)
  expect_constant(${dir} 11)
  edit(${rtl}/value.svh "`define VALUE 12\n")
  run(${CMAKE_COMMAND} --build ${dir}/build)
  expect_constant(${dir} 12)
  if(number EQUAL 0 OR DEFINED ENV{HCASIM_FULL})
    edit(${rtl}/more.sv "module more(input logic ck, output logic [31:0] more);\n  assign more = 100;\nendmodule\n")
    run(${CMAKE_COMMAND} --build ${dir}/build)
    expect_constant(${dir} 112)
    file(READ ${rtl}/top.sv text)
    string(REPLACE "`VALUE" "`VALUE + 1000" text "${text}")
    edit(${rtl}/top.sv "${text}")
    run(${CMAKE_COMMAND} --build ${dir}/build)
    expect_constant(${dir} 1112)
  endif()
  run(${CMAKE_COMMAND} --build ${dir}/build)
  if(NOT said MATCHES "no work to do")
    message(FATAL_ERROR "in '${dir}' a build after a build is not over at once:\n${said}")
  endif()
  math(EXPR number "${number} + 1")
endforeach()
file(REMOVE_RECURSE ${OUT})
message("${number} folders")
