// Ctrl-C during a run leaves no half-written output: a thread waits for the signal, removes the folder and ends the program.
#pragma once

#include <filesystem>

namespace hcasim {

// Blocks SIGINT and SIGTERM for all threads made from here on; call it before any thread exists.
void block_interrupts();

class interrupt_guard {
 public:
  explicit interrupt_guard(const std::filesystem::path& temporary_folder);
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
};

}  // namespace hcasim
