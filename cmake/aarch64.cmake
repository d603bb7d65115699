# Toolchain of 64-bit Arm with Debian's packages (scripts/arm64_test): cmake --preset release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Multiarch: headers are shared, libraries lie in a folder of their machine.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu /)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_IGNORE_PATH /usr/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu/cmake)
# Tests run under the emulator.
find_program(HCASIM_EMULATOR NAMES qemu-aarch64 qemu-aarch64-static)
if(HCASIM_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${HCASIM_EMULATOR})
endif()
