#include "testbenches/program/results/report.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace hcasim {
namespace {

using nlohmann::ordered_json;

std::string cell_text(const cell& c) {
  if (const auto* d = std::get_if<double>(&c)) return number_text(*d);
  if (const auto* i = std::get_if<std::int64_t>(&c)) return fmt::format("{}", *i);
  if (const auto* u = std::get_if<std::uint64_t>(&c)) return fmt::format("{}", *u);
  return std::get<std::string>(c);
}

std::size_t characters(std::string_view s) {
  return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

table& table::row(std::vector<cell> cells) {
  if (cells.size() != columns_.size()) {
    throw std::logic_error(fmt::format("table '{}' has {} columns, but a row has {}", title_, columns_.size(), cells.size()));
  }
  rows_.push_back(std::move(cells));
  return *this;
}

ordered_json number(double v) {
  if (!std::isfinite(v)) return nullptr;
  if (v == std::floor(v) && std::fabs(v) < 9e15) return static_cast<std::int64_t>(v);
  return v;
}

ordered_json roomy_object(std::size_t members) {
  ordered_json out = ordered_json::object();
  out.get_ref<ordered_json::object_t&>().reserve(members);
  return out;
}

std::string number_text(double v) {
  if (!std::isfinite(v)) return "-";
  if (v == std::floor(v) && std::fabs(v) < 1e15) return fmt::format("{:.0f}", v);
  const double size = std::fabs(v);
  if (size >= 10000) return fmt::format("{:.0f}", v);
  if (size < 1e-4) return fmt::format("{:.4e}", v);
  const int before = std::max(1, static_cast<int>(std::floor(std::log10(size))) + 1);
  const int after = size >= 1 ? 5 - before : 4 - static_cast<int>(std::floor(std::log10(size)));
  return fmt::format("{:.{}f}", v, after);
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                    std::string_view indent) {
  std::vector<std::size_t> width(right.size());
  for (const auto& r : rows) {
    for (std::size_t c = 0; c < r.size(); ++c) width[c] = std::max(width[c], characters(r[c]));
  }
  std::string out;
  for (const auto& r : rows) {
    std::string line(indent);
    for (std::size_t c = 0; c < r.size(); ++c) {
      const std::string pad(width[c] - characters(r[c]), ' ');
      line += (c ? "  " : "") + (right[c] ? pad + r[c] : r[c] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

ordered_json result_json(const result& r) {
  ordered_json figures = ordered_json::object();
  for (const auto& f : r.figures()) figures[f.name] = {{"value", number(f.value)}, {"unit", f.unit}, {"help", f.help}};
  ordered_json tables = ordered_json::array();
  for (const table& t : r.tables()) {
    ordered_json columns = ordered_json::array();
    for (const column& c : t.columns()) columns.push_back({{"name", c.name}, {"unit", c.unit}});
    ordered_json rows = ordered_json::array();
    for (const auto& cells : t.rows()) {
      ordered_json row = ordered_json::array();
      for (const cell& c : cells) {
        std::visit(
            [&row](const auto& v) {
              if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>) {
                row.push_back(number(v));
              } else {
                row.push_back(v);
              }
            },
            c);
      }
      rows.push_back(std::move(row));
    }
    tables.push_back({{"title", t.title()}, {"columns", std::move(columns)}, {"rows", std::move(rows)}});
  }
  return {{"passed", r.passed()}, {"failures", r.failures()}, {"figures", std::move(figures)}, {"tables", std::move(tables)}};
}

std::string result_text(const result& r) {
  std::string out;
  std::vector<std::vector<std::string>> rows;
  for (const auto& f : r.figures()) rows.push_back({f.name, number_text(f.value), f.unit == "1" ? "" : f.unit, f.help});
  out += aligned(rows, {false, true, false, false});
  for (const table& t : r.tables()) {
    std::vector<std::vector<std::string>> lines(1);
    std::vector<bool> right(t.columns().size(), true);
    for (const column& c : t.columns()) lines[0].push_back(c.unit.empty() ? c.name : c.name + " [" + c.unit + "]");
    for (const auto& cells : t.rows()) {
      std::vector<std::string> line;
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (std::holds_alternative<std::string>(cells[c])) right[c] = false;
        line.push_back(cell_text(cells[c]));
      }
      lines.push_back(std::move(line));
    }
    out += fmt::format("{}{}\n{}", out.empty() ? "" : "\n", t.title(), aligned(lines, right));
  }
  return out;
}

std::uint64_t sum_counters(const std::vector<unit*>& units, const std::vector<std::string>& names) {
  std::uint64_t sum = 0;
  for (const unit* u : units) {
    for (const statistic& s : u->stats().all()) {
      const auto* c = std::get_if<const counter*>(&s.value);
      if (c && std::find(names.begin(), names.end(), s.name) != names.end()) sum += (*c)->value();
    }
  }
  return sum;
}

std::string dump(const ordered_json& j) {
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string compact(const ordered_json& j) {
  return j.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace hcasim
