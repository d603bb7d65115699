// The manual page and the shell completions, made of the same declarations as --help.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hcasim {

// roff, for `man -l`.
std::string manual_page(const CLI::App& app, const std::string& version);
// The same, for programs: every command with its options.
nlohmann::ordered_json manual_json(const CLI::App& app, const std::string& version);
// `shell`: bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace hcasim
