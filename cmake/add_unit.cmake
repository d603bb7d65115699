# hca_add_unit(NAME name KIND kind DESIGN design [REFUSES function SOURCES files...])
#
# lib<name>.so: a design of hca_add_rtl that `hcasim run --set node*.hca.<unit>.implementation=lib<name>.so` puts in the place of
# a unit. KIND: completion, doorbell, key_check, page_walker, context_cache (mrc_cache, extent_cache, cqc_cache), qpc_cache, memory_port, device; the
# design has the INTERFACE of that name. It is compiled as position-independent code from here on.
#
# REFUSES: `const char* function(const char* const* knobs)` of SOURCES gets the knobs of the unit ("ways=8", ..., a null pointer
# at the end) and says why the RTL does not do for them, or returns a null pointer.
#
# The object holds all that it needs and exports hcasim_unit alone (tlm/rtl/unit_object.h).
#
# hca_add_unit(NAME name KIND completion|dma_engine WHOLE SOURCES files... [DESIGN design])
#
# A unit with sockets of its own: SOURCES say HCASIM_WHOLE_UNIT_OBJECT. It stands on the classes of the program that loads it.
include_guard(GLOBAL)

function(hca_add_unit)
  cmake_parse_arguments(ARG "WHOLE" "NAME;KIND;DESIGN;REFUSES" "SOURCES" ${ARGN})
  set(all_needed NAME KIND DESIGN)
  set(kinds completion doorbell key_check page_walker context_cache qpc_cache memory_port device)
  if(ARG_WHOLE)
    set(all_needed NAME KIND SOURCES)
    set(kinds completion dma_engine)
  endif()
  foreach(needed IN LISTS all_needed)
    if(NOT ARG_${needed})
      message(FATAL_ERROR "hca_add_unit(${ARG_NAME}): ${needed} is missing")
    endif()
  endforeach()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hca_add_unit(${ARG_NAME}): not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_KIND IN_LIST kinds)
    message(FATAL_ERROR "hca_add_unit(${ARG_NAME}): there is no kind '${ARG_KIND}'. Kinds: ${kinds}")
  endif()
  if(ARG_DESIGN)
    get_property(code TARGET ${ARG_DESIGN} PROPERTY HCASIM_RTL_CODE)
    set_target_properties(${code} ${code}_slow PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  if(ARG_WHOLE)
    hca_add_whole_unit()
    return()
  endif()
  get_property(interface TARGET ${ARG_DESIGN} PROPERTY HCASIM_RTL_INTERFACE)
  if(NOT interface STREQUAL ARG_KIND)
    message(FATAL_ERROR "hca_add_unit(${ARG_NAME}): the design ${ARG_DESIGN} was made with INTERFACE '${interface}', not ${ARG_KIND}")
  endif()
  if(ARG_REFUSES AND NOT ARG_SOURCES)
    message(FATAL_ERROR "hca_add_unit(${ARG_NAME}): REFUSES ${ARG_REFUSES} needs the SOURCES that it is in")
  endif()

  set(refuses nullptr)
  set(declaration)
  if(ARG_REFUSES)
    set(refuses ${ARG_REFUSES})
    set(declaration "const char* ${ARG_REFUSES}(const char* const* knobs)\;\n")
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_unit.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Made by hca_add_unit.
#include \"rtl/${ARG_DESIGN}.h\"
#include \"tlm/rtl/unit_object.h\"

${declaration}HCASIM_UNIT_OBJECT(\"${ARG_KIND}\", \"${ARG_NAME}\", hcasim::rtl::make_${ARG_DESIGN}, ${refuses})
")
  add_library(${ARG_NAME} MODULE ${source} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${code} hcasim_design)
  set_target_properties(${ARG_NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # What is missing is found here, and nothing of it meets what the program has of the same names.
  target_link_options(${ARG_NAME} PRIVATE -Wl,-z,defs -Wl,--exclude-libs,ALL)
endfunction()

# Headers and flags of hcasim_system without its code, which the program has; of the design the code.
macro(hca_add_whole_unit)
  add_library(${ARG_NAME} MODULE ${ARG_SOURCES})
  foreach(part hcasim_system ${code})
    target_include_directories(${ARG_NAME} PRIVATE $<TARGET_PROPERTY:${part},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(${ARG_NAME} PRIVATE $<TARGET_PROPERTY:${part},INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
  target_compile_features(${ARG_NAME} PRIVATE cxx_std_20)
  target_link_libraries(${ARG_NAME} PRIVATE SystemC::systemc)
  if(ARG_DESIGN)
    add_dependencies(${ARG_NAME} ${code})
    target_link_libraries(${ARG_NAME} PRIVATE $<TARGET_FILE:${code}> $<TARGET_FILE:hcasim_verilated>)
    target_link_options(${ARG_NAME} PRIVATE -Wl,--exclude-libs,ALL)
  endif()
endmacro()
