// The parts of running programs that depend on the processor. x86-64: the handler of a signal lets a thread go on in single
// steps. 64-bit Arm: a program cannot step itself, so no wait is proven there.
#pragma once

#include <elf.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace hcasim::machine {

// An instruction that reads the time-stamp counter, or the counter's frequency.
enum class counter_read { none, ticks, frequency };

#if defined(__x86_64__)

inline constexpr std::uint16_t elf_number = EM_X86_64;
inline constexpr bool can_step = true;
inline constexpr long long trap_flag = 0x100;

// Lets the other thread of this processor core work.
inline void pause() {
  __builtin_ia32_pause();
}

// All general registers and the instruction pointer: REG_R8 to REG_RIP follow one another.
using registers = std::array<std::uint64_t, 17>;
static_assert(REG_R8 == 0 && REG_RIP == 16);

inline void note(const ucontext_t& u, registers& out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint64_t>(u.uc_mcontext.gregs[i]);
}
inline std::uint64_t place_of(const ucontext_t& u) {
  return static_cast<std::uint64_t>(u.uc_mcontext.gregs[REG_RIP]);
}
inline const char* stack_of(const ucontext_t& u) {
  return reinterpret_cast<const char*>(u.uc_mcontext.gregs[REG_RSP]);
}
// Returns the flags, without the one of the steps.
inline std::uint64_t flags_of(const ucontext_t& u) {
  return static_cast<std::uint64_t>(u.uc_mcontext.gregs[REG_EFL] & ~trap_flag);
}
inline bool is_stepping(const ucontext_t& u) {
  return (u.uc_mcontext.gregs[REG_EFL] & trap_flag) != 0;
}
inline void let_step(ucontext_t& u, bool on) {
  auto& flags = u.uc_mcontext.gregs[REG_EFL];
  flags = on ? flags | trap_flag : flags & ~trap_flag;
}

// Returns whether the next instruction asks the kernel for another mask of signals. With SIGTRAP blocked a step ends the
// process.
inline bool changes_mask(const ucontext_t& u) {
  const auto& regs = u.uc_mcontext.gregs;
  const auto* at = reinterpret_cast<const unsigned char*>(regs[REG_RIP]);
  return regs[REG_RAX] == SYS_rt_sigprocmask && regs[REG_RIP] > 0 && at[0] == 0x0f && at[1] == 0x05;
}

inline std::uint64_t read_counter() {
  return __builtin_ia32_rdtsc();
}
// Returns what the instruction reads. A replaced read begins with HLT (preload/counter_reads.h).
inline counter_read read_at(const ucontext_t& u) {
  const auto* at = reinterpret_cast<const unsigned char*>(u.uc_mcontext.gregs[REG_RIP]);
  if (at[0] != 0x0f && at[0] != 0xf4) return counter_read::none;
  const bool rdtsc = at[1] == 0x31;
  const bool rdtscp = at[1] == 0x01 && at[2] == 0xf9;
  return rdtsc || rdtscp ? counter_read::ticks : counter_read::none;
}
// Puts the value where the instruction would have, and goes on behind the instruction.
inline void answer_read(ucontext_t& u, std::uint64_t value) {
  auto& regs = u.uc_mcontext.gregs;
  const bool rdtscp = reinterpret_cast<const unsigned char*>(regs[REG_RIP])[1] == 0x01;
  regs[REG_RAX] = static_cast<long long>(value & 0xffff'ffff);
  regs[REG_RDX] = static_cast<long long>(value >> 32);
  if (rdtscp) regs[REG_RCX] = 0;
  regs[REG_RIP] += rdtscp ? 3 : 2;
}
// Returns from a function at its first instruction.
inline void go_back(ucontext_t& u) {
  auto& regs = u.uc_mcontext.gregs;
  regs[REG_RIP] = *reinterpret_cast<const long long*>(regs[REG_RSP]);
  regs[REG_RSP] += 8;
}

#elif defined(__aarch64__)

inline constexpr std::uint16_t elf_number = EM_AARCH64;
inline constexpr bool can_step = false;

inline void pause() {
  __asm__ volatile("isb" ::: "memory");
}

// x0 to x30, the stack pointer and the instruction pointer.
using registers = std::array<std::uint64_t, 33>;

inline void note(const ucontext_t& u, registers& out) {
  for (std::size_t i = 0; i < 31; ++i) out[i] = u.uc_mcontext.regs[i];
  out[31] = u.uc_mcontext.sp;
  out[32] = u.uc_mcontext.pc;
}
inline std::uint64_t place_of(const ucontext_t& u) {
  return u.uc_mcontext.pc;
}
inline const char* stack_of(const ucontext_t& u) {
  return reinterpret_cast<const char*>(u.uc_mcontext.sp);
}
inline std::uint64_t flags_of(const ucontext_t& u) {
  return u.uc_mcontext.pstate;
}
inline bool is_stepping(const ucontext_t& /*u*/) {
  return false;
}
inline void let_step(ucontext_t& /*u*/, bool /*on*/) {}
inline bool changes_mask(const ucontext_t& /*u*/) {
  return false;
}

inline std::uint64_t read_counter() {
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
// Tells the reads of CNTVCT_EL0 and CNTVCTSS_EL0 from those of CNTFRQ_EL0. The lowest five bits name the register to fill.
inline counter_read read_at(const ucontext_t& u) {
  switch (*reinterpret_cast<const std::uint32_t*>(u.uc_mcontext.pc) & ~std::uint32_t{31}) {
    case 0xd53be040:
    case 0xd53be0c0:
      return counter_read::ticks;
    case 0xd53be000:
      return counter_read::frequency;
    default:
      return counter_read::none;
  }
}
inline void answer_read(ucontext_t& u, std::uint64_t value) {
  const std::uint32_t to = *reinterpret_cast<const std::uint32_t*>(u.uc_mcontext.pc) & 31;
  if (to < 31) u.uc_mcontext.regs[to] = value;  // 31 = the register that is always zero
  u.uc_mcontext.pc += 4;
}

#else
// The library is for the two above.
inline constexpr std::uint16_t elf_number = EM_NONE;

inline void pause() {}

#endif

}  // namespace hcasim::machine
