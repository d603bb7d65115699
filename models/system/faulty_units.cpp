#include "models/system/faulty_units.h"

namespace hcasim {

namespace {

void collect(const sc_core::sc_object& of, std::size_t prefix, std::vector<std::pair<std::string, faulty*>>& out) {
  for (sc_core::sc_object* o : of.get_child_objects()) {
    if (auto* u = dynamic_cast<faulty*>(o)) out.emplace_back(std::string(o->name()).substr(prefix), u);
    collect(*o, prefix, out);
  }
}

}  // namespace

std::vector<std::pair<std::string, faulty*>> faulty_units(const sc_core::sc_object& top) {
  std::vector<std::pair<std::string, faulty*>> found;
  collect(top, std::string(top.name()).size() + 1, found);
  return found;
}

}  // namespace hcasim
