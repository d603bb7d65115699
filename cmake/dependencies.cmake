# Everything comes from Debian packages (scripts/packages.txt). A SystemC that the user built is taken when it is found first.
find_package(Threads REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/systemc.cmake)

find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_library(DEFLATE_LIBRARY deflate REQUIRED)
find_library(JEMALLOC_LIBRARY jemalloc REQUIRED)
if(HCASIM_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  include(GoogleTest)
endif()
