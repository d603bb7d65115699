#include "testbenches/program/description/own_program.h"

#include <sys/auxv.h>

namespace hcasim {

// The name that the program was started by serves when /proc is not mounted.
std::filesystem::path own_program() {
  std::error_code ec;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ec);
  if (!ec) return program;
  const auto* const name =
      reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr): its type
  return name ? std::filesystem::canonical(name, ec) : std::filesystem::path();
}

}  // namespace hcasim
