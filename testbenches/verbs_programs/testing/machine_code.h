// The machine code of the test programs, for x86-64 and 64-bit Arm.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/machine.h"

namespace misuse {

using hcasim::machine::read_counter;

#if defined(__x86_64__)

// Adds 1 to a number in memory, with one instruction.
inline void increment(volatile std::uint64_t& n) {
  asm volatile("incq %0" : "+m"(n));
}
// Calls the kernel without the C library.
inline long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

inline void increment(volatile std::uint64_t& n) {
  n = n + 1;
}
inline long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

#endif

}  // namespace misuse
