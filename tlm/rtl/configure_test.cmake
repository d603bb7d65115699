# What hca_add_rtl says at configure time about RTL that does not fit: each case is a project of a few lines.
# cmake -DSOURCE=... -DOUT=... -DGENERATOR=... -DMAKE=... -DCXX=... -DPROGRAMS=... -P configure_test.cmake
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
                          -DHCASIM_HOST_PROGRAMS=${PROGRAMS} -S ${dir} -B ${dir}/build ${ARGN}
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
expect("nothing drives these inputs: fault; name them in PINS. Inputs of suspect: ck, rst, fault, i_v, o_r, i_low, i_high "
       "${top} PINS \"clock ck\" \"reset rst\" ${in} ${out}")
expect("nothing drives these inputs: fault, o_r; name" "${top} PINS \"clock ck\" \"reset rst\" ${in}")
expect("PINS names no reset" "${top} PINS \"clock ck\" \"strap fault fault\" \"strap reset rst\" ${in} ${out}")
expect("'idles' is none of clock, reset, idle, strap, side, in, out, axi4, axi_lite, axis, tlp" "${top} PINS ${clocks} \"idles o_v\" ${in} ${out}")
expect("bundle in: 'vld=i_v' is not valid=" "${top} PINS ${clocks} \"in in vld=i_v data=i_low\"")
expect("only valid and ready can be inverted: data=!i_low" "${top} PINS ${clocks} \"in in valid=i_v data=!i_low\"")
expect("PINS names clock ck twice" "${top} PINS \"clock ck\" \"clock ck\" \"reset rst\" ${in} ${out}")
expect("clock ck: it is the first, whose period is that of the shell" "${top} PINS \"clock ck period=2\" \"reset rst\" ${in} ${out}")
expect("clock ck: '3/0' is no number, and no N/M" "${top} PINS \"clock ck phase=3/0\" \"reset rst\" ${in} ${out}")
expect("reset rst: 'ck2' is none of the clocks: ck" "${top} PINS \"clock ck\" \"reset rst clock=ck2\" \"strap fault fault\" ${in} ${out}")
expect("bundle in: 'rst' is none of the clocks: ck" "${top} PINS ${clocks} \"in in valid=i_v data=i_low,i_high clock=rst\" ${out}")
expect("side x: suspect has no port 'nothing'" "${top} PINS ${clocks} \"side x nothing\" ${in} ${out}")
expect("i_low.16:9. is not a slice of i_low, which has 16 bits" "${top} PINS ${clocks} \"in in valid=i_v ready=!i_busy data=i_low[16:9],i_high\" ${out}")
expect("only what comes out of the RTL can be late" "${top} PINS ${clocks} \"in in valid=i_v ready=!i_busy data=i_low,i_high late\" ${out}")
expect("fifo and late need ready=" "${top} PINS ${clocks} ${in} \"out out valid=o_v data=o_d fifo\"")
expect("WARNINGS loud is none of errors, show, off" "${top} WARNINGS loud PINS ${clocks} ${in} ${out}")
expect("there is no file list [^ ]*nowhere.f" "TOP suspect FILELISTS nowhere.f PINS ${clocks}")
expect("there is no include folder [^ ]*nowhere" "${top} INCLUDE_DIRS nowhere PINS ${clocks}")

# Warnings of Verilator, file lists, include folders and defines; what was included is looked at again.
set(foreign "TOP foreign FILELISTS ${SOURCE}/tlm/rtl/testing/foreign/foreign.f INCLUDE_DIRS ${SOURCE}/tlm/rtl/testing/foreign DEFINES FOREIGN_LOG_DEPTH=2")
set(pins "PINS \"clock ck\" \"reset rst\" \"reset cfg_rst_n\" \"strap a cfg\" \"strap a wr_en\" \"strap a din\" \"strap a rd_en\" \"strap a s_valid\" \"strap a s_data\" \"strap a m_rd\"")
expect("Verilator refuses it: .*WARNINGS show or off has it go on at warnings" "${foreign} ${pins}")
expect("" "${foreign} WARNINGS show ${pins}")
expect("" "${foreign} VERILATOR_ARGS -Wno-lint -Wno-style ${pins}")
file(WRITE ${OUT}/wide.sv "`include \"wide.svh\"\nmodule wide (input logic ck, input logic rst, input logic v, input logic [`WIDE-1:0] d, output logic o);\n"
     "  always_ff @(posedge ck) o <= v && !rst && ^d;\nendmodule\n")
