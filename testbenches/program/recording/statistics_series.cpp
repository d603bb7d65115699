#include "testbenches/program/recording/statistics_series.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/statistics_report.h"
#include "tlm/base/kernel.h"

namespace hcasim {
namespace {

constexpr const char* usual_series = "*utilisation, *.memory_busy, *.hit_ratio, *.tags_in_use.mean";

// Returns the time of the kernel's next activity; never = none.
ps next_activity() {
  if (sc_core::sc_get_status() == sc_core::SC_ELABORATION) return now();
  if (!sc_core::sc_pending_activity()) return never;
  return now() + to_ps(sc_core::sc_time_to_pending_activity());
}

std::vector<std::string> patterns_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::string p : split(list.empty() ? usual_series : list, ',')) {
    p.erase(0, p.find_first_not_of(' '));
    p.erase(p.find_last_not_of(' ') + 1);
    if (p.empty()) {
      throw input_error(fmt::format("statistics.series: '{}' has an empty pattern; write for example '*.hit_ratio'", list));
    }
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace

statistics_series::statistics_series(const series_options& options, const std::filesystem::path& folder)
    : options_(options), path_(folder / file_name), file_(path_, std::ios::binary) {
  if (!file_) cannot_write(path_, errno);
}

void statistics_series::choose(measurement& m) {
  const std::vector<std::string> patterns = patterns_of(options_.series);
  std::vector<bool> used(patterns.size(), false);
  std::vector<std::string> known;
  std::string header = "begin [us],end [us]";
  m.keep_rows();
  for (std::size_t i = 0; i < m.entries().size(); ++i) {
    const statistic& s = m.entries()[i].reader.of();
    const std::string whole = short_name(m.entries()[i].of->name()) + "." + s.name;
    known.push_back(whole);
    const auto numbers = numbers_of(s, {});
    source from{i, {}};
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const std::string full = numbers[n].name.empty() ? whole : whole + "." + numbers[n].name;
      bool wanted = false;
      for (std::size_t p = 0; p < patterns.size(); ++p) {
        if (glob_match(patterns[p], full) || glob_match(patterns[p], whole)) wanted = used[p] = true;
      }
      if (!wanted) continue;
      from.numbers.push_back(n);
      header += fmt::format(",{} [{}]", full, unit_of(s, numbers[n].name));
    }
    if (!from.numbers.empty()) sources_.push_back(std::move(from));
  }
  // Default patterns are for every machine; only the user's own patterns must match.
  for (std::size_t p = 0; p < patterns.size() && !options_.series.empty(); ++p) {
    if (used[p]) continue;
    throw input_error(fmt::format("statistics.series: no statistic has the name '{}'; {}", patterns[p],
                                  suggestion(patterns[p], known, "statistics")));
  }
  file_ << header << "\n";
}

void statistics_series::run(measurement& m, ps until) {
  if (sources_.empty()) choose(m);
  while (sc_core::sc_get_status() != sc_core::SC_STOPPED) {
    const ps next = std::min(last_ + options_.interval, until);
    const ps coming = next_activity();
    if (coming == never && until == never) return;
    if (coming <= next) {
      sc_core::sc_start(to_sc(next - now()), sc_core::SC_EXIT_ON_STARVATION);  // up to the last thing that happens until then
      continue;
    }
    if (next > now()) sc_core::sc_start(to_sc(next - now()), sc_core::SC_RUN_TO_TIME);
    if (next == last_ + options_.interval) sample(m, next);
    if (next == until) return;
  }
}

void statistics_series::sample(measurement& m, ps t) {
  std::string row = fmt::format("{},{}", to_us(last_), to_us(t));
  for (const source& s : sources_) {
    const auto numbers = numbers_of(m.entries()[s.entry].reader.of(), m.take_row(s.entry, t));
    for (const std::size_t n : s.numbers) row += fmt::format(",{}", numbers[n].value);
  }
  file_ << row << "\n";
  last_ = t;
}

void statistics_series::finish(measurement& m, ps end) {
  if (last_ == ps(0) && end < options_.interval) {
    throw input_error(fmt::format("statistics.interval: {} is longer than the run, which took {}; choose a shorter one",
                                  time_text(options_.interval), time_text(end)));
  }
  if (end > last_) sample(m, end);
  errno = 0;
  file_.close();
  if (!file_) cannot_write(path_, errno);
}

}  // namespace hcasim
