include_guard(GLOBAL)

# hca_check_rtl(TOP files...): tests that Verilator has no warning and that Yosys can build it, without latches or loops; Yosys
# counts the cells.
function(hca_check_rtl top)
  find_program(YOSYS_EXECUTABLE yosys)
  set(sources ${ARGN})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set(lint --lint-only --assert -Wall)
  if("${sources}" MATCHES " ")
    list(APPEND lint -Wno-DECLFILENAME)  # Verilator takes a file's name to end at the first space
  endif()
  add_test(NAME rtl_lint.${top} COMMAND ${VERILATOR_EXECUTABLE} ${lint} --top-module ${top} ${sources})
  list(JOIN sources "\" \"" files)
  add_test(NAME rtl_cells.${top}
           COMMAND ${YOSYS_EXECUTABLE} -q -p
                   "read_verilog -sv \"${files}\"; hierarchy -check -top ${top}; proc; opt_clean; check -assert; select -assert-none t:$dlatch; tee -a /dev/stdout stat")
  set_tests_properties(rtl_lint.${top} rtl_cells.${top} PROPERTIES LABELS rtl TIMEOUT 200)
endfunction()
