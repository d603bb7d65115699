// `hcasim new-unit`: a project of one's own with RTL, ready to build and to pass, as a beginning.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hcasim {

struct new_unit_options {
  std::string name;  // name of the module and the folder
  std::string kind = "key_check";
  std::filesystem::path folder;  // empty: NAME in the current one
};

// Returns the kinds: a unit with RTL in hcasim; `stream`: any other; `axi4`: a memory; `device`, `tlp_device`: a PCIe device.
std::vector<std::string> unit_kinds();

// The written files, relative to the folder. make_new_unit throws input_error, and then has written nothing.
struct new_unit {
  std::filesystem::path folder;
  std::vector<std::string> files;
};
new_unit make_new_unit(const new_unit_options& options);

}  // namespace hcasim
