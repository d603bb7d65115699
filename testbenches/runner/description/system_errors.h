// What the operating system refused, in words that name the mend.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace hcasim {

// "Too many open files; raise the limit of open files (ulimit -n)". `mend` stands where the error says nothing of its own.
std::string cause(int error, std::string_view mend);
// Of an error that came as an exception, with what was being done.
std::string cause(const std::system_error& e);

// Throws input_error: `file` cannot be written. `error` is an errno; 0 = not known.
[[noreturn]] void cannot_write(const std::filesystem::path& file, int error);

// `prefix` NAME `ending` in the folder of `file`, a name of its own also where NAME has the 255 bytes that file systems allow.
std::filesystem::path beside(const std::filesystem::path& file, std::string_view prefix, std::string_view ending);

// Writes a file in whole or not at all; throws input_error.
void write_file(const std::filesystem::path& file, std::string_view content);

// An exception that says that memory is used up, also as the simulation kernel passes it on.
bool is_out_of_memory(const std::exception& e);
inline constexpr std::string_view out_of_memory = "memory is used up; make the run smaller or raise the limit (ulimit -v)";

}  // namespace hcasim
