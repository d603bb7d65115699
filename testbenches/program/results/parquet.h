// A table as an Apache Parquet file: one row group, plain values, no compression (parquet.apache.org, file format 1).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace hcasim {

// Returns the file's bytes. `rows`: arrays with a value for each column. A column of integers is INT64, of numbers DOUBLE, of
// others UTF-8 text; null = no value.
std::string parquet_file(const std::vector<std::string>& columns, const nlohmann::ordered_json& rows);

}  // namespace hcasim
