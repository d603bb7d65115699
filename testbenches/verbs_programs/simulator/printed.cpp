#include "testbenches/verbs_programs/simulator/printed.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace hcasim::applications {
namespace {

std::string as_name(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

// Columns have a unit in brackets, or begin with '#'.
std::vector<printed_figure> columns_of(std::string_view line) {
  constexpr std::string_view blank = " \t";
  std::vector<printed_figure> out;
  for (std::size_t at = line.find_first_not_of(blank); at < line.size(); at = line.find_first_not_of(blank, at)) {
    if (line[at] == '#') {
      const std::size_t end = std::min(line.find_first_of(blank, at), line.size());
      out.push_back({as_name(line.substr(at, end - at)), "1"});
      at = end;
    } else {
      const std::size_t open = line.find('[', at);
      const std::size_t close = line.find(']', open);
      if (close == std::string_view::npos) return {};
      out.push_back({as_name(line.substr(at, open - at)), std::string(line.substr(open + 1, close - open - 1))});
      at = close + 1;
    }
  }
  return out;
}

bool numbers_of(const std::string& line, std::vector<double>& out) {
  out.clear();
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    char* end = nullptr;
    out.push_back(std::strtod(word.c_str(), &end));
    if (*end != '\0') return false;
  }
  return true;
}

}  // namespace

std::vector<printed_figure> printed_figures(const std::string& text) {
  std::vector<printed_figure> head;
  bool found = false;
  std::vector<double> numbers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin != std::string::npos && line.compare(begin, 6, "#bytes") == 0) {
      head = columns_of(std::string_view(line).substr(begin));
      found = false;
    } else if (!head.empty() && numbers_of(line, numbers) && numbers.size() == head.size()) {
      for (std::size_t i = 0; i < head.size(); ++i) head[i].value = numbers[i];
      found = true;
    }
  }
  return found ? head : std::vector<printed_figure>();
}

}  // namespace hcasim::applications
