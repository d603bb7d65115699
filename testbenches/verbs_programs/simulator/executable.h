// Checks before a program is started: its words, its path, and whether the preload library can enter it.
#pragma once

#include <string>
#include <vector>

namespace hcasim::applications {

// Words as a shell splits them: blanks, 'single' and "double" quotes, backslashes. Throws std::invalid_argument when a quote is
// not closed.
std::vector<std::string> split_words(const std::string& line);

struct found_program {
  std::string path;
  std::string objection;  // empty = the program can be run
};
// Finds a program as execvp would.
found_program find_program(const std::string& name);

}  // namespace hcasim::applications
