# What hca_add_rtl says at configure time about RTL that does not fit: each case is a project of a few lines.
# cmake -DSOURCE=... -DOUT=... -DGENERATOR=... -DMAKE=... -DCXX=... -P configure_test.cmake
file(REMOVE_RECURSE ${OUT})
file(WRITE ${OUT}/faults.txt "@ suspect.sv\n- ck\n+ rst\n")
set(number 0)
set(clocks "\"clock ck\" \"reset rst\" \"strap fault fault\"")
set(in "\"in in valid=i_v ready=!i_busy data=i_low,i_high\"")
set(out "\"out out valid=o_v ready=o_r data=o_d\"")

# expect(REGEX RTL_ARGUMENTS [CMAKE_ARGUMENTS...]): configuring fails with a message of this form; "" is a success.
function(expect message rtl)
  math(EXPR number "${number} + 1")
  set(number ${number} PARENT_SCOPE)
  set(dir ${OUT}/${number})
  file(WRITE ${dir}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(case LANGUAGES CXX)\nfind_package(Threads REQUIRED)\n"
       "add_library(hcasim_rtl INTERFACE)\ninclude(${SOURCE}/cmake/add_rtl.cmake)\nhca_add_rtl(NAME x ${rtl})\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_WORKS=1
                          -S ${dir} -B ${dir}/build ${ARGN}
                  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(message STREQUAL "")
    if(NOT status EQUAL 0)
      message(SEND_ERROR "case ${number} must configure: ${said}")
    endif()
  elseif(status EQUAL 0 OR NOT said MATCHES "${message}")
    message(SEND_ERROR "case ${number}: '${message}' is not what it says (${status}): ${said}")
  endif()
endfunction()

set(top "TOP suspect SOURCES ${SOURCE}/tlm/rtl/testing/suspect.sv")
expect("" "${top} PINS ${clocks} ${in} ${out}")
expect("TOP is missing" "SOURCES ${SOURCE}/tlm/rtl/testing/suspect.sv PINS ${clocks}")
expect("there is no source [^ ]*nowhere.sv" "TOP suspect SOURCES nowhere.sv PINS ${clocks}")
expect("Verilator refuses it: .*other" "TOP other SOURCES ${SOURCE}/tlm/rtl/testing/suspect.sv PINS ${clocks} ${in} ${out}")
expect("bundle out: suspect has no port 'o_valid'. It has: .*o_v" "${top} PINS ${clocks} ${in} \"out out valid=o_valid ready=o_r data=o_d\"")
expect("bundle out: port i_v is an INput, an OUTput is needed" "${top} PINS ${clocks} ${in} \"out out valid=i_v ready=o_r data=o_d\"")
expect("clock: port i_low is 16 bits wide, 1 are needed" "${top} PINS \"clock i_low\" \"reset rst\" ${in} ${out}")
expect("nothing drives the input fault" "${top} PINS \"clock ck\" \"reset rst\" ${in} ${out}")
expect("PINS names no reset" "${top} PINS \"clock ck\" \"strap fault fault\" \"strap reset rst\" ${in} ${out}")
expect("'idles' is none of clock, reset, idle, strap, in, out" "${top} PINS ${clocks} \"idles o_v\" ${in} ${out}")
expect("bundle in: 'vld=i_v' is not valid=" "${top} PINS ${clocks} \"in in vld=i_v data=i_low\"")
expect("only ready can be inverted: valid=!i_v" "${top} PINS ${clocks} \"in in valid=!i_v data=i_low\"")
expect("credit= needs credits=N" "${top} PINS ${clocks} \"in in valid=i_v credit=i_busy data=i_low,i_high\" ${out}")
expect("there is no interface 'axi5'" "${top} INTERFACE axi5 PINS ${clocks} ${in} ${out}")
expect("interface page_walker needs a bundle \"in req\"" "${top} INTERFACE page_walker PINS ${clocks} ${in} ${out}")
expect("bundle req of interface page_walker carries 378 bits, its ports have 40"
       "${top} INTERFACE page_walker PINS ${clocks} \"in req valid=i_v ready=!i_busy data=i_low,i_high\" ${out}")
expect("contains more than once: ck" "${top} MUTATIONS ${OUT}/faults.txt PINS ${clocks} ${in} ${out}")

# Verilator: not there, too old, something else.
set(nowhere -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF)
expect("Verilator was not found. Install the package `verilator` .5.006 or newer., or set VERILATOR_EXECUTABLE" "${top} PINS ${clocks} ${in} ${out}"
       ${nowhere})
foreach(version 4.038 5.002)
  file(WRITE ${OUT}/v${version} "#!/bin/sh\necho 'Verilator ${version} 2022-10-29'\n")
  file(CHMOD ${OUT}/v${version} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  expect("Verilator ${version} is too old; 5.006 or newer is needed" "${top} PINS ${clocks} ${in} ${out}" -DVERILATOR_EXECUTABLE=${OUT}/v${version})
endforeach()
expect("does not answer to --version like Verilator" "${top} PINS ${clocks} ${in} ${out}" -DVERILATOR_EXECUTABLE=${CXX})
message("${number} cases")
