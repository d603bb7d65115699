#include "testbenches/program/recording/waves.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/recording/fst.h"
#include "testbenches/program/recording/operation_probes.h"
#include "testbenches/program/recording/vcd.h"
#include "testbenches/program/results/hierarchy.h"

namespace hcasim {
namespace {

constexpr std::size_t first_batch = 1 << 13;

std::string clean(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ']') continue;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += plain ? c : '_';
  }
  return out;
}

// The number of the operation changes with nearly every request, at each unit: unasked, it is recorded where packets begin and
// end.
bool is_operation(std::string_view name) {
  return name == operation_probes::name;
}
bool begins_or_ends_packets(std::string_view unit) {
  return unit.ends_with(".requester") || unit.ends_with(".responder");
}

}  // namespace

std::string ranged_name(const wave_signal& s) {
  if (!s.range.empty()) return fmt::format("{} {}", s.name, s.range);
  return s.width > 1 ? fmt::format("{} [{}:0]", s.name, s.width - 1) : s.name;
}

wave_writer::wave_writer(std::uint64_t limit, const wave_window& window)
    : limit_(limit), window_(window), batch_(first_batch), open_(window.from == ps(0)) {}

void wave_writer::add(const std::string& scope, const probe_entry& entry) {
  const auto id = static_cast<std::uint32_t>(signals_.size());
  std::string clean_scope;
  for (const std::string& part : split(scope, '.')) {
    if (!clean_scope.empty()) clean_scope += '.';
    clean_scope += clean(part);
  }
  signals_.push_back({clean_scope, clean(entry.name), std::clamp(entry.width, 1U, 64U), entry.labels});
  state s;
  s.width = static_cast<std::uint8_t>(signals_.back().width);
  s.known = s.width == 1 && entry.labels.empty();  // 0
  states_.push_back(s);
  first_.push_back(never);
  entry.signal->watch(this, id);
}

void wave_writer::write_header() {
  begin(window_.from);
  if (!open_) return;
  open_window();
  write_step(window_.from);
  first_.assign(first_.size(), never);
}

void wave_writer::flush(ps until) {
  thread_.hand_over([&] {
    batch_ = std::max(first_batch, 2 * held_.size());
    batch_items_.swap(pending_);
    until_ = until;
    if (std::exchange(looked_from_, look_from_) == never && looked_from_ != never) first_.assign(first_.size(), never);
  });
  pending_.clear();
}

void wave_writer::write_batch() {
  if (stopped_at_ != never) return;
  held_.insert(held_.end(), batch_items_.begin(), batch_items_.end());
  if (until_ <= floor_) return;  // the kernel has not moved on
  sort_held();
  std::size_t i = 0;
  while (i < held_.size() && held_[i].at < until_) {
    const ps at = held_[i].at;
    if (at >= window_.from && !open_) {
      open_window();
      if (at > window_.from) write_step(window_.from);
    }
    for (; i < held_.size() && held_[i].at == at; ++i) {
      state& s = states_[held_[i].signal];
      s.next = held_[i].value;
      if (!s.touched) {
        s.touched = true;
        touched_.push_back(held_[i].signal);
      }
    }
    if (open_ && at < window_.until) {
      write_step(at);
    } else {
      remember_step();
    }
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(i));
  floor_ = until_;
}

// Stable, by time: arrival decides between equal times. Radix sort of short keys (time, place), then every item moves once.
void wave_writer::sort_held() {
  constexpr unsigned digit_bits = 11;
  constexpr std::size_t digits = 1U << digit_bits;
  constexpr unsigned place_bits = 24;
  ps low = never;
  ps high{0};
  bool sorted = true;
  ps before{0};
  for (item& i : held_) {
    i.at = std::max(i.at, floor_);
    low = std::min(low, i.at);
    high = std::max(high, i.at);
    sorted = sorted && before <= i.at;
    before = i.at;
  }
  if (sorted) return;
  const auto span = static_cast<std::uint64_t>((high - low).count());
  if (held_.size() < 512 || held_.size() >> place_bits || span >> (64 - place_bits)) {
    std::stable_sort(held_.begin(), held_.end(), [](const item& a, const item& b) { return a.at < b.at; });
    return;
  }
  const std::size_t n = held_.size();
  if (sort_by_buckets(low, span)) return;
  keys_.resize(n);
  spare_keys_.resize(n);
  for (std::size_t i = 0; i < n; ++i) keys_[i] = static_cast<std::uint64_t>((held_[i].at - low).count()) << place_bits | i;
  for (unsigned shift = 0; shift < 64 - place_bits && (span >> shift) != 0; shift += digit_bits) {
    std::array<std::uint32_t, digits> start{};
    const auto digit = [&](std::uint64_t key) {
      return static_cast<std::size_t>((key >> (place_bits + shift)) & (digits - 1));
    };
    for (const std::uint64_t k : keys_) ++start[digit(k)];
    std::uint32_t sum = 0;
    for (std::uint32_t& s : start) sum += std::exchange(s, sum);
    for (const std::uint64_t k : keys_) spare_keys_[start[digit(k)]++] = k;
    keys_.swap(spare_keys_);
  }
  sorted_.resize(n);
  for (std::size_t i = 0; i < n; ++i) sorted_[i] = held_[keys_[i] & ((1U << place_bits) - 1)];
  held_.swap(sorted_);
}

