// The ports of a Verilated module, as its header declares them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim::wrap {

struct port {
  std::string name;
  bool output = false;
  unsigned bits = 0;
};

class module_ports {
 public:
  // `header`: V<name>.h. `slow_code`: the generated code of a design's begin, which tells a structure from a bit. Refuses ports
  // without a pin: inouts, arrays, and structures that are not packed.
  module_ports(std::string_view header, std::string_view slow_code);

  [[nodiscard]] const std::vector<port>& all() const { return all_; }
  [[nodiscard]] std::vector<std::string> names() const;
  // Returns null when there is none. `find_any_case` takes small and large letters for the same.
  [[nodiscard]] const port* find(std::string_view name) const;
  [[nodiscard]] const port* find_any_case(const std::string& name) const;

 private:
  std::vector<port> all_;
  std::map<std::string, std::size_t> by_small_letters_;
};

}  // namespace hcasim::wrap
