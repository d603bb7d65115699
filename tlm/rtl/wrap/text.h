// Common parts of hcasim_wrap: words of a text, files, and the end with a message.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim::wrap {

// A message to the user. hca_add_rtl puts its name and the name of the design before the text.
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<std::string> words_of(std::string_view text);
std::vector<std::string> split(std::string_view text, char at);
// Returns the parts, one behind the other.
std::string text_of(std::initializer_list<std::string_view> parts);
std::string join(const std::vector<std::string>& parts, std::string_view between);
std::string lower(std::string_view text);
// Returns whether the text is not empty and has these characters alone, or letters, digits and underscores.
bool is_number(std::string_view text);
bool is_of_names(std::string_view text, std::string_view more = {});
bool has(const std::vector<std::string>& list, std::string_view one);
void replace_all(std::string& text, std::string_view from, std::string_view to);
// Returns whether `pin` stands in generated code as a member: behind '>' or '.', and no longer name.
bool mentions(std::string_view code, std::string_view pin);

std::string read_file(const std::string& file);
// Writes a file whose content is another one, so that nothing is built again without a reason.
void write_changed(const std::string& file, const std::string& text);

}  // namespace hcasim::wrap