set(wide "TOP wide SOURCES ${OUT}/wide.sv INCLUDE_DIRS ${OUT}/inc PINS \"clock ck\" \"reset rst\" \"in in valid=v data=d\"")
file(WRITE ${OUT}/inc/wide.svh "`define WIDE 1281\n")
expect("" "${wide}")
expect("credit= needs credits=N" "${top} PINS ${clocks} \"in in valid=i_v credit=i_busy data=i_low,i_high\" ${out}")
expect("there is no interface 'axi5'" "${top} INTERFACE axi5 PINS ${clocks} ${in} ${out}")
expect("interface page_walker needs bundles that PINS does not have: \"in req\", \"out rsp\", \"out mem_req\", \"in mem_rsp\"" "${top} INTERFACE page_walker PINS ${clocks} ${in} ${out}")
expect("bundle req of interface page_walker carries 378 bits, its ports have 40"
       "${top} INTERFACE page_walker PINS ${clocks} \"in req valid=i_v ready=!i_busy data=i_low,i_high\" ${out}")
expect("contains more than once: ck" "${top} MUTATIONS ${OUT}/faults.txt PINS ${clocks} ${in} ${out}")

# What Verilator does not take, with what to do otherwise (docs/verilator.md).
set(taken "${SOURCE}/tlm/rtl/testing/taken/taken.sv")
set(ports "input logic ck, input logic rst, input logic v, output logic o")
set(pins "PINS \"clock ck\" \"reset rst\" \"in in valid=v data=d\"")
foreach(case "struct=input struct {logic a; logic [6:0] b;} d" "array=input logic [7:0] d[4]")
  string(REGEX MATCH "^([a-z]+)=(.*)$" matched "${case}")
  file(WRITE ${OUT}/${CMAKE_MATCH_1}.sv "module top (${ports}, ${CMAKE_MATCH_2});\n  always_ff @(posedge ck) o <= v && !rst;\nendmodule\n")
endforeach()
file(WRITE ${OUT}/bins.sv "module top (${ports}, input logic [7:0] d);\n  covergroup c @(posedge ck);\n    coverpoint d;\n  endgroup\nendmodule\n")
file(WRITE ${OUT}/delay.sv "module top (${ports}, input logic [7:0] d);\n  always_ff @(posedge ck) o <= #1 v && !rst && ^d;\nendmodule\n")
file(WRITE ${OUT}/top.vhd "entity top is end entity;\n")
expect("Interfaced port on top level.*put a module around it that has a port for each signal of an interface. docs/verilator.md has"
       "TOP taken_adder SOURCES ${taken} VERILATOR_ARGS --no-timing ${pins}")
expect("Covergroups: put `ifndef VERILATOR around them" "TOP top SOURCES ${OUT}/bins.sv ${pins}")
expect("Delays: VERILATOR_ARGS --no-timing -Wno-ASSIGNDLY -Wno-STMTDLY leaves them out" "TOP top SOURCES ${OUT}/delay.sv ${pins}")
expect("" "TOP top SOURCES ${OUT}/delay.sv VERILATOR_ARGS --no-timing -Wno-ASSIGNDLY ${pins}")
expect("VERILATOR_ARGS --timing: time in a design is that of its clocks alone" "TOP top SOURCES ${OUT}/delay.sv VERILATOR_ARGS --timing ${pins}")
expect("VERILATOR_ARGS --trace-fst: WAVES has waveforms" "TOP top SOURCES ${OUT}/delay.sv VERILATOR_ARGS --trace-fst ${pins}")
# Newer versions of Verilator leave the port out.
set(unpacked "port d is an unpacked structure. Pins are of packed ports")
if(NOT VERILATOR VERSION_EQUAL 5.006)
  set(unpacked "${unpacked}|top has no port 'd'")
