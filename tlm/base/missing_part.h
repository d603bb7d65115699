// A part of hcasim in a file of its own, which may not have been built or installed.
#pragma once

#include <stdexcept>
#include <string>

namespace hcasim {

struct missing_part : std::runtime_error {
  explicit missing_part(const std::string& message) : std::runtime_error(message) {}
  // `part`: noun phrase; `file`: the place of the search; `target`: a build makes the part with it.
  missing_part(const std::string& part, const std::string& file, const std::string& target = "parts")
      : std::runtime_error(part + " is not there: " + file + ". A build makes it with `./dev build " + target + "` (ninja " +
                           target + "), an installation has it beside the program") {}
};

}  // namespace hcasim
