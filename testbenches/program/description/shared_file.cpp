#include "testbenches/program/description/shared_file.h"

#include <cstdlib>
#include <sstream>
#include <string>

#include "testbenches/program/description/own_program.h"

namespace hcasim {

namespace fs = std::filesystem;

std::vector<fs::path> shared_folders() {
  std::vector<fs::path> out;
  if (const char* list = std::getenv("HCASIM_PATH")) {
    std::istringstream in(list);
    for (std::string folder; std::getline(in, folder, ':');) {
      if (!folder.empty()) out.emplace_back(folder);
    }
  }
  std::error_code ec;
  for (fs::path folder = own_program().parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / "share/hcasim", ec)) {
      out.push_back(folder / "share/hcasim");
      break;
    }
    if (!folder.has_relative_path()) break;
  }
  return out;
}

fs::path shared_file(const fs::path& name) {
  std::error_code ec;
  for (const fs::path& folder : shared_folders()) {
    if (fs::exists(folder / name, ec)) return folder / name;
  }
  return {};
}

}  // namespace hcasim
