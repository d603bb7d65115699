# Cross-compiles the firmware for RV64 and links it without any library but the compiler's. Called by ctest:
#   cmake -DROOT=<source root> -DOUT=<folder> -P build.cmake
find_program(RISCV_GCC riscv64-unknown-elf-gcc)
if(NOT RISCV_GCC)
  message(FATAL_ERROR "riscv64-unknown-elf-gcc is missing: install gcc-riscv64-unknown-elf and picolibc-riscv64-unknown-elf")
endif()
file(GLOB sources ${ROOT}/firmware/control/*.c ${ROOT}/firmware/control/queues/*.c ${ROOT}/firmware/control/spaces/*.c)
list(APPEND sources ${ROOT}/firmware/control/riscv/main.c)
file(MAKE_DIRECTORY ${OUT})
execute_process(
  COMMAND ${RISCV_GCC} --specs=picolibc.specs -march=rv64imac -mabi=lp64 -mcmodel=medany -std=c11 -ffreestanding -O2 -g
          -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I${ROOT} ${sources} -nostartfiles -nodefaultlibs
          -Wl,--gc-sections
          -Wl,--defsym=__flash=0x80000000 -Wl,--defsym=__flash_size=0x00100000 -Wl,--defsym=__ram=0x80100000
          -Wl,--defsym=__ram_size=0x00400000 -Wl,-Map=${OUT}/firmware.map -lgcc -o ${OUT}/firmware.elf
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the firmware does not build for RV64")
endif()
find_program(RISCV_SIZE riscv64-unknown-elf-size)
if(RISCV_SIZE)
  execute_process(COMMAND ${RISCV_SIZE} ${OUT}/firmware.elf)
endif()
