// The manual page, made of the same declarations as --help.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
class Option;
}  // namespace CLI

namespace hcasim {

// Returns the options that --help shows.
std::vector<const CLI::Option*> shown_options(const CLI::App& app);
// Returns the manual in roff, for `man -l`.
std::string manual_page(const CLI::App& app, const std::string& version);
// Returns the manual for programs: every command with its options.
nlohmann::ordered_json manual_json(const CLI::App& app, const std::string& version);

}  // namespace hcasim