// Sorts a batch whose changes lie nearly evenly over its time. One pass puts each change into a bucket of about one, a second
// sorts within buckets. False = the changes are uneven.
bool wave_writer::sort_by_buckets(ps low, std::uint64_t span) {
  constexpr std::uint32_t most = 64;  // changes in one bucket
  const std::size_t n = held_.size();
  unsigned shift = 0;
  while ((span >> shift) >= n) ++shift;
  starts_.assign((span >> shift) + 2, 0);
  const auto bucket = [&](const item& i) {
    return static_cast<std::size_t>(static_cast<std::uint64_t>((i.at - low).count()) >> shift);
  };
  for (const item& i : held_) ++starts_[bucket(i) + 1];
  if (*std::max_element(starts_.begin(), starts_.end()) > most) return false;
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  sorted_.resize(n);
  for (const item& i : held_) sorted_[starts_[bucket(i)]++] = i;
  for (std::size_t i = 1; i < n; ++i) {
    if (sorted_[i - 1].at <= sorted_[i].at) continue;
    const item moved = sorted_[i];
    std::size_t to = i;
    for (; to > 0 && sorted_[to - 1].at > moved.at; --to) sorted_[to] = sorted_[to - 1];
    sorted_[to] = moved;
  }
  held_.swap(sorted_);
  return true;
}

// The window begins with values, not with changes.
bool wave_writer::looks_at(ps at) const {
  return (at > window_.from || window_.from == ps(0)) && (looked_from_ == never || at >= looked_from_);
}

// Every known value comes again, as the first thing that is written.
void wave_writer::open_window() {
  open_ = true;
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    state& s = states_[id];
    if (!s.known) continue;
    s.next = s.shown;
    s.known = false;
    s.touched = true;
    touched_.push_back(id);
  }
}

void wave_writer::remember_step() {
  for (const std::uint32_t id : touched_) {
    state& s = states_[id];
    s.shown = s.next;
    s.known = true;
    s.touched = false;
  }
  touched_.clear();
}

void wave_writer::write_step(ps at) {
  bool stamped = false;
  for (const std::uint32_t id : touched_) {
    state& s = states_[id];
    s.touched = false;
    if (s.width < 64) s.next &= (std::uint64_t{1} << s.width) - 1;
    if ((s.known && s.next == s.shown) || stopped_at_ != never) continue;
    if (!stamped) {
      if (limit_ && full(limit_)) {
        stopped_at_ = at;
        continue;
      }
      stamped = true;
      last_ = at;
      stamp(at);
    }
    if (first_[id] == never && looks_at(at)) first_[id] = at;
    s.shown = s.next;
    s.known = true;
    ++changes_;
    emit(id, s.next);
  }
  touched_.clear();
}

ps wave_writer::first_change(std::string_view unit) const {
  ps first = never;
  for (std::size_t i = 0; i < signals_.size(); ++i) {
    const std::string_view scope = signals_[i].scope;
    if (scope.substr(scope.rfind('.') + 1) == unit) first = std::min(first, first_[i]);
  }
  return first;
}

void wave_writer::finish(ps end) {
  flush(never);
  thread_.stop();
  if (!open_ && end >= window_.from) {  // nothing changed any more
    open_window();
    write_step(window_.from);
  }
  close(std::max({std::min(end, window_.until), window_.from, last_}));
}

std::unique_ptr<wave_writer> make_wave_writer(wave_format format, const std::filesystem::path& file, const std::string& version,
                                              std::uint64_t limit, const wave_window& window) {
  if (format == wave_format::fst) return std::make_unique<fst_writer>(file, version, limit, window);
  return std::make_unique<vcd_writer>(file, version, limit, window);
}

bool wave_pattern_matches(const std::string& pattern, std::string_view full) {
  const auto matches = [&](std::string_view name) { return glob_match(pattern, name) || glob_match(pattern + ".*", name); };
  return matches(full) || matches(full.substr(full.find('.') + 1));
}

wave_recorder::wave_recorder(std::unique_ptr<wave_writer> writer, std::vector<std::string> patterns)
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("wave_recorder"))),
      writer_(std::move(writer)),
      patterns_(std::move(patterns)) {}

wave_recorder::~wave_recorder() = default;

void wave_recorder::end_of_elaboration() {
  std::vector<bool> used(patterns_.size(), false);
  std::vector<std::string> unit_names;
  operations_ = std::make_unique<operation_probes>();
  for (const unit* u : all_units()) {
    const std::string scope = u->name();
    unit_names.push_back(scope);
    std::vector<const probe_entry*> entries;
    for (const probe_entry& e : u->signals().all()) entries.push_back(&e);
    if (const probe_entry* const e = operations_->of(scope)) entries.push_back(e);
    for (const probe_entry* e : entries) {
      const std::string full = scope + "." + e->name;
      bool wanted = patterns_.empty() && (!is_operation(e->name) || begins_or_ends_packets(scope));
      for (std::size_t p = 0; p < patterns_.size(); ++p) {
        if (wave_pattern_matches(patterns_[p], full)) wanted = used[p] = true;
      }
      if (wanted) writer_->add(scope, *e);
    }
  }
  operations_->listen();
  for (std::size_t p = 0; p < patterns_.size(); ++p) {
    if (used[p] || patterns_[p] == "*") continue;
    throw input_error(
        fmt::format("--trace {}: no signal has such a name; {}", patterns_[p], suggestion(patterns_[p], unit_names, "units")));
  }
  writer_->write_header();
}

std::vector<wave_signal> wave_recorder::named_signals() const {
  std::vector<wave_signal> out = writer_->signals();
  const auto names = operations_ ? std::make_shared<const value_names>(operations_->names()) : nullptr;
  for (wave_signal& s : out) {
    if (is_operation(s.name)) s.names = names;
  }
  return out;
}

}  // namespace hcasim
