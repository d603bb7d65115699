#include "tlm/rtl/unit_loading.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

#include "tlm/base/ending.h"
#include "tlm/base/missing_part.h"
#include "tlm/rtl/object_file.h"

namespace hcasim::rtl {
namespace {

// Returns the unit that a loaded object exports.
const unit_object& exported(void* object, const std::string& who, const std::string& file) {
  void* const symbol = ::dlsym(object, "hcasim_unit");
  if (!symbol) refuse(who, file, " exports no hcasim_unit; build it with hca_add_unit (docs/coverification.md)");
  const auto get = reinterpret_cast<const unit_object* (*)()>(symbol);
  const unit_object* const unit = get();
  if (!unit) refuse(who, file, ": hcasim_unit gives nothing");
  if (unit->version != unit_object::this_version) {
    refuse(who, file,
           " was made for version " + std::to_string(unit->version) + " of the interface, this program has " +
               std::to_string(unit_object::this_version) + "; build it again with this hcasim");
  }
  if (unit->layout != unit_object::this_layout)
    refuse(who, file, " was compiled with other headers than this program; build it again with this hcasim");
  return *unit;
}

}  // namespace

void refuse(const std::string& who, const std::string& file, const std::string& why) {
  throw std::invalid_argument(who + ".implementation: " + file + why);
}

const unit_object& load_unit(const std::string& who, const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::path path = fs::absolute(file);
  if (!fs::exists(path, ec)) {
    const std::string whole = path.lexically_normal().string();
    refuse(who, file, " is not there" + (whole == file ? std::string() : " (" + whole + ")"));
  }
  if (!fs::is_regular_file(path, ec)) refuse(who, file, " is not a file; name a shared object (.so)");
  if (const std::string how = cut_off(path.string()); !how.empty())
    refuse(who, file, " is not a shared object that can be loaded: " + how);
  const std::string loading = who + ".implementation: loading " + file;
  const ending::unfinished work(loading.c_str());
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    const std::string why = ::dlerror();
    const bool undefined = why.find("undefined symbol") != std::string::npos;
    refuse(who, file, (undefined ? " does not stand alone: " : " is not a shared object that can be loaded: ") + why);
  }
  return exported(object, who, file);
}

design_factory own_design(const char* name, const char* target) {
  const std::string file = std::string(name) + ".so";
  void* const object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) throw missing_part(std::string("the RTL design ") + name, ::dlerror(), target);
  return exported(object, "rtl", file).make;
}

}  // namespace hcasim::rtl
