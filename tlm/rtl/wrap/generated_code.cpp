#include "generated_code.h"

#include <algorithm>
#include <cstdint>

#include "text.h"

namespace hcasim::wrap {
namespace {

// Makes one blank of blanks and ends of lines.
std::string in_one_line(std::string_view code) {
  std::string line;
  line.reserve(code.size());
  for (const char c : code) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank) line += c;
    if (blank && (line.empty() || line.back() != ' ')) line += ' ';
  }
  return line;
}

// `field.at(NUMBERU) = value;` in generated code.
struct assignment {
  std::string number;
  std::string value;
  std::size_t begin = 0;
  std::size_t end = 0;  // behind the value
};
std::vector<assignment> assignments_of(std::string_view code, const std::string& field) {
  std::vector<assignment> all;
  const std::string begins = field + ".at(";
  for (std::size_t at = code.find(begins); at != std::string_view::npos; at = code.find(begins, at + 1)) {
    const std::size_t number = at + begins.size();
    const std::size_t close = code.find("U) = ", number);
    if (close == std::string_view::npos || !is_number(code.substr(number, close - number))) continue;
    const std::size_t value = close + 5;
    const std::size_t end = std::min(code.find(';', value), code.size());
    all.push_back({std::string(code.substr(number, close - number)), std::string(code.substr(value, end - value)), at, end});
  }
  return all;
}

// Returns whether nothing happens between a clock and what it sets off.
bool acts_at_once(std::string_view code, const std::string& name) {
  const std::string begins = "___eval_act(V" + name + "___024root* vlSelf) { if (false && vlSelf) {} // Prevent unused";
  for (std::size_t at = code.find(begins); at != std::string_view::npos; at = code.find(begins, at + 1)) {
    constexpr std::string_view debug = "; VL_DEBUG_IF(", ends = "; ); }";
    const std::size_t first = code.find(';', at);
    if (first == std::string_view::npos || code.substr(first, debug.size()) != debug) continue;
    const std::size_t second = code.find(';', first + debug.size());
    if (second != std::string_view::npos && code.substr(second, ends.size()) == ends) return true;
  }
  return false;
}

std::string edge(const std::string& pin, bool rises) {
  const std::string now = "(IData)(vlSelf->" + pin + ")", before = "(IData)(vlSelf->__Vtrigrprev__TOP__" + pin + ")";
  return rises ? "(" + now + " & (~ " + before + "))" : "((~ " + now + ") & " + before + ")";
}

// Returns the clocks whose edges are the whole of a trigger's condition, besides edges of resets; nothing = there is more.
std::optional<std::uint64_t> clocks_in(std::string when, const std::vector<std::string>& clocks,
                                       const std::vector<std::string>& resets) {
  for (const std::string& reset : resets) {
    replace_all(when, edge(reset, false), "");
    replace_all(when, edge(reset, true), "");
  }
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const std::string rises = edge(clocks[i], true);
    if (when.find(rises) == std::string::npos) continue;
    mask |= std::uint64_t{1} << i;
    replace_all(when, rises, "");
  }
  return when.find_first_not_of("() |") == std::string::npos ? std::optional(mask) : std::nullopt;
}

// Returns the statements of the outermost blocks of a function.
std::vector<std::string> statements_of(const std::string& function) {
  constexpr std::string_view begins = "\n    ";
  std::vector<std::string> all;
  std::size_t from = 0;
  for (std::size_t at = function.find(begins); at != std::string::npos; at = function.find(begins, at + begins.size())) {
    const std::size_t next = at + begins.size();
    if (next >= function.size() || function[next] == ' ' || function[next] == '}') continue;
    all.push_back(function.substr(from, at - from));
    from = next;
  }
  all.push_back(function.substr(from));
  return all;
}

std::vector<std::string> reading(const std::vector<std::string>& statements, const std::string& pin) {
  std::vector<std::string> some;
  std::copy_if(statements.begin(), statements.end(), std::back_inserter(some),
               [&pin](const std::string& s) { return mentions(s, pin); });
  std::sort(some.begin(), some.end());
  return some;
}

// Tells whether the name of a function of `___ico_<letters>__TOP` stands in the text.
bool is_of_inputs(const std::string& function) {
  constexpr std::string_view begins = "___ico_";
  for (std::size_t at = function.find(begins); at != std::string::npos; at = function.find(begins, at + 1)) {
    const std::size_t end = function.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + begins.size());
    if (end != std::string::npos && end > at + begins.size() && function.compare(end, 5, "__TOP") == 0) return true;
  }
  return false;
}

}  // namespace

std::optional<steps> find_steps(std::string_view code, const std::string& name, const std::vector<std::string>& clocks,
                                const std::vector<std::string>& resets) {
  std::string text = in_one_line(code);
  steps found;
  const std::vector<assignment> rounds = assignments_of(text, "__VicoTriggered");
  found.inputs_pass = !rounds.empty();
  if (rounds.size() > 1 ||
      (found.inputs_pass && (rounds[0].number != "0" || rounds[0].value != "(0U == vlSelf->__VicoIterCount)")))
    return {};
  const std::vector<assignment> triggers = assignments_of(text, "__VactTriggered");
  if (triggers.empty() || clocks.size() > 31 || !acts_at_once(text, name)) return {};
  for (const assignment& t : triggers) {
    const std::optional<std::uint64_t> mask = clocks_in(t.value, clocks, resets);
    if (!mask) return {};
    found.triggers += "    triggered.at(" + t.number + "U) = (of_clocks & " + std::to_string(*mask) + "U) != 0;\n";
  }
  std::for_each(triggers.rbegin(), triggers.rend(), [&text](const assignment& t) { text.erase(t.begin, t.end - t.begin); });
  for (const std::string& clock : clocks) {
    std::string noted = "vlSelf->__Vtrigrprev__TOP__";
    noted.append(clock).append(" = vlSelf->").append(clock).append(";");
    replace_all(text, noted, "");
    replace_all(text, "(vlSelf->" + clock + " & 0xfeU)", "");  // Verilator's own check of the pin
    if (mentions(text, clock)) return {};
  }
  return found;
}

std::vector<std::string> find_falling(const std::string& code, const std::vector<std::string>& valids) {
  constexpr std::string_view one_by_one = "__VnbaTriggered.at(";  // clocks that rise one by one
  for (std::size_t at = code.find(one_by_one); at != std::string::npos; at = code.find(one_by_one, at + 1)) {
    if (const char c = code[at + one_by_one.size()]; c >= '1' && c <= '9') return {};
  }
  std::vector<std::string> of_inputs, of_clocks;
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find("\n}\n", begin), code.size());
    const std::string function = code.substr(begin, end - begin);
    begin = end + 3;
    const bool inputs = is_of_inputs(function);
    if (!inputs && function.find("___eval_debug_assertions") != std::string::npos) continue;
    std::vector<std::string> statements = statements_of(function);
    std::move(statements.begin(), statements.end(), std::back_inserter(inputs ? of_inputs : of_clocks));
  }
  std::vector<std::string> falling;
  for (const std::string& valid : valids) {
    if (valid.find('[') == std::string::npos && reading(of_inputs, valid) == reading(of_clocks, valid))
      falling.push_back(valid);
  }
  return falling;
}

}  // namespace hcasim::wrap
