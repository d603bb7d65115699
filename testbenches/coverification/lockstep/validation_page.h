// Compares the figures of docs/validation.md with figures that tests have measured.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "testbenches/program/places/places.h"

namespace hcasim::lockstep {

// Demands `row`, which this run has measured, as the page's row with this begin. HCASIM_UPDATE_GOLDEN rewrites the row after an
// intended change.
inline void check_row(const std::string& begin, const std::string& row) {
  const std::string file = std::string(places::source) + "/docs/validation.md";
  std::ifstream in(file);
  std::stringstream text;
  std::string found;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(begin)) {
      found = line;
      line = row;
    }
    text << line << '\n';
  }
  in.close();
  ASSERT_NE(found, "") << file << " has no row '" << begin << "'";
  if (std::getenv("HCASIM_UPDATE_GOLDEN")) {
    std::ofstream(file) << text.str();
  } else {
    EXPECT_EQ(found, row);
  }
}
}  // namespace hcasim::lockstep
