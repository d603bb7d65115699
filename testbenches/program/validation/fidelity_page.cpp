#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/validation/fidelity.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

constexpr const char* begin_mark = "<!-- validate: begin -->";
constexpr const char* end_mark = "<!-- validate: end -->";

chart_data chart_of(const compared_experiment& e, const compared_series& s) {
  chart_data c;
  c.kind = "line";
  c.title = fmt::format("{}: {}", e.of->name(), s.name);
  c.x_title = s.points.front().published->x_name;
  c.y_title = s.points.front().published->unit;
  chart_series published{"published", {}};
  chart_series model{"model", {}};
  for (const compared_point& p : s.points) {
    c.x.push_back(short_number(p.published->x));
    published.values.emplace_back(p.published->y);
    model.values.push_back(p.model);
  }
  c.series = {std::move(published), std::move(model)};
  return c;
}

std::string picture_name(const compared_experiment& e, std::size_t number) {
  return fmt::format("{}_{}.svg", e.of->name(), number + 1);
}

std::string limits_text(const tolerance& t) {
  std::vector<std::string> out;
  if (t.mape) out.push_back(fmt::format("MAPE {} %", *t.mape));
  if (t.worst) out.push_back(fmt::format("worst {} %", *t.worst));
  if (t.knee) out.push_back(fmt::format("knee {} octaves", *t.knee));
  if (t.asymptote) out.push_back(fmt::format("last point {} %", *t.asymptote));
  return out.empty() ? "shape only" : fmt::format("{}", fmt::join(out, ", "));
}

std::string judgements_table(const compared_experiment& e) {
  std::string out = "| points of | number | MAPE | worst | last point | knee | tolerance |\n|---|---|---|---|---|---|---|\n";
  for (const judgement& j : e.judgements) {
    out += fmt::format("| {} | {} | {:.1f} % | {:.1f} % at {} | {:.1f} % | {} | {} |\n", j.of.empty() ? "all" : j.of, j.points,
                       j.mape, j.worst, short_number(j.worst_x), j.asymptote, j.knee ? fmt::format("{:.2f}", *j.knee) : "-",
                       limits_text(j.limits));
  }
  return out + "\n";
}

std::string points_table(const compared_series& s) {
  const published_point& first = *s.points.front().published;
  std::string out = fmt::format("| {} | published [{}] | model | error |\n|---|---|---|---|\n", first.x_name, first.unit);
  for (const compared_point& p : s.points) {
    out += fmt::format("| {} | {} | {} | {} |\n", short_number(p.published->x), number_text(p.published->y),
                       p.model ? number_text(*p.model) : "-", p.model ? fmt::format("{:+.1f} %", 100 * p.error()) : "-");
  }
  return out + "\n";
}

std::string section_of(const compared_experiment& e) {
  std::string out = fmt::format("### {}\n\n{} ({}). Preset: {}. Verdict: **{}**. Constants fitted to this experiment: {}.\n\n",
                                e.of->name(), e.of->title(), e.of->source(),
                                e.preset.empty() ? "none" : fmt::format("`{}`", e.preset), name_of(e.result), e.fitted.size());
  if (!e.judgements.empty()) out += judgements_table(e);
  for (const checked_shape& c : e.shapes) out += fmt::format("- {}: {}\n", c.ok ? "holds" : "fails", c.text);
  for (const std::string& a : e.of->assumed()) out += fmt::format("- assumed: {}\n", a);
  if (e.result != fidelity_verdict::within && !e.of->lacks().empty()) out += fmt::format("- lacks: {}\n", e.of->lacks());
  if (out.back() == '\n' && out[out.size() - 2] != '\n') out += "\n";
  for (std::size_t i = 0; i < e.series.size(); ++i) {
    const compared_series& s = e.series[i];
    if (!s.replay->not_expressible.empty()) {
      out += fmt::format("`{}` is not expressible: {}\n\n", s.name, s.replay->not_expressible);
      continue;
    }
    out += fmt::format("![{}](fidelity/{})\n\n", s.name, picture_name(e, i)) + points_table(s);
  }
  return out;
}

std::string page_content(const fs::path& page) {
  std::ifstream in(page);
  std::stringstream s;
  s << in.rdbuf();
  if (!in) throw input_error(fmt::format("cannot read the page '{}'", page.string()));
  return s.str();
}

// Returns the sections of the page's part between the marks, by their headings.
std::map<std::string, std::string> sections_of(const std::string& part) {
  std::map<std::string, std::string> out;
  std::string name;
  std::istringstream in(part);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("### ")) name = line.substr(4);
    if (!name.empty()) out[name] += line + "\n";
  }
  return out;
}

}  // namespace

void write_page(const fidelity& f, const fs::path& page) {
  const std::string old = page_content(page);
  const std::size_t begin = old.find(begin_mark);
  const std::size_t end = old.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw input_error(fmt::format("'{}' has no lines '{}' and '{}'; add them where the sections belong", page.string(),
                                  begin_mark, end_mark));
  const std::size_t inside = begin + std::string_view(begin_mark).size();
  auto sections = sections_of(old.substr(inside, end - inside));
  const fs::path pictures = page.parent_path() / "fidelity";
  fs::create_directories(pictures);
  for (const compared_experiment& e : f.experiments) {
    sections[e.of->name()] = section_of(e);
    for (std::size_t i = 0; i < e.series.size(); ++i) {
      if (e.series[i].replay->not_expressible.empty())
        write_file(pictures / picture_name(e, i), svg_chart(chart_of(e, e.series[i])));
    }
  }
  std::string part;
  for (const auto& [name, text] : sections) part += "\n" + text.substr(0, text.find_last_not_of('\n') + 1) + "\n";
  write_file(page, old.substr(0, inside) + "\n" + part + "\n" + old.substr(end));
}

}  // namespace hcasim
