// A unit in a shared object, and objects that are none: OBJECT says which. The design takes a number and gives it back plus
// one.
#include "tlm/rtl/unit_object.h"

#include <cstring>

namespace {

class plus_one final : public hcasim::rtl::design {
 public:
  plus_one() {
    for (auto& [name, bits, output, at] : std::initializer_list<port>{{"clk", 1, false, &clk_},
                                                                      {"rst", 1, false, &rst_},
                                                                      {"in_valid", 1, false, &in_valid_},
                                                                      {"in_ready", 1, true, &in_ready_},
                                                                      {"in_data", 8, false, &in_data_},
                                                                      {"out_valid", 1, true, &out_valid_},
                                                                      {"out_ready", 1, false, &out_ready_},
                                                                      {"out_data", 8, true, &out_data_}})
      pins_.push_back({name, bits, output, at});
    add_clock("clk", 1, 0);
    add_reset("rst", false, 0);
    hcasim::rtl::bundle into, out_of;
    into.into = true;
    add_bundle(into, "in", "in_valid", "in_ready", {"in_data"}, "");
    add_bundle(out_of, "out", "out_valid", "out_ready", {"out_data"}, "");
  }
  [[nodiscard]] const char* name() const override { return "plus_one"; }
  void eval() override {
    if (clk_ && !was_) {
      const bool takes = in_valid_ && in_ready_;
      if (takes) out_data_ = static_cast<std::uint8_t>(in_data_ + 1);
      out_valid_ = !rst_ && (takes || (out_valid_ && !out_ready_));
    }
    was_ = clk_;
    in_ready_ = !out_valid_;
  }

 private:
  struct port {
    const char* name;
    unsigned bits;
    bool output;
    std::uint8_t* at;
  };
  std::uint8_t clk_ = 0, rst_ = 0, in_valid_ = 0, in_ready_ = 0, in_data_ = 0, out_valid_ = 0, out_ready_ = 0, out_data_ = 0;
  bool was_ = false;
};

[[maybe_unused]] std::unique_ptr<hcasim::rtl::design> make(unsigned) {
  return std::make_unique<plus_one>();
}

[[maybe_unused]] const char* refuses_depth_3(const char* const* knobs) {
  for (; *knobs; ++knobs) {
    if (std::strcmp(*knobs, "depth=3") == 0) return "depth 3 is more than it has";
  }
  return nullptr;
}

}  // namespace

using unit_object = hcasim::rtl::unit_object;
#define GOOD 0
#define NO_SYMBOL 1
#define NOTHING 2
#define VERSION 3
#define LAYOUT 4
#define NO_DESIGN 5
#define UNDEFINED 6

#if OBJECT == GOOD
HCASIM_UNIT_OBJECT("adder", "plus_one", make, refuses_depth_3)
#elif OBJECT == NO_SYMBOL
extern "C" [[gnu::visibility("default")]] int something_else() {
  return 1;
}
#elif OBJECT == UNDEFINED
extern "C" const char* that_is_not_there(const char* const*);
HCASIM_UNIT_OBJECT("adder", "plus_one", make, that_is_not_there)
#else
extern "C" [[gnu::visibility("default")]] const unit_object* hcasim_unit() {
  static unit_object u{unit_object::this_version, unit_object::this_layout, "adder", "plus_one", make, nullptr, nullptr};
  if (OBJECT == VERSION) ++u.version;
  if (OBJECT == LAYOUT) ++u.layout;
  if (OBJECT == NO_DESIGN) u.make = nullptr;
  return OBJECT == NOTHING ? nullptr : &u;
}
#endif
