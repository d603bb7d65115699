#include "testbenches/program/command_line/convert.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/processes/pool.h"
#include "testbenches/program/recording/fst.h"
#include "testbenches/program/recording/vcd.h"
#include "testbenches/program/recording/wave_reader.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class wave_output {
 public:
  virtual ~wave_output() = default;
  virtual void begin(const std::vector<wave_signal>& signals, const std::string& version, ps at) = 0;
  virtual void stamp(ps at) = 0;
  virtual void emit(std::size_t signal, const std::string& digits) = 0;
  virtual void close(ps end) = 0;
};

class vcd_output final : public wave_output {
 public:
  explicit vcd_output(const fs::path& file) : path_(file.string()), out_(file, std::ios::binary) {
    if (!out_) cannot_write(path_, errno);
  }
  void begin(const std::vector<wave_signal>& signals, const std::string& version, ps at) override {
    for (const wave_signal& s : signals) ids_.emplace_back(ids_.size(), s.width > 1);
    out_ << vcd_definitions(signals, ids_, version) << vcd_unknown(signals, ids_, at);
  }
  void stamp(ps at) override { out_ << '#' << at.count() << '\n'; }
  void emit(std::size_t signal, const std::string& digits) override {
    const vcd_id& id = ids_[signal];
    if (id.vector) {
      // A reader extends these to the same: leading zeros before 0 and 1, and repeated x and z.
      std::size_t skip = 0;
      const auto last = digits.size() - 1;
      if (digits[0] == '0') {
        while (skip < last && digits[skip] == '0' && (digits[skip + 1] == '0' || digits[skip + 1] == '1')) ++skip;
      } else if (digits[0] != '1') {
        while (skip < last && digits[skip + 1] == digits[0]) ++skip;
      }
      out_ << 'b' << std::string_view(digits).substr(skip) << ' ';
    } else {
      out_ << digits;
    }
    out_ << id.view() << '\n';
  }
  void close(ps end) override {
    stamp(end);
    errno = 0;
    out_.close();
    if (!out_) cannot_write(path_, errno);
  }

 private:
  std::string path_;
  std::ofstream out_;
  std::vector<vcd_id> ids_;
};

class fst_output final : public wave_output {
 public:
  explicit fst_output(const fs::path& file) : path_(file) {}
  void begin(const std::vector<wave_signal>& signals, const std::string& version, ps at) override {
    file_.emplace(path_, version);
    file_->define(signals);
    file_->stamp(at);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (!signals[i].event) emit(i, std::string(signals[i].width, 'x'));
    }
  }
  void stamp(ps at) override { file_->stamp(at); }
  void emit(std::size_t signal, const std::string& digits) override {
    file_->emit(static_cast<std::uint32_t>(signal), digits.data(), static_cast<unsigned>(digits.size()));
  }
  void close(ps end) override { file_->close(end); }

 private:
  fs::path path_;
  std::optional<fst_file> file_;
};

// Keeps the last value of each time, as the recorder does.
class filter final : public wave_listener {
 public:
  filter(const convert_options& options, wave_output& out) : options_(options), out_(out) {}

  void defined(const std::vector<wave_signal>& signals, const std::string& version) override {
    version_ = version;
    std::vector<bool> used(options_.patterns.size(), false);
    std::vector<std::string> scopes;
    for (const wave_signal& s : signals) {
      if (scopes.empty() || scopes.back() != s.scope) scopes.push_back(s.scope);
      bool wanted = options_.patterns.empty();
      for (std::size_t p = 0; p < options_.patterns.size(); ++p) {
        if (wave_pattern_matches(options_.patterns[p], s.scope + "." + s.name)) wanted = used[p] = true;
      }
      place_.push_back(wanted ? static_cast<std::ptrdiff_t>(signals_.size()) : -1);
      if (wanted) signals_.push_back(s);
    }
    for (std::size_t p = 0; p < used.size(); ++p) {
      if (used[p]) continue;
      throw input_error(fmt::format("--trace {}: no signal has such a name; {}", options_.patterns[p],
                                    suggestion(options_.patterns[p], scopes, "units")));
    }
    for (const wave_signal& s : signals_) shown_.emplace_back(s.width, 'x');
    next_ = shown_;
    touched_flag_.resize(signals_.size());
  }
  void time(ps at) override {
    step();
    if (!begun_) begin_ = std::max(at, options_.window.from);
    begun_ = true;
    now_ = at;
  }
  void value(std::size_t signal, std::string_view digits) override {
    if (place_[signal] >= 0) touch(static_cast<std::size_t>(place_[signal]), digits);
  }
  void finish() {
    step();
    if (!begun_ || now_ < begin_) throw input_error("--from: the waveform ends before");
    if (!open_) open();
    end_ = std::max(std::min(now_, options_.window.until), last_);
    out_.close(end_);
  }
  [[nodiscard]] converted_waves made(std::string format) const { return {std::move(format), signals_.size(), begin_, end_}; }

