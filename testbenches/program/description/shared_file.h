// Finds the files that the program brings along: presets and systems, templates, the parts of the report's page. A build has
// the same folders beside the program as an installation.
#pragma once

#include <filesystem>
#include <vector>

namespace hcasim {

// Returns the folders of $HCASIM_PATH (a colon-separated list), then share/hcasim of the program's folder or of the nearest
// folder above.
std::vector<std::filesystem::path> shared_folders();

// Returns `name`, a file or a folder, in the first of these folders that has one; empty = there is none.
std::filesystem::path shared_file(const std::filesystem::path& name);

}  // namespace hcasim
