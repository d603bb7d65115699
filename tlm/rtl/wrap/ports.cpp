#include "ports.h"

#include <algorithm>

#include "text.h"

namespace hcasim::wrap {
namespace {

// A declaration `VL_IN8(&name,high,low);`, of which the wide ones have a fourth argument.
struct declaration {
  std::string way;
  std::vector<std::string> arguments;
};

bool read(std::string_view line, declaration& d) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::size_t open = line.find('(');
  if (!line.starts_with("VL_") || open == std::string_view::npos) return false;
  std::string_view kind = line.substr(3, open - 3);
  for (const std::string_view size : {"8", "16", "64", "W"}) {
    if (kind.ends_with(size)) {
      kind.remove_suffix(size.size());
      break;
    }
  }
  if (kind != "IN" && kind != "OUT" && kind != "INOUT") return false;
  d = {std::string(kind), split(line.substr(open + 1), ',')};
  for (std::string& a : d.arguments) a.erase(std::min(a.find(')', a.starts_with('(') ? a.find(')') + 1 : 0), a.size()));
  return d.arguments.size() >= 3;
}

unsigned number_of(const std::string& text) {
  return is_number(text) ? static_cast<unsigned>(std::stoul(text)) : 0;
}

}  // namespace

module_ports::module_ports(std::string_view header, std::string_view slow_code) {
  for (const std::string& line : split(header, '\n')) {
    declaration d;
    if (!read(line, d)) continue;
    std::string name = d.arguments[0];
    if (name.starts_with("(&")) {
      throw refusal(
          "port " + name.substr(2, name.find(')') - 2) +
          " is an unpacked array. Pins are of packed ports: declare it [N-1:0][BITS-1:0], or put a module around it that "
          "does; docs/verilator.md has an example.");
    }
    if (name.starts_with('&')) name.erase(0, 1);
    if (d.way == "INOUT") throw refusal("port " + name + " is an inout; only inputs and outputs can be driven");
    const unsigned bits = number_of(d.arguments[1]) - number_of(d.arguments[2]) + 1;
    if (bits == 1 && slow_code.find("vlSelf->" + name + ".") != std::string_view::npos) {
      throw refusal("port " + name +
                    " is an unpacked structure. Pins are of packed ports: declare it `struct packed`; "
                    "docs/verilator.md has an example.");
    }
    by_small_letters_[lower(name)] = all_.size();
    all_.push_back({name, d.way == "OUT", bits});
  }
}

std::vector<std::string> module_ports::names() const {
  std::vector<std::string> names;
  names.reserve(all_.size());
  for (const port& p : all_) names.push_back(p.name);
  return names;
}

const port* module_ports::find(std::string_view name) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [name](const port& p) { return p.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

const port* module_ports::find_any_case(const std::string& name) const {
  const auto found = by_small_letters_.find(lower(name));
  return found == by_small_letters_.end() ? nullptr : &all_[found->second];
}

}  // namespace hcasim::wrap
