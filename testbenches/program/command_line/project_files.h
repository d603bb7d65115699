// Projects of one's own, written from the templates of an installation or of a build.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hcasim {

// Places of templates and RTL, and the argument of find_package(hcasim).
struct installation {
  std::filesystem::path share;
  std::filesystem::path prefix;
};
// Returns that of this program. Throws input_error: it has none. `command` begins the errors.
installation own_installation(const std::string& command);

using project_files = std::map<std::string, std::string>;  // text by name

// Returns the text of a template. Throws input_error: it cannot be read.
std::string template_text(const std::filesystem::path& file, const std::string& command);
std::string replaced(std::string text, const std::string& what, const std::string& with);
// Returns NAME of the current folder unless another one is named. Throws input_error when something is there already.
std::filesystem::path project_folder(const std::filesystem::path& named, const std::string& name, const std::string& command);
// Writes the files; returns their names. Throws input_error.
std::vector<std::string> write_project(const std::filesystem::path& folder, const project_files& files,
                                       const std::string& command);

}  // namespace hcasim
