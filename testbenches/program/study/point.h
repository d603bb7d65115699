// One point of a study: its run in this process, and its results as fields of text for a pipe or a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "testbenches/program/study/study.h"

namespace hcasim {

// Everything but `host` and `catalogue` is a function of the description and the seed.
struct point_record {
  std::uint64_t id = 0;
  std::string status;  // passed; failed: a check; refused: bad input; crashed; timeout
  std::string seed;
  std::string version;
  std::string testbench;
  std::string simulated_ns;
  // JSON
  std::string axes;  // name: label
  std::string metrics;
  std::string figures;
  std::string units;  // units of the figures
  std::string tables;
  std::string statistics;
  std::string resources;
  std::string cost;       // of the on-chip memories
  std::string breakdown;  // of operations, if a metric asks
  std::string series;     // statistics over time, if a metric asks
  std::string filling;    // caches that were still being filled
  std::string description;
  std::string presets;
  std::string failures;
  std::string what_if;  // gains of relieving each resource, when the study asks for them
  std::string host;
  // The meaning of the statistics (JSON [[unit, name, unit of measure, help], ...]); sent only when the receiver does not have
  // it.
  std::string catalogue;
  std::string catalogue_hash;
  std::string metric_error;  // a metric that this run does not have: a mistake in the study

  template <class V>
  void each(V visit) {
    for (std::string* f :
         {&status, &seed,      &version,        &testbench,    &simulated_ns, &axes,      &metrics,  &figures,
          &units,  &tables,    &statistics,     &resources,    &description,  &presets,   &failures, &what_if,
          &host,   &catalogue, &catalogue_hash, &metric_error, &cost,         &breakdown, &series,   &filling}) {
      visit(*f);
    }
  }
};

std::string encode(point_record& r);
// Returns false when the text is not complete.
bool decode(std::string_view text, point_record& r);

// Returns the labels of a point's values, as JSON.
std::string axes_json(const study& s, std::uint64_t id);

// Runs the point in this process, which must not have elaborated anything and ends afterwards, with the simulation as it is.
// `scratch`: an empty folder for the testbench. Unfit input is a status, not an exception. `knows`: returns whether the
// receiver has the catalogue of this hash.
point_record run_point(const study& s, std::uint64_t id, platform_factory machine, const std::filesystem::path& scratch,
                       const std::function<bool(const std::string&)>& knows);

}  // namespace hcasim