endif()
expect("${unpacked}" "TOP top SOURCES ${OUT}/struct.sv WARNINGS off ${pins}")
expect("port d is an unpacked array. Pins are of packed ports" "TOP top SOURCES ${OUT}/array.sv WARNINGS off ${pins}")
expect("top.vhd is VHDL, which Verilator does not read. Make Verilog of it, `ghdl --synth" "TOP top SOURCES ${OUT}/top.vhd ${pins}")

# Endpoints.
set(ram "TOP axi_ram SOURCES ${SOURCE}/tlm/rtl/testing/axi_ram.sv PINS \"clock aclk\" \"reset aresetn active_low\" \"strap fault fault\"")
expect("" "${ram} \"axi4 s0 = *\"")
expect("" "${ram} \"axi4 s0 = AW* aw.valid=awvalid aw.ready=awready aw.addr=awaddr aw.id=awid aw.len=awlen aw.size=awsize aw.burst=awburst
        w.valid=wvalid w.ready=wready w.data=wdata w.strb=wstrb w.last=wlast b.valid=bvalid b.ready=bready b.id=bid b.resp=bresp
        ar.valid=arvalid ar.ready=arready ar.addr=araddr ar.id=arid ar.len=arlen ar.size=arsize ar.burst=arburst
        r.valid=rvalid r.ready=rready r.data=rdata r.id=rid r.last=rlast r.resp=rresp\"")
expect("endpoint s0: axi_ram has no port 's_axi_awvalid'; if it is called otherwise, name it: aw.valid=PORT" "${ram} \"axi4 s0 = s_axi_*\"")
expect("endpoint s0: axi_ram has no port 'tvalid'" "${ram} \"axis s0 = *\"")
expect("endpoint s0: axi_ram has no port 'wnready'" "${ram} \"axi4 s0 = * w.ready=wnready\"")
expect("endpoint s0: 'aw.frob=awaddr': axi4 has no signal aw.frob" "${ram} \"axi4 s0 = * aw.frob=awaddr\"")
expect("endpoint s0: port wstrb.3:0. has 4 bits, 8 are needed beside wdata" "${ram} \"axi4 s0 = * w.strb=wstrb[3:0]\"")
expect("endpoint s0: port rdata.31:0. has 32 bits, 64 are needed beside wdata" "${ram} \"axi4 s0 = * r.data=rdata[31:0]\"")
expect("endpoint s0: port wdata.47:0. has 48 bits, AXI has 8 to 1024, a power of two" "${ram} \"axi4 s0 = * w.data=wdata[47:0]\"")
expect("endpoint s0: port bid.1:0. has 2 bits, 4 are needed beside awid" "${ram} \"axi4 s0 = * b.id=bid[1:0]\"")
expect("endpoint s0: port awid is an INput, an OUTput is needed" "${ram} \"axi4 s0 = * b.id=awid\"")
expect("endpoint s0: port awlen is 8 bits wide, 3 are needed" "${ram} \"axi4 s0 = * aw.size=awlen\"")
expect("endpoint s0: ..2/2.: slice 2 of 2, they are counted from 0" "${ram} \"axi4 s0 = *[2/2]\"")
expect("endpoint s0: port awvalid has 1 bits, which are not 3 equal slices" "${ram} \"axi4 s0 = *[0/3]\"")
expect("endpoint s0: 'slow' is not PREFIX.SUFFIX, channel.signal=PORT or clock=PORT" "${ram} \"axi4 s0 = * slow\"")
expect("nothing drives these inputs: awid, awlen, awsize, awburst, wlast, arid, arlen, arsize, arburst; name" "${ram} \"axi_lite s0 = *\"")
set(device "TOP small_registers SOURCES ${SOURCE}/tlm/rtl/testing/small_registers.sv INTERFACE device
            PINS \"clock clk_i\" \"reset rst_ni active_low\" \"axi_lite m0 = m_*{_i,_o}\"")
