#include "testbenches/program/report/operation_way.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/description/errors.h"

namespace hcasim {
namespace {

using json = nlohmann::ordered_json;

// A slice that is the whole of an operation in its requester has this argument (span_words.h).
constexpr const char* of_whole = "block";

ps as_time(const json& microseconds) {
  return ps(std::llround(microseconds.get<double>() * 1e6));
}

// Calls `on_slice(event, node, unit)` for each slice of an operation. An event is a line, and tracks are named at the end of
// the file: so it is read twice.
class span_file_reader {
 public:
  explicit span_file_reader(const std::filesystem::path& path) : path_(path) {
    each_line("\"ph\":\"M\"", [this](const json& e) {
      if (!e.at("args").contains("name")) return;
      const std::string name = e.at("args").at("name");
      if (e.at("name") == "process_name") nodes_[e.at("pid")] = name;
      if (e.at("name") == "thread_name") units_[e.at("tid")] = name.substr(0, name.find(' '));  // without the lane's number
    });
  }

  template <class OnSlice>
  void each_slice(const std::string& operation, OnSlice on_slice) {
    each_line(fmt::format(R"("operation":"{}{})", operation, operation.empty() ? "" : "\""),
              [&](const json& e) { on_slice(e, nodes_[e.at("pid")], units_[e.at("tid")]); });
  }

 private:
  template <class OnEvent>
  void each_line(const std::string& with, OnEvent on_event) {
    std::ifstream file(path_);
    if (!file) {
      throw input_error(fmt::format("{}: there are no spans; run the testbench again with --spans", path_.string()));
    }
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      if (line.find(with) == std::string::npos) continue;
      try {
        if (line.ends_with(',')) line.pop_back();
        on_event(json::parse(line));
      } catch (const json::exception&) {
        throw input_error(fmt::format("{}:{}: not a line of spans, as hcasim run --spans writes them", path_.string(), number));
      }
    }
  }

  std::filesystem::path path_;
  std::unordered_map<std::uint64_t, std::string> nodes_;  // by process
  std::unordered_map<std::uint64_t, std::string> units_;  // by track
};

// 6.21 stands behind 6.3.
bool number_below(const std::string& a, const std::string& b) {
  const auto parts = [](const std::string& s) {
    return std::pair(std::strtoull(s.c_str(), nullptr, 10), std::strtoull(s.c_str() + s.find('.') + 1, nullptr, 10));
  };
  return parts(a) < parts(b);
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::vector<recorded_operation> recorded_operations(const std::filesystem::path& spans) {
  std::unordered_map<std::string, recorded_operation> found;
  span_file_reader(spans).each_slice("", [&](const json& e, const std::string& node, const std::string&) {
    const json& with = e.at("args");
    const std::string number = with.at("operation");
    const ps begin = as_time(e.at("ts"));
    const ps end = begin + as_time(e.at("dur"));
    recorded_operation& o = found[number];
    if (o.slices++ == 0) {
      o.number = number;
      o.begin = begin;
    }
    o.begin = std::min(o.begin, begin);
    o.end = std::max(o.end, end);
    if (!with.contains(of_whole)) return;
    o.node = node;
    o.what = e.at("name");
  });
  std::vector<recorded_operation> out;
  out.reserve(found.size());
  for (auto& [number, o] : found) out.push_back(std::move(o));
  std::sort(out.begin(), out.end(), [](const recorded_operation& a, const recorded_operation& b) {
    const ps first = a.end - a.begin;
    const ps second = b.end - b.begin;
    return first != second ? first > second : number_below(a.number, b.number);
  });
  return out;
}

std::vector<way_slice> way_of_operation(const std::filesystem::path& spans, const std::string& number) {
  struct placed {
    way_slice slice;
    bool whole;
  };
  std::vector<placed> found;
  span_file_reader(spans).each_slice(number, [&](const json& e, const std::string& node, const std::string& unit) {
    placed p{{node, unit, e.at("name"), "", as_time(e.at("ts")), ps(0)}, e.at("args").contains(of_whole)};
    p.slice.end = p.slice.begin + as_time(e.at("dur"));
    for (const auto& [name, value] : e.at("args").items()) {
      if (name == "operation") continue;
      p.slice.with += fmt::format("{}{} {}", p.slice.with.empty() ? "" : ", ", name, text_of(value));
    }
    found.push_back(std::move(p));
  });
  std::stable_sort(found.begin(), found.end(), [](const placed& a, const placed& b) {
    if (a.whole != b.whole) return a.whole;
    return a.slice.begin != b.slice.begin ? a.slice.begin < b.slice.begin : a.slice.end > b.slice.end;
  });
  std::vector<way_slice> out;
  out.reserve(found.size());
  for (placed& p : found) out.push_back(std::move(p.slice));
  return out;
}

std::vector<way_share> shares_of(const std::vector<way_slice>& way) {
  std::vector<ps> borders;
  for (const way_slice& s : way) borders.insert(borders.end(), {s.begin, s.end});
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  std::vector<way_share> out;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    const way_slice* last = nullptr;
    for (std::size_t n = 1; n < way.size(); ++n) {  // the first is the whole
      const way_slice& s = way[n];
      if (s.begin <= borders[i] && s.end >= borders[i + 1] && (!last || s.begin >= last->begin)) last = &s;
    }
    const std::string node = last ? last->node : "";
    const std::string unit = last ? last->unit : "";
    auto at = std::find_if(out.begin(), out.end(), [&](const way_share& s) { return s.node == node && s.unit == unit; });
    if (at == out.end()) at = out.insert(out.end(), {node, unit});
    at->time += borders[i + 1] - borders[i];
  }
  return out;
}

}  // namespace hcasim
