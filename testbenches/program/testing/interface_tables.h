// Tables of the hardware/software contract, read from the headers of firmware/abi: every structure with the place of each
// field, every enumeration with its values.
#pragma once

#include <filesystem>
#include <string>

namespace hcasim::testing {

// Markdown; throws std::runtime_error at a line it cannot read.
std::string interface_tables(const std::filesystem::path& abi);

}  // namespace hcasim::testing
