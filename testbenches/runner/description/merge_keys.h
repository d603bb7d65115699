// The merge key of YAML, `<<: *name`.
#pragma once

#include <string>

namespace YAML {  // NOLINT(readability-identifier-naming): the library's
class Node;
}

namespace hcasim {

// Puts the keys of the mappings that a merge key names in its place, unless their mapping has them itself; of several mappings
// the first that has a key counts. `name`: of the file. Throws description_error.
void resolve_merge_keys(const YAML::Node& document, const std::string& name);

}  // namespace hcasim
