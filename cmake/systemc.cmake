# SystemC::systemc, from the user's own build or from the Debian package. Also used by projects that find hcasim installed.
find_package(SystemCLanguage CONFIG QUIET)
if(NOT TARGET SystemC::systemc)
  find_path(SYSTEMC_INCLUDE_DIR systemc REQUIRED)
  find_library(SYSTEMC_LIBRARY systemc REQUIRED)
  add_library(SystemC::systemc UNKNOWN IMPORTED)
  set_target_properties(SystemC::systemc PROPERTIES IMPORTED_LOCATION ${SYSTEMC_LIBRARY})
  # The packaged library is stamped for C++17; without this the sc_api_version symbol is missing.
  target_compile_definitions(SystemC::systemc INTERFACE SC_CPLUSPLUS=201703L)
  if(NOT SYSTEMC_INCLUDE_DIR STREQUAL "/usr/include")
    target_include_directories(SystemC::systemc SYSTEM INTERFACE ${SYSTEMC_INCLUDE_DIR})
  endif()
endif()