 private:
  void touch(std::size_t signal, std::string_view digits) {
    next_[signal] = digits;
    if (touched_flag_[signal]) return;
    touched_flag_[signal] = true;
    touched_.push_back(signal);
  }
  // The file begins with the values of this time.
  void open() {
    open_ = true;
    last_ = begin_;
    out_.begin(signals_, version_, begin_);
    std::vector<std::string> values(shown_.size());
    std::vector<std::size_t> later;
    later.swap(touched_);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      values[i].assign(signals_[i].width, 'x');
      values[i].swap(shown_[i]);
      if (values[i] == shown_[i]) continue;
      if (!touched_flag_[i] || now_ > begin_) stamped(begin_, i, values[i]);
    }
    touched_.swap(later);
    stamped_ = stamped_ && now_ == begin_;
  }
  void step() {
    if (begun_ && !open_ && now_ >= begin_ && (now_ > begin_ || !touched_.empty())) open();
    for (const std::size_t i : touched_) {
      touched_flag_[i] = false;
      if (next_[i] == shown_[i]) continue;
      if (open_ && now_ < options_.window.until) {
        stamped(now_, i, next_[i]);
      } else if (!signals_[i].event) {
        shown_[i] = next_[i];
      }
    }
    touched_.clear();
    stamped_ = false;
  }
  void stamped(ps at, std::size_t signal, const std::string& digits) {
    if (!stamped_) out_.stamp(at);
    stamped_ = true;
    last_ = at;
    out_.emit(signal, digits);
    if (!signals_[signal].event) shown_[signal] = digits;  // an event stays unknown: the next one is a change as well
  }

  const convert_options& options_;
  wave_output& out_;
  std::string version_;
  std::vector<std::ptrdiff_t> place_;  // of each signal of the input; -1 = not wanted
  std::vector<wave_signal> signals_;
  std::vector<std::string> shown_;
  std::vector<std::string> next_;
  std::vector<std::size_t> touched_;
  std::vector<bool> touched_flag_;
  ps now_{0};
  ps begin_{0};
  ps last_{0};
  ps end_{0};
  bool begun_ = false;
  bool open_ = false;
  bool stamped_ = false;
};

class no_listener final : public wave_listener {
 public:
  void defined(const std::vector<wave_signal>&, const std::string&) override {}
  void time(ps) override {}
  void value(std::size_t, std::string_view) override {}
};

// The library that reads FST ends its process when something does not unpack: another process tries first.
void try_to_read(const fs::path& file) {
  process_pool pool({}, [&file](std::uint64_t) {
    no_listener nothing;
    try {
      read_waves(file, nothing);
    } catch (const input_error&) {  // said when it is read again
    }
    return std::string();
  });
  bool first = true;
  pool.next = [&first]() -> std::optional<std::uint64_t> {
    return std::exchange(first, false) ? std::optional<std::uint64_t>(0) : std::nullopt;
  };
  pool.done = [&file](const piece_outcome& o) {
    if (o.status == 0) return;
    throw input_error(fmt::format("'{}' is damaged, its reader broke off; record it anew", file.string()));
  };
  pool.run();
}

}  // namespace

converted_waves convert_waves(const convert_options& o) {
  const std::string ending = o.to.extension();
  if (ending != ".vcd" && ending != ".fst") throw input_error(fmt::format("'{}': end the name in .vcd or .fst", o.to.string()));
  std::error_code ec;
  if (fs::exists(o.to, ec) && (!o.force || !fs::is_regular_file(o.to, ec)))
    throw input_error(fmt::format("'{}' exists; add --force to replace it or choose another name", o.to.string()));
  if (is_fst(o.from)) try_to_read(o.from);
  if (!fs::is_directory(fs::absolute(o.to).parent_path(), ec)) cannot_write(o.to, ENOENT);
  const fs::path partial = beside(o.to, "", ".partial");
  struct remover {
    const fs::path& file;
    ~remover() {
      std::error_code ignored;
      fs::remove(file, ignored);
    }
  } const remove{partial};
  const interrupt_guard guard(partial, {}, [] {});
  std::unique_ptr<wave_output> out;
  if (ending == ".vcd") {
    out = std::make_unique<vcd_output>(partial);
  } else {
    out = std::make_unique<fst_output>(partial);
  }
  filter f(o, *out);
  read_waves(o.from, f);
  f.finish();
  fs::rename(partial, o.to, ec);
  if (ec) cannot_write(o.to, ec.value());
  return f.made(ending.substr(1));
}

}  // namespace hcasim
