# `cmake --install`: libraries, headers, the RTL and hca_add_rtl, for projects that say find_package(hcasim).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(HCASIM_INSTALL_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR}/hcasim)
set(HCASIM_INSTALL_SHARE ${CMAKE_INSTALL_DATADIR}/hcasim)
set(HCASIM_INSTALL_DESIGNS lib/hcasim/designs)
set(HCASIM_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/hcasim)

# The libraries that these stand on, those of the project alone.
function(hca_closure variable)
  set(todo ${ARGN})
  set(seen)
  while(todo)
    list(POP_FRONT todo target)
    if(target IN_LIST seen OR NOT TARGET ${target})
      continue()
    endif()
    get_target_property(imported ${target} IMPORTED)
    if(imported)
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND todo ${links})
    endif()
  endwhile()
  set(${variable} ${seen} PARENT_SCOPE)
endfunction()

hca_closure(libraries hcasim_system hcasim_lockstep hcasim_verilated)  # the last for designs of users
set(designs)
set(HCASIM_OWN_LIBRARIES ${libraries})
list(FILTER HCASIM_OWN_LIBRARIES INCLUDE REGEX "^hcasim_")
foreach(library IN LISTS libraries)
  string(REGEX REPLACE "^hcasim_" "" short ${library})
  set_target_properties(${library} PROPERTIES EXCLUDE_FROM_ALL OFF EXPORT_NAME ${short})
  add_library(hcasim::${short} ALIAS ${library})  # as those who find it installed call it
  get_target_property(dir ${library} HCASIM_RTL_DIR)
  if(dir)
    install(DIRECTORY ${dir}/rtl DESTINATION ${HCASIM_INSTALL_INCLUDE})
    list(APPEND designs ${library})
  endif()
endforeach()
# What a program with a testbench of its own stands on: COMPONENTS program.
hca_closure(program_libraries hcasim_program hcasim_kit)
list(REMOVE_ITEM program_libraries ${libraries})
foreach(library IN LISTS program_libraries)
  string(REGEX REPLACE "^hcasim_" "" short ${library})
  set_target_properties(${library} PROPERTIES EXCLUDE_FROM_ALL OFF EXPORT_NAME ${short})
  add_library(hcasim::${short} ALIAS ${library})
endforeach()
target_include_directories(hcasim_options INTERFACE $<INSTALL_INTERFACE:${HCASIM_INSTALL_INCLUDE}>)
target_compile_features(hcasim_options INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
install(TARGETS ${libraries} EXPORT hcasim ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/hcasim)
install(EXPORT hcasim NAMESPACE hcasim:: FILE hcasimTargets.cmake DESTINATION ${HCASIM_INSTALL_CMAKE})
install(TARGETS ${program_libraries} EXPORT hcasimProgram ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/hcasim)
install(EXPORT hcasimProgram NAMESPACE hcasim:: FILE hcasimProgramTargets.cmake DESTINATION ${HCASIM_INSTALL_CMAKE})
install(DIRECTORY firmware models tlm testbenches ${CMAKE_BINARY_DIR}/made/ DESTINATION ${HCASIM_INSTALL_INCLUDE} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY models tlm DESTINATION ${HCASIM_INSTALL_SHARE} FILES_MATCHING PATTERN "*.sv" PATTERN testing EXCLUDE)
# Recorded streams in Python.
install(FILES testbenches/coverification/lockstep/stream.py testbenches/program/python/hcasim.py DESTINATION ${HCASIM_INSTALL_SHARE}/python)
# What `hcasim new-testbench` and `hcasim new-unit` begin from.
install(DIRECTORY testbenches/program/templates DESTINATION ${HCASIM_INSTALL_SHARE}/testbenches/program)
install(DIRECTORY models DESTINATION ${HCASIM_INSTALL_SHARE} FILES_MATCHING REGEX "/rtl/CMakeLists.txt$")
install(DIRECTORY testbenches/coverification/templates testbenches/coverification/example DESTINATION ${HCASIM_INSTALL_SHARE}/testbenches/coverification)
install(FILES cmake/add_rtl.cmake cmake/add_unit.cmake cmake/rtl_advice.cmake cmake/rtl_verilate.cmake cmake/rtl_faults.cmake cmake/host_program.cmake cmake/rtl_check.cmake cmake/systemc.cmake cmake/compiler_faults.cmake
              cmake/compiler_faults.cpp.in
              cmake/rtl_design.cpp.in cmake/rtl_design.h.in DESTINATION ${HCASIM_INSTALL_CMAKE})
install(DIRECTORY testbenches/coverification/mutation tlm/rtl/wrap DESTINATION ${HCASIM_INSTALL_CMAKE} PATTERN "*_test.cpp" EXCLUDE PATTERN CMakeLists.txt EXCLUDE)
# The pages, with README.md on top as they link to each other.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Once to be installed, once for those who take the build as it is: CMAKE_PREFIX_PATH=build/release.
set(HCASIM_MODULES "\${CMAKE_CURRENT_LIST_DIR}")
configure_package_config_file(cmake/hcasimConfig.cmake.in ${CMAKE_BINARY_DIR}/package/hcasimConfig.cmake
                              INSTALL_DESTINATION ${HCASIM_INSTALL_CMAKE} PATH_VARS HCASIM_INSTALL_SHARE HCASIM_INSTALL_DESIGNS)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hcasimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/hcasimConfig.cmake ${CMAKE_BINARY_DIR}/hcasimConfigVersion.cmake
        DESTINATION ${HCASIM_INSTALL_CMAKE})
set(HCASIM_MODULES ${CMAKE_SOURCE_DIR}/cmake)
set(HCASIM_INSTALL_SHARE ${CMAKE_SOURCE_DIR})
set(HCASIM_INSTALL_DESIGNS ${HCASIM_DESIGNS})
configure_package_config_file(cmake/hcasimConfig.cmake.in ${CMAKE_BINARY_DIR}/hcasimConfig.cmake INSTALL_DESTINATION ${CMAKE_BINARY_DIR}
                              INSTALL_PREFIX ${CMAKE_BINARY_DIR} PATH_VARS HCASIM_INSTALL_SHARE HCASIM_INSTALL_DESIGNS)
export(EXPORT hcasim NAMESPACE hcasim:: FILE ${CMAKE_BINARY_DIR}/hcasimTargets.cmake)
export(EXPORT hcasimProgram NAMESPACE hcasim:: FILE ${CMAKE_BINARY_DIR}/hcasimProgramTargets.cmake)

# Without this last step CMake writes a list of the files into the build folder, which may be another user's.
install(CODE "return()" ALL_COMPONENTS)
