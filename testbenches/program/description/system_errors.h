// Errors of the operating system, in words that name the mend.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace hcasim {

// Returns the error and its mend: "Too many open files; raise the limit of open files (ulimit -n)". `mend` is the default.
std::string cause(int error, std::string_view mend);
// Returns the same for an exception, with the action that failed.
std::string cause(const std::system_error& e);

// Throws input_error: `file` cannot be written. `error` is an errno; 0 = unknown.
[[noreturn]] void cannot_write(const std::filesystem::path& file, int error);

// Returns PREFIX NAME ENDING in the folder of `file`; a hash replaces a NAME that would make it longer than 255 bytes.
std::filesystem::path beside(const std::filesystem::path& file, std::string_view prefix, std::string_view ending);

// Writes a whole file or none; throws input_error.
void write_file(const std::filesystem::path& file, std::string_view content);

// True when memory is used up, also for an exception that the simulation kernel passes on.
bool is_out_of_memory(const std::exception& e);
inline constexpr std::string_view out_of_memory = "memory is used up; make the run smaller or raise the limit (ulimit -v)";

}  // namespace hcasim
