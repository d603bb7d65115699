#include "testbenches/program/command_line/project_files.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/own_program.h"

namespace hcasim {

namespace fs = std::filesystem;

installation own_installation(const std::string& command) {
  const fs::path program = own_program().parent_path();
  const fs::path installed = program.parent_path() / "share/hcasim";
  if (fs::exists(program / "hcasimConfig.cmake")) return {program / "share/hcasim", program};
  if (fs::exists(installed / "testbenches/coverification/templates")) return {installed, program.parent_path()};
  throw input_error(
      fmt::format("{}: the templates are neither in {} nor in a build beside the program", command, installed.string()));
}

std::string template_text(const fs::path& file, const std::string& command) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw input_error(fmt::format("{}: {} cannot be read: install hcasim again", command, file.string()));
  return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

fs::path project_folder(const fs::path& named, const std::string& name, const std::string& command) {
  const fs::path folder = named.empty() ? fs::path(name) : named;
  std::error_code ec;
  if (fs::exists(folder, ec) && !(fs::is_directory(folder, ec) && fs::is_empty(folder, ec))) {
    throw input_error(
        fmt::format("{}: {} is there already; remove it, or name another folder with -o", command, folder.string()));
  }
  return folder;
}

std::vector<std::string> write_project(const fs::path& folder, const project_files& files, const std::string& command) {
  std::vector<std::string> written;
  std::error_code ec;
  fs::create_directories(folder, ec);
  for (const auto& [file, text] : files) {
    std::ofstream out(folder / file);
    out << text;
    out.flush();
    if (!out) throw input_error(fmt::format("{}: {} cannot be written", command, (folder / file).string()));
    written.push_back(file);
  }
  return written;
}

}  // namespace hcasim
