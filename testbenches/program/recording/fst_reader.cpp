#include "testbenches/program/recording/fst_reader.h"

#include <fstapi.h>

#include <exception>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/recording/wave_names.h"
#include "testbenches/program/recording/wave_reader.h"

namespace hcasim {
namespace {

class fst_reader {
 public:
  fst_reader(const std::filesystem::path& file, wave_listener& listener)
      : path_(file.string()), listener_(listener), context_(fstReaderOpen(file.c_str()), fstReaderClose) {
    if (!context_) throw input_error(fmt::format("'{}' is not a whole FST file", path_));
  }

  void read() {
    if (!scale_.set(fstReaderGetTimescale(context_.get())))
      throw input_error(fmt::format("'{}': only time scales from 1 fs to 100 s are read", path_));
    if (fstReaderGetTimezero(context_.get()) != 0)
      throw input_error(fmt::format("'{}': a time zero other than 0 is not read", path_));
    std::vector<std::string> scope;
    while (const fstHier* h = fstReaderIterateHier(context_.get())) {
      if (h->htyp == FST_HT_SCOPE) scope.emplace_back(h->u.scope.name);
      if (h->htyp == FST_HT_UPSCOPE && !scope.empty()) scope.pop_back();
      if (h->htyp != FST_HT_VAR) continue;
      const auto& v = h->u.var;
      if (v.typ == FST_VT_VCD_REAL || v.typ == FST_VT_VCD_REAL_PARAMETER || v.typ == FST_VT_VCD_REALTIME ||
          v.typ == FST_VT_SV_SHORTREAL || v.typ == FST_VT_GEN_STRING || v.length == 0)
        throw input_error(fmt::format("'{}': '{}' is a real number or a string; only bits are read", path_, v.name));
      by_handle_[v.handle].push_back(signals_.size());
      wave_signal s{fmt::format("{}", fmt::join(scope, ".")), {}, v.length, {}};
      s.event = v.typ == FST_VT_VCD_EVENT;
      name_signal(s, v.name);
      signals_.push_back(std::move(s));
    }
    listener_.defined(signals_, fstReaderGetVersionString(context_.get()));
    step(fstReaderGetStartTime(context_.get()));
    fstReaderSetFacProcessMaskAll(context_.get());
    fstReaderIterBlocks(context_.get(), take, this, nullptr);
    if (problem_) std::rethrow_exception(problem_);
    step(fstReaderGetEndTime(context_.get()));
  }

 private:
  void step(std::uint64_t time) {
    if (timed_ && time <= time_) return;
    if (const std::string why = scale_.objection(time); !why.empty())
      throw input_error(fmt::format("'{}': the time {} of its unit {}", path_, time, why));
    time_ = time;
    timed_ = true;
    listener_.time(scale_.at(time));
  }
  // Called by C code, so nothing is thrown through it.
  static void take(void* self, std::uint64_t time, fstHandle handle, const unsigned char* value) {
    auto& r = *static_cast<fst_reader*>(self);
    if (r.problem_) return;
    try {
      r.step(time);
      r.change(handle, reinterpret_cast<const char*>(value));
    } catch (...) {
      r.problem_ = std::current_exception();
    }
  }
  void change(fstHandle handle, const char* value) {
    const auto named = by_handle_.find(handle);
    if (named == by_handle_.end()) throw input_error(fmt::format("'{}' is damaged: a value has no signal", path_));
    for (const std::size_t s : named->second) {
      digits_.assign(value, signals_[s].width);
      for (char& c : digits_) {
        c = four_state(c);
        if (c == 0) throw input_error(fmt::format("'{}' is damaged: a value of '{}' is none", path_, signals_[s].name));
      }
      if (!signals_[s].event || digits_ == "1") listener_.value(s, digits_);
    }
  }

  std::string path_;
  wave_listener& listener_;
  std::unique_ptr<void, void (*)(void*)> context_;
  time_scale scale_;
  std::uint64_t time_ = 0;  // in the file's unit
  bool timed_ = false;
  std::string digits_;
  std::vector<wave_signal> signals_;
  std::unordered_map<fstHandle, std::vector<std::size_t>> by_handle_;
  std::exception_ptr problem_;
};

}  // namespace

void read_fst(const std::filesystem::path& file, wave_listener& listener) {
  fst_reader(file, listener).read();
}

}  // namespace hcasim
