#include "testbenches/checks/key_walk/key_script.h"

#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace hcasim::testing {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(key_order::orders)> names = {
    "reg", "dereg", "rereg", "bind_1", "bind_2", "inv", "send_inv", "fast", "add", "remove", "access", "local", "renew"};

}  // namespace

std::ostream& operator<<(std::ostream& out, const key_step& s) {
  out << names[static_cast<std::size_t>(s.order)];
  for (const std::uint32_t n : s.n) out << ' ' << n;
  return out;
}

std::string text_of(const std::vector<key_step>& script) {
  std::ostringstream out;
  for (const key_step& s : script) out << s << '\n';
  return out.str();
}

std::vector<key_step> parse_script(const std::string& text) {
  std::vector<key_step> script;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    std::istringstream words(line);
    std::string name;
    key_step s;
    words >> name;
    std::size_t order = 0;
    while (order < names.size() && names[order] != name) ++order;
    for (std::uint32_t& n : s.n) words >> n;
    if (order == names.size() || words.fail()) throw std::invalid_argument("no order of a key script: " + line);
    s.order = static_cast<key_order>(order);
    script.push_back(s);
  }
  return script;
}

}  // namespace hcasim::testing
