# Sets HCASIM_COMPILER_MENDS, the options without which this compiler makes wrong code of right sources.
include_guard(GLOBAL)

# hca_runs_wrong(RESULT OPTION): whether compiler_faults.cpp.in fails as a program that is compiled with OPTION.
function(hca_runs_wrong result option)
  set(CMAKE_TRY_COMPILE_CONFIGURATION Release)
  set(dir ${CMAKE_BINARY_DIR}/compiler_faults)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compiler_faults.cpp.in ${dir}/compiler_faults.cpp COPYONLY)
  try_run(status compiled ${dir}/tried ${dir}/compiler_faults.cpp
          COMPILE_DEFINITIONS -O2 ${option} CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  if(compiled AND status EQUAL 0)
    set(${result} FALSE PARENT_SCOPE)
  else()
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Tries the compiler. When it compiles for another machine, its version alone decides.
function(hca_find_compiler_mends)
  set(mend -fno-ipa-modref)
  set(mends "")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC alone has that pass.
  elseif(CMAKE_CROSSCOMPILING)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13 AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
      set(mends ${mend})
    endif()
  else()
    hca_runs_wrong(wrong "")
    if(wrong)
      hca_runs_wrong(wrong ${mend})
      if(wrong)
        message(FATAL_ERROR "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} makes wrong code of "
                            "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compiler_faults.cpp.in with every option that is known; use another")
      endif()
      set(mends ${mend})
    endif()
  endif()
  set(HCASIM_COMPILER_MENDS "${mends}" CACHE INTERNAL "options without which this compiler makes wrong code")
endfunction()

if(NOT DEFINED HCASIM_COMPILER_MENDS)
  hca_find_compiler_mends()
endif()
