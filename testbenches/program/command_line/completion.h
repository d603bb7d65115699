// Completion in shells. The script of a shell asks the program what may stand at the end of the line.
#pragma once

#include <string>
#include <vector>

#include "testbenches/program/execution/platform.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hcasim {

// Returns the completion script for a shell: bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

// Returns the words that may stand in the place of the line's last one. They are commands, options, testbenches and parameters,
// knobs behind --set, signals behind --trace, and values. A path is completed up to its next part, which a dot ends.
std::vector<std::string> completions(const CLI::App& app, platform_factory machine, const std::string& line);

}  // namespace hcasim
