# Toolchain of 64-bit Arm with Debian's packages (scripts/arm64_test): cmake --preset release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Multiarch: headers are shared, libraries lie in the folder of this name.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Tests run under the emulator.
find_program(HCASIM_EMULATOR NAMES qemu-aarch64 qemu-aarch64-static)
if(HCASIM_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${HCASIM_EMULATOR})
endif()
