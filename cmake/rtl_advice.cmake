# What Verilator does not take, and what to do otherwise: the page docs/verilator.md has an example of each.
include_guard(GLOBAL)

# Stops at sources and arguments that could not work, before Verilator is asked.
function(hca_rtl_readable name sources arguments)
  foreach(source IN LISTS sources)
    cmake_path(GET source FILENAME file)
    if(file MATCHES "\\.(vhd|vhdl)$")
      message(FATAL_ERROR "hca_add_rtl(${name}): ${file} is VHDL, which Verilator does not read. Make Verilog of it, "
                          "`ghdl --synth --std=08 --out=verilog ${file} -e TOP > TOP.v` (package ghdl), and name that; docs/verilator.md has the lines.")
    endif()
  endforeach()
  foreach(argument IN LISTS arguments)
    if(argument STREQUAL "--timing")
      message(FATAL_ERROR "hca_add_rtl(${name}): VERILATOR_ARGS --timing: time in a design is that of its clocks alone. Say --no-timing -Wno-ASSIGNDLY -Wno-STMTDLY, "
                          "which leaves delays out; docs/verilator.md says what becomes of them.")
    elseif(argument MATCHES "^--trace(-fst)?$")
      message(FATAL_ERROR "hca_add_rtl(${name}): VERILATOR_ARGS ${argument}: WAVES has waveforms, and the name of the file says whether VCD or FST.")
    endif()
  endforeach()
endfunction()

# What to do about what Verilator has said; "" if there is nothing to say.
function(hca_rtl_advice out said)
  set(advice)
  if(said MATCHES "Interfaced port on top level")
    string(APPEND advice "The ports of the top must be plain: put a module around it that has a port for each signal of an interface.\n")
  endif()
  if(said MATCHES "'covergroup'|covergroup")
    string(APPEND advice "Covergroups: put `ifndef VERILATOR around them, and count in bins of the shell (tlm/rtl/cover_group.h) or by cover property.\n")
  endif()
  if(said MATCHES "NEEDTIMINGOPT")
    string(APPEND advice "Delays: VERILATOR_ARGS --no-timing -Wno-ASSIGNDLY -Wno-STMTDLY leaves them out; a clock or reset that the RTL makes with delays becomes one of PINS.\n")
  endif()
  if(advice)
    string(APPEND advice "docs/verilator.md has an example of each.\n")
  endif()
  set(${out} "${advice}" PARENT_SCOPE)
endfunction()
