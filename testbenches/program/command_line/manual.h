// The manual page and the shell completions, made of the same declarations as --help.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hcasim {

// Returns the manual in roff, for `man -l`.
std::string manual_page(const CLI::App& app, const std::string& version);
// Returns the manual for programs: every command with its options.
nlohmann::ordered_json manual_json(const CLI::App& app, const std::string& version);
// Returns the completion script for a shell: bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace hcasim
