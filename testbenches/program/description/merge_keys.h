// Resolves the merge key of YAML, `<<: *name`.
#pragma once

#include <string>

namespace YAML {  // NOLINT(readability-identifier-naming): the library's
class Node;
}

namespace hcasim {

// Replaces each merge key by the keys of its mappings. A mapping's own key wins; among several mappings the first wins.
// `name` is the file's. Throws description_error.
void resolve_merge_keys(const YAML::Node& document, const std::string& name);

}  // namespace hcasim