expect("" "${device} \"axi_lite reg = {cfg,config}_*{_i,_o}\"")
expect("interface device needs bundles that PINS does not have: \"in reg_aw\", \"in reg_w\", \"out reg_b\", \"in reg_ar\", \"out reg_r\""
       "${device} \"axi_lite registers = cfg_*{_i,_o}\"")
expect("endpoint reg: small_registers has no port 'cfg_awvalid'.* There is 'cfg_awvalid_i': write cfg_.{_i,_o}" "${device} \"axi_lite reg = cfg_*\"")
expect("endpoint reg: 'cfg_{': {A,B} once at either end of a pattern means A or B" "${device} \"axi_lite reg = cfg_{*\"")
set(pass "TOP tlp_pass SOURCES ${SOURCE}/tlm/rtl/testing/tlp_pass.sv PINS \"clock clk\" \"reset rst\"
         \"in beat valid=beat_valid ready=beat_ready data=beat_data\" \"out got valid=got_valid ready=got_ready data=got_data\"")
expect("" "${pass} \"tlp req = tx_req_tlp_*\" \"tlp cpl = rx_cpl_tlp_*\"")
expect("endpoint req: tlp_pass has no port 'tx_tlp_valid'; if it is called otherwise, name it: t.valid=PORT" "${pass} \"tlp req = tx_tlp_*\"")
expect("endpoint req: 't.last=tx_req_tlp_eop': tlp has no signal t.last" "${pass} \"tlp req = tx_req_tlp_* t.last=tx_req_tlp_eop\"")
expect("endpoint req: port tx_req_tlp_hdr.95:0. is 96 bits wide, 128 are needed" "${pass} \"tlp req = tx_req_tlp_* t.hdr=tx_req_tlp_hdr[95:0]\"")
expect("endpoint req: port tx_req_tlp_data.31:0. has 32 bits, a stream of TLPs has 64, 128, 256 or 512"
       "${pass} \"tlp req = tx_req_tlp_* t.data=tx_req_tlp_data[31:0]\"")
expect("endpoint req: port tx_req_tlp_strb.0. has 1 bits, 2 are needed beside tx_req_tlp_data" "${pass} \"tlp req = tx_req_tlp_* t.strb=tx_req_tlp_strb[0]\"")
expect("endpoint cpl: tlp_pass has no port 'data'; if it is called otherwise, name it: t.data=PORT"
       "${pass} \"tlp cpl = * t.valid=rx_cpl_tlp_valid t.ready=rx_cpl_tlp_ready t.hdr=rx_cpl_tlp_hdr t.sop=rx_cpl_tlp_sop t.eop=rx_cpl_tlp_eop\"")

# Units in shared objects.
set(design "${top} PINS ${clocks} ${in} ${out})\nhca_add_unit(NAME u")
expect("hca_add_unit.u.: KIND is missing" "${design} DESIGN x")
expect("hca_add_unit.u.: DESIGN is missing" "${design} KIND key_check")
expect("there is no kind 'key_chekc'. Kinds: completion;doorbell;key_check" "${design} KIND key_chekc DESIGN x")
expect("the design x was made with INTERFACE '', not key_check" "${design} KIND key_check DESIGN x")
expect("SOURCES is missing" "${design} KIND dma_engine WHOLE")
expect("there is no kind 'key_check'. Kinds: completion;dma_engine" "${design} KIND key_check WHOLE SOURCES u.cpp")

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
