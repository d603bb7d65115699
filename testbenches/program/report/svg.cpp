#include "testbenches/program/report/svg.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

constexpr double image_width = 820;
constexpr double height = 440;
constexpr double plot_left = 78;
constexpr double top = 58;
constexpr double plot_right = 620;  // right edge of the plot; the legend stands beside it
constexpr double bottom = 370;

// Okabe and Ito's colours, told apart by everybody.
constexpr std::array<const char*, 8> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#e69f00", "#56b4e9", "#000000", "#8b8000"};

// Four digits at most and no zeros behind the point.
std::string shown(double v) {
  const double size = std::fabs(v);
  const double digits = size > 0 ? std::pow(10, 3 - std::floor(std::log10(size))) : 1;
  std::string s = number_text(size >= 1000 ? v : std::round(v * digits) / digits);
  if (s.find('.') != std::string::npos && s.find('e') == std::string::npos) {
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
  }
  return s;
}

std::string text(double x, double y, const std::string& s, const char* anchor = "middle", const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more, escaped(s));
}

// 1, 2 or 5 times a power of ten, some five of them up to `most`.
double tick_step(double most) {
  const double raw = most / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double f : {1.0, 2.0, 5.0}) {
    if (f * power >= raw * 0.999) return f * power;
  }
  return 10 * power;
}

double largest(const chart_data& c) {
  double most = 0;
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    double sum = 0;
    for (const chart_series& s : c.series) {
      const double error = s.errors.empty() ? 0 : s.errors[i].value_or(0);
      const double v = s.values[i].value_or(0) + error;
      sum = c.kind == "stacked" ? sum + v : std::max(sum, v);
    }
    most = std::max(most, sum);
  }
  return most > 0 ? most : 1;
}

std::string hover(const chart_data& c, const chart_series& s, std::size_t i) {
  return fmt::format("<title>{}{}{} = {}: {}</title>", escaped(s.name), s.name.empty() ? "" : ", ", escaped(c.x_title),
                     escaped(c.x[i]), number_text(*s.values[i]));
}

std::string x_labels(const chart_data& c, double step, double first) {
  std::string out;
  const std::size_t every = std::max<std::size_t>(1, (c.x.size() + 13) / 14);
  for (std::size_t i = 0; i < c.x.size(); i += every) {
    out += text(plot_left + first + step * static_cast<double>(i), bottom + 20, c.x[i]);
  }
  return out + text((plot_left + plot_right) / 2, bottom + 44, c.x_title, "middle", R"( font-weight="600")");
}

std::string legend(const chart_data& c) {
  std::string out;
  double y = top + 8;
  if (!c.series_title.empty()) out += text(plot_right + 16, y, c.series_title, "start", R"( font-weight="600")"), y += 20;
  for (std::size_t i = 0; i < c.series.size(); ++i, y += 20) {
    if (c.series[i].name.empty()) continue;
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>\n", plot_right + 16,
                       y - 10, colours[i % colours.size()]);
    out += text(plot_right + 34, y, c.series[i].name, "start");
  }
  return out;
}

std::string error_bar(double x, double low, double high, const char* colour) {
  return fmt::format(
      "<path class=\"error\" d=\"M{0:.1f} {1:.1f}H{2:.1f}M{3:.1f} {1:.1f}V{4:.1f}M{0:.1f} {4:.1f}H{2:.1f}\" fill=\"none\" "
      "stroke=\"{5}\"/>\n",
      x - 4, low, x + 4, x, high, colour);
}

// Draws each knob as a bar to either side of the base, which is the line in the middle.
std::string tornado(const chart_data& c) {
  double most = 0;
  for (const chart_series& s : c.series) {
    for (const auto& v : s.values) most = std::max(most, std::fabs(v.value_or(0)));
  }
  const double step = tick_step(most > 0 ? most : 1);
  most = std::max(std::ceil(most / step - 1e-9), 1.0) * step;
  constexpr double names = 300;  // right edge of the knobs' names
  const double middle = (names + image_width - 30) / 2;
  const auto x_of = [&](double v) { return middle + (image_width - 30 - names) / 2 * v / most; };
  std::string out;
  for (double v = -most; v <= most * (1 + 1e-9); v += step) {
    const bool base = std::fabs(v) < step / 2;
    out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"{3}\"/>\n", x_of(v), top, bottom,
                       base ? "#555" : "#e3e3e3");
    out += text(x_of(v), bottom + 20, base ? "base" : fmt::format("{:+g}", v));
  }
  const double pitch = (bottom - top) / static_cast<double>(std::max<std::size_t>(c.x.size(), 1));
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    const double y = top + pitch * static_cast<double>(i);
    out += text(names - 8, y + pitch / 2 + 4, c.x[i], "end");
    for (std::size_t s = 0; s < c.series.size(); ++s) {
      const auto& v = c.series[s].values[i];
      if (!v) continue;
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">{}</rect>\n",
                         std::min(x_of(*v), middle), y + pitch * (s ? 0.5 : 0.12), std::fabs(x_of(*v) - middle), pitch * 0.38,
                         colours[s], hover(c, c.series[s], i));
    }
  }
  out += text(image_width - 30, top - 10, fmt::format("{} / {} of the knob", c.series[0].name, c.series[1].name), "end",
              R"( fill="#444")");
  return out;
}

