// Running the built `hcasim` and reading files, for tests.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace hcasim {

struct outcome {
  int status;
  std::string text;  // stdout and stderr
};

inline outcome run_program(const char* program, const std::string& arguments) {
  std::FILE* p = ::popen(fmt::format("{} {} 2>&1", program, arguments).c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, p)) text.append(buffer, n);
  return {WEXITSTATUS(::pclose(p)), text};
}

// A port that runs of other tests do not listen at: one address for each process.
inline std::string own_listening_address() {
  const auto n = static_cast<unsigned>(::getpid());
  return fmt::format("127.{}.{}.{}:47912", 1 + n / 65536 % 60, n / 256 % 256, n % 256);
}

inline std::string file_content(const std::filesystem::path& name) {
  std::ostringstream s;
  s << std::ifstream(name, std::ios::binary).rdbuf();
  return s.str();
}

}  // namespace hcasim
