// Tables of the hardware/software contract, read from the headers of firmware/abi: every structure with the place of each
// field, every enumeration with its values.
#pragma once

#include <filesystem>
#include <string>

namespace hcasim::testing {

// Returns Markdown; throws std::runtime_error at a line in an unknown form.
std::string interface_tables(const std::filesystem::path& abi);

}  // namespace hcasim::testing