std::string line_or_stacked(const chart_data& c) {
  std::string out;
  const double step = tick_step(largest(c));
  const double most = std::ceil(largest(c) / step - 1e-9) * step;
  const auto y_of = [&](double v) { return bottom - (bottom - top) * v / most; };
  for (int i = 0; step * i <= most * (1 + 1e-9); ++i) {
    const double y = y_of(step * i);
    out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", plot_left, plot_right, y, y,
                       i ? "#e3e3e3" : "#555");
    out += text(plot_left - 8, y + 4, shown(step * i), "end");
  }
  const bool bars = c.kind == "stacked";
  const auto n = static_cast<double>(c.x.size());
  const double pitch = bars || n < 2 ? (plot_right - plot_left) / n : (plot_right - plot_left - 32) / (n - 1);
  const double first = bars || n < 2 ? pitch / 2 : 16;
  out += x_labels(c, pitch, first);
  std::vector<double> base(c.x.size(), 0);
  for (std::size_t s = 0; s < c.series.size(); ++s) {
    const chart_series& series = c.series[s];
    const char* colour = colours[s % colours.size()];
    std::string path;
    std::string marks;
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      if (!series.values[i]) continue;
      const double x = plot_left + first + pitch * static_cast<double>(i);
      const double v = *series.values[i];
      if (bars) {
        const double y = y_of(base[i] + v);
        marks += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">{}</rect>\n",
                             x - pitch * 0.35, y, pitch * 0.7, y_of(base[i]) - y, colour, hover(c, series, i));
        base[i] += v;
      } else {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() || !series.values[i - 1] ? "M" : "L", x, y_of(v));
        if (!series.errors.empty() && series.errors[i])
          marks += error_bar(x, y_of(v - *series.errors[i]), y_of(v + *series.errors[i]), colour);
        marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\">{}</circle>\n", x, y_of(v), colour,
                             hover(c, series, i));
      }
    }
    if (!path.empty()) out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, colour);
    out += marks;
  }
  return out + legend(c);
}

// Draws cells from pale to dark blue; dark cells carry white text.
std::string heat_map(const chart_data& c) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const chart_series& s : c.series) {
    for (const auto& v : s.values) {
      if (!v) continue;
      low = std::min(low, *v);
      high = std::max(high, *v);
    }
  }
  const double span = high > low ? high - low : 1;
  const auto colour = [&](double share) {
    const auto mix = [&](int pale, int dark) { return static_cast<int>(std::lround(pale + (dark - pale) * share)); };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(0xf0, 0x08), mix(0xf6, 0x45), mix(0xfc, 0x8a));
  };
  const double cell_width = (plot_right - plot_left) / static_cast<double>(c.x.size());
  const double cell_height = (bottom - top) / static_cast<double>(c.series.size());
  std::string out = x_labels(c, cell_width, cell_width / 2);
  for (std::size_t r = 0; r < c.series.size(); ++r) {
    const double y = bottom - cell_height * static_cast<double>(r + 1);
    out += text(plot_left - 8, y + cell_height / 2 + 4, c.series[r].name, "end");
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      const auto& v = c.series[r].values[i];
      if (!v) continue;
      const double share = (*v - low) / span;
      const double x = plot_left + cell_width * static_cast<double>(i);
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#fff\">{}</rect>\n", x, y,
          cell_width, cell_height, colour(share), hover(c, c.series[r], i));
      out += text(x + cell_width / 2, y + cell_height / 2 + 4, shown(std::round(*v * 1000) / 1000), "middle",
                  share > 0.55 ? R"( fill="#fff" pointer-events="none")" : R"( pointer-events="none")");
    }
  }
  out += text(plot_left - 8, top - 10, c.series_title, "end", R"( font-weight="600")");
  for (int i = 0; i < 40; ++i) {
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"16\" height=\"{:.1f}\" fill=\"{}\"/>\n", plot_right + 20,
                       bottom - (i + 1) * 5.0, 5.2, colour((i + 0.5) / 40));
  }
  out += text(plot_right + 44, bottom, shown(low), "start") + text(plot_right + 44, bottom - 192, shown(high), "start");
  return out + text(image_width - 12, top - 10, c.y_title, "end", R"( fill="#444")");
}

}  // namespace

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_chart(const chart_data& c) {
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" font-family="Helvetica, )"
      R"(Arial, sans-serif" )"
      "font-size=\"12\" fill=\"#222\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      image_width, height);
  out += text(16, 22, c.title, "start", R"( font-size="15" font-weight="600")");
  if (!c.fixed.empty()) out += text(image_width - 12, height - 8, c.fixed, "end", R"( fill="#666")");
  if (c.kind != "heat") out += text(16, 42, c.y_title, "start", R"( fill="#444")");
  return out + (c.kind == "heat" ? heat_map(c) : c.kind == "tornado" ? tornado(c) : line_or_stacked(c)) + "</svg>\n";
}

}  // namespace hcasim
