// `hcasim new-unit`: a project of one's own with RTL in it that builds and passes, to begin from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hcasim {

struct new_unit_options {
  std::string name;  // of the module and the folder
  std::string kind = "key_check";
  std::filesystem::path folder;  // empty: NAME in the current one
};

// A unit that hcasim has RTL of; `stream`: any other; `axi4`: a memory behind AXI4; `device`, `tlp_device`: a PCIe device.
std::vector<std::string> unit_kinds();

// The files that were written, relative to the folder. Throws input_error; then nothing was.
struct new_unit {
  std::filesystem::path folder;
  std::vector<std::string> files;
};
new_unit make_new_unit(const new_unit_options& options);

}  // namespace hcasim
