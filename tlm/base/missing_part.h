// A part of hcasim in a file of its own, which may not have been built or installed.
#pragma once

#include <stdexcept>
#include <string>

namespace hcasim {

struct missing_part : std::runtime_error {
  explicit missing_part(const std::string& message) : std::runtime_error(message) {}
  // `part`: noun phrase; `file`: where it was looked for.
  missing_part(const std::string& part, const std::string& file)
      : std::runtime_error(
            part + " is not there: " + file +
            ". A build makes it with `./dev build parts` (ninja parts), an installation has it beside the program") {}
};

}  // namespace hcasim
