// Shared objects with units (unit_object.h): those of users, and the project's own designs. Objects stay loaded, since their
// code is in use until the program ends.
#pragma once

#include <string>

#include "tlm/rtl/unit_object.h"

namespace hcasim::rtl {

// Throws std::invalid_argument: WHO.implementation: FILE, and why it is refused.
[[noreturn]] void refuse(const std::string& who, const std::string& file, const std::string& why);

// Loads a user's object for the unit `who`. Throws as `refuse` does: a file that is none, or of another version or layout.
const unit_object& load_unit(const std::string& who, const std::string& file);

// Loads a design of hca_add_rtl LOADED: NAME.so of the folder `designs`, which stands in the program's RUNPATH. Throws
// missing_part, which names the target that builds the design: the design was not built, or not installed. Throws
// std::invalid_argument: the object belongs to another build.
design_factory own_design(const char* name, const char* target);

}  // namespace hcasim::rtl
