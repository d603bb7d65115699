// Compares the figures of docs/validation.md with what tests have measured.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "testbenches/program/places/places.h"

namespace hcasim::lockstep {

// Demands that the row that begins so is what this run has measured. HCASIM_UPDATE_GOLDEN writes it anew after a change that is
// meant.
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
