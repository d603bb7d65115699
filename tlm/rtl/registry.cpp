#include "tlm/rtl/registry.h"

#include <deque>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "tlm/rtl/unit_loading.h"

namespace hcasim::rtl {
namespace {

namespace fs = std::filesystem;

struct entry {
  std::string kind, name;
  design_factory make;
  const whole_unit* whole;
};
std::deque<entry>& entries() {  // their names stay where they are
  static std::deque<entry> all;
  return all;
}

const entry* find(std::string_view kind, std::string_view name) {
  for (const entry& e : entries()) {
    if (e.kind == kind && e.name == name) return &e;
  }
  return nullptr;
}

void enter(entry e) {
  if (find(e.kind, e.name)) throw std::logic_error("two units of kind " + e.kind + " are named " + e.name);
  entries().push_back(std::move(e));
}

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".so");
}

// Returns the entry exported by the file of `which`, or registered under this name.
entry find_any(std::string_view kind, const std::string& who, const std::string& name, const std::vector<std::string>& knobs,
               std::vector<std::string_view> others) {
  if (const entry* const e = find(kind, name)) return *e;
  if (!is_path(name)) {
    std::string known;
    for (const std::string_view n : names_of(kind, std::move(others))) known.append(n).append(", ");
    refuse(who, name, " is none of " + known + "or the path of a shared object");
  }
  const unit_object& unit = load_unit(who, name);
  if (!unit.kind || kind != unit.kind) {
    refuse(who, name,
           " holds a unit of kind " + std::string(unit.kind ? unit.kind : "(none)") + ", one of kind " + std::string(kind) +
               " is needed here");
  }
  if (unit.refuses) {
    std::vector<const char*> texts;
    texts.reserve(knobs.size() + 1);
    for (const std::string& k : knobs) texts.push_back(k.c_str());
    texts.push_back(nullptr);
    if (const char* const why = unit.refuses(texts.data()))
      refuse(who, name, std::string(" refuses the configuration: ") + why);
  }
  return {std::string(kind), name, unit.make, unit.whole};
}

class text_visitor : public knob_visitor {
 public:
  std::vector<std::string> texts;

  void visit(knob k) override {
    std::string text = groups_ + std::string(k.name) + "=";
    std::visit([&](const auto& v) { text += text_of(v, k); }, k.value);
    texts.push_back(std::move(text));
  }
  void enter(std::string_view name, std::string_view /*help*/) override { groups_ += std::string(name) + "."; }
  void leave() override { groups_.erase(groups_.size() < 2 ? 0 : groups_.rfind('.', groups_.size() - 2) + 1); }

 private:
  static std::string number(double v) {
    std::string s = std::to_string(v);
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
    return s;
  }
  static std::string text_of(const std::uint32_t* v, const knob& /*k*/) { return std::to_string(*v); }
  static std::string text_of(const std::uint64_t* v, const knob& /*k*/) { return std::to_string(*v); }
  static std::string text_of(const double* v, const knob& /*k*/) { return number(*v); }
  static std::string text_of(const ps* v, const knob& /*k*/) { return std::to_string(v->count()); }
  static std::string text_of(const bit_rate* v, const knob& /*k*/) { return number(v->bits_per_second); }
  static std::string text_of(const frequency* v, const knob& /*k*/) { return number(v->hertz); }
  static std::string text_of(const bool* v, const knob& /*k*/) { return *v ? "true" : "false"; }
  static std::string text_of(const std::string* v, const knob& /*k*/) { return *v; }
  static std::string text_of(const knob::selection& s, const knob& k) { return std::string(k.choices.at(s.get())); }

  std::string groups_;
};

// Returns the project's own RTL with what is requested of its inside; null = nothing is, or there is none.
const entry* find_watched(std::string_view kind, const rtl_knobs& how) {
  if (!how.coverage.empty()) return find(kind, "covered");
  return how.trace.empty() ? nullptr : find(kind, "instrumented");
}

// A design is made for the question alone when a run asks for its inside.
void check_watched(const std::string& unit_name, const rtl_knobs& how, design_factory make) {
  if (!how.trace.empty() && !make(0)->has_waves())
    throw std::invalid_argument(unit_name + ".rtl.trace: its design was built without waveforms (WAVES, INSTRUMENTED)");
  if (!how.coverage.empty() && !make(0)->has_coverage())
    throw std::invalid_argument(unit_name + ".rtl.coverage: its design was built without coverage (INSTRUMENTED)");
}

std::string file_in(const std::string& folder, const std::string& unit_name, const char* ending) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (!fs::is_directory(folder, ec))
    throw std::invalid_argument(unit_name + ".rtl: " + folder + " is not a folder to write into");
  return (fs::path(folder) / (unit_name + ending)).string();
}

// FOLDER, or FOLDER/*.vcd or FOLDER/*.fst.
std::string wave_in(const std::string& where, const std::string& unit_name) {
  const fs::path path(where);
  const bool named = path.filename().string().starts_with("*");
  const std::string ending = named ? path.extension().string() : ".vcd";
  if (ending != ".vcd" && ending != ".fst")
    throw std::invalid_argument(unit_name + ".rtl.trace: " + where + ": write a folder, FOLDER/*.vcd or FOLDER/*.fst");
  const fs::path folder = named ? path.parent_path() : path;
  return file_in(folder.empty() ? "." : folder.string(), unit_name, ending.c_str());
}

}  // namespace

registered::registered(const char* kind, const char* name, design_factory make) {
  enter({kind, name, make, nullptr});
}
registered::registered(const char* kind, const char* name, const whole_unit& unit) {
  enter({kind, name, nullptr, &unit});
}

std::vector<std::string_view> names_of(std::string_view kind, std::vector<std::string_view> first) {
  for (const entry& e : entries()) {
    if (e.kind == kind) first.push_back(e.name);
  }
  return first;
}

chosen choose_any(std::string_view kind, const std::string& unit_name, const implementation& which, const rtl_knobs& how,
                  design_factory own, const std::vector<std::string>& knobs) {
  chosen c;
  if (which.name == "rtl" && own) {
    const entry* const watched = find_watched(kind, how);
    c.make = watched ? watched->make : own;
  } else {
    const entry e = find_any(kind, unit_name, which.name, knobs,
                             own ? std::vector<std::string_view>{"model", "rtl"} : std::vector<std::string_view>{});
    c.make = e.make;
    c.whole = e.whole;
    if (!c.make && !c.whole) refuse(unit_name, which.name, " gives no design");
  }
  c.options.seed = how.seed;
  c.options.stall = how.stall;
  c.options.storms = how.storms;
  c.options.check_x = how.check_x;
  c.options.steps = how.steps;
  c.options.trace_from = how.trace_from;
  if (c.make) check_watched(unit_name, how, c.make);
  if (!how.trace.empty()) c.options.trace = wave_in(how.trace, unit_name);
  if (!how.coverage.empty()) c.options.coverage = file_in(how.coverage, unit_name, ".dat");
  return c;
}

chosen choose(std::string_view kind, const std::string& unit_name, const implementation& which, const rtl_knobs& how,
              design_factory own, const std::vector<std::string>& knobs) {
  chosen c = choose_any(kind, unit_name, which, how, own, knobs);
  if (!c.make) refuse(unit_name, which.name, " brings sockets of its own; a design is needed here");
  return c;
}

std::vector<std::string> knob_texts(const std::function<void(knob_visitor&)>& visit) {
  text_visitor v;
  visit(v);
  return std::move(v.texts);
}

}  // namespace hcasim::rtl
