# Programs of the project that run while a project is configured, on the machine that does so.
include_guard(GLOBAL)

set(HCASIM_HOST_PROGRAMS ${CMAKE_BINARY_DIR} CACHE PATH "Folder of the programs that run while projects are configured; several projects may share one")
mark_as_advanced(HCASIM_HOST_PROGRAMS)

# Sets HCASIM_HOST_CXX, a compiler for such programs. It is the project's own compiler unless that compiles for another machine.
function(hca_find_host_compiler)
  if(NOT CMAKE_CROSSCOMPILING)
    set(HCASIM_HOST_CXX ${CMAKE_CXX_COMPILER} PARENT_SCOPE)
    return()
  endif()
  find_program(HCASIM_HOST_CXX NAMES c++ g++ clang++ NO_CMAKE_FIND_ROOT_PATH DOC "Compiler for programs that run on this machine")
  if(NOT HCASIM_HOST_CXX)
    message(FATAL_ERROR "hca_add_rtl: designs are made by programs that run on this machine, and it has no C++ compiler of its own; "
                        "install g++ or set HCASIM_HOST_CXX")
  endif()
endfunction()

# hca_host_program(VARIABLE NAME FOLDER): the path of the program that the sources in a folder of the project make, compiled when
# they have changed. FOLDER: within the source tree; its last part when hcasim is installed.
function(hca_host_program variable name folder)
  hca_find_host_compiler()
  set(path ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../${folder})
  if(NOT EXISTS ${path})
    cmake_path(GET folder FILENAME last)
    set(path ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${last})
  endif()
  set(tool ${HCASIM_HOST_PROGRAMS}/${name})
  file(GLOB parts ${path}/*.h ${path}/*.cpp)
  list(FILTER parts EXCLUDE REGEX "_test\\.cpp$")
  hca_rtl_state(now "${HCASIM_HOST_CXX}" ${parts})
  set(before)
  if(EXISTS ${tool} AND EXISTS ${tool}.state)
    file(READ ${tool}.state before)
  endif()
  if(NOT before STREQUAL now)
    # As one source, without optimisation: these programs run for an instant, and every configuration waits for their compiler.
    set(includes ${parts})
    list(FILTER includes INCLUDE REGEX "\\.cpp$")
    list(TRANSFORM includes REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN includes "" includes)
    file(WRITE ${tool}.cpp "${includes}")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${HCASIM_HOST_CXX} -std=c++20 -O0 ${tool}.cpp -o ${tool} RESULT_VARIABLE failed
                    OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(failed)
      message(FATAL_ERROR "hca_add_rtl: ${tool} cannot be built:\n${said}")
    endif()
    file(WRITE ${tool}.state "${now}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${parts})
  set(${variable} ${tool} PARENT_SCOPE)
endfunction()
