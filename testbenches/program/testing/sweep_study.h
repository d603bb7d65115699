// Runs studies with the sample program in a folder of their own, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {

using rows = std::vector<std::vector<std::string>>;

class sweep_study : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::selftest, arguments); }
  static void file(const std::string& name, const std::string& text) { std::ofstream(name) << text; }
  static rows query(const std::string& folder, const std::string& sql) {
    result_file f = result_file::open(std::filesystem::path(folder) / result_file::file_name, false);
    rows out;
    f.query(sql, [&](const auto& row) { out.push_back(row); });
    return out;
  }
  // Returns the part of the rows that must be the same whenever and wherever a point runs.
  static rows points(const std::string& folder) { return query(folder, "SELECT * FROM points ORDER BY id"); }
  static void refused(const std::string& arguments, const std::string& message) {
    const outcome o = hcasim("sweep " + arguments);
    EXPECT_EQ(o.status, 2) << arguments;
    EXPECT_EQ(o.text, "hcasim: " + message + "\n") << arguments;
  }
  // A study with one more line, or another text instead of a line.
  static std::string study(const std::string& axes, const std::string& metrics = "  latency: {figure: latency}\n",
                           const std::string& parameters = "{ticks: 20}") {
    return "study: sample\nquestion: What about it?\nbase:\n  testbench: count_ticks\n  parameters: " + parameters +
           "\naxes:\n" + axes + "metrics:\n" + metrics;
  }
};

}  // namespace hcasim
