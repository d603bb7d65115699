#include "testbenches/coverification/lockstep/stream_cover.h"

#include <array>
#include <initializer_list>

#include "testbenches/coverification/lockstep/item_fields.h"
#include "tlm/access.h"
#include "tlm/rtl/cover_group.h"
#include "tlm/translate.h"
#include "tlm/verdict.h"

namespace hcasim::lockstep {
namespace {

using rtl::cover_cross;
using rtl::cover_group;
using rtl::cover_point;

// Adds a bin for each named value, except for values that no random stream has.
cover_point& named_bins(cover_point& p, std::span<const std::string_view> names, std::uint32_t left_out = 0) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!(left_out >> i & 1)) p.bin(std::string(names[i]), i);
  }
  return p;
}

// The common bins of all units: the kinds of items, and how close they follow each other.
class unit_cover : public stream_cover {
 public:
  unit_cover(std::string unit, std::uint32_t kinds_not_drawn) : unit_(std::move(unit)), group_(unit_ + "_stream") {
    named_bins(kind_, item_kinds(unit_), kinds_not_drawn | kinds_of_memory(unit_));
    gap_.bin("none", 0).bin("few", 1, 7).bin("many", 8, 0xffff);
    group_.cross("kind_x_gap", {&kind_, &gap_});
  }
  void sample(const item& i, const comparison::answer& a) final {
    kind_.set(kind_of(i));
    gap_.set(i[0] >> 8 & 0xffff);
    set(i, a);
    group_.sample();
  }
  void append_to(const std::string& file, const coverage& counted) const final {
    group_.append_to(file);
    cover_group points(unit_ + "_counts");
    cover_point& p = points.point("point");
    std::uint64_t n = 0;
    for (const auto& [name, count] : counted) p.bin(name, n++);
    n = 0;
    for (const auto& [name, count] : counted) {
      p.set(n++);
      points.sample(count);
    }
    points.append_to(file);
  }

 protected:
  virtual void set(const item& i, const comparison::answer& a) = 0;
  // A field of items, for the kinds that have the field.
  void set_field(cover_point& p, const item& i, std::string_view name) const {
    for (const item_field& f : item_fields(unit_)) {
      if (f.name == name && f.of(kind_of(i))) p.set(f.get(i));
    }
  }
  [[nodiscard]] cover_group& group() { return group_; }
  [[nodiscard]] cover_point& kind() { return kind_; }

 private:
  std::string unit_;
  cover_group group_;
  cover_point& kind_ = group_.point("kind");
  cover_point& gap_ = group_.point("gap");
};

class key_cover final : public unit_cover {
 public:
  key_cover() : unit_cover("key_check", 0) {
    for (std::size_t v = 0; v < verdicts; ++v) verdict_.bin(verdict_names[v], v);
    side_.bin("local", 0).bin("remote", 1);
    rights_.bin("none", 0)
        .bin("write", HCA_ACCESS_REMOTE_WRITE)
        .bin("read", HCA_ACCESS_REMOTE_READ)
        .bin("atomic", HCA_ACCESS_REMOTE_ATOMIC);
    length_.bin("nothing", 0)
        .bin("one", 1)
        .bin("page", 2, 4096)
        .bin("more", 4097, 1U << 20)
        .bin("beyond_2_to_63", std::uint64_t{1} << 63, ~std::uint64_t{0});
    group().cross("side_x_verdict", {&side_, &verdict_});
    group().cross("rights_x_verdict", {&rights_, &verdict_});
    group().cross("side_x_length", {&side_, &length_});
  }

 private:
  void set(const item& i, const comparison::answer& a) override {
    set_field(rights_, i, "rights");
    set_field(length_, i, "length");
    if (kind_of(i) != 0) return;  // of checks
    verdict_.set(a[0]);
    set_field(side_, i, "remote");
  }
  cover_point& verdict_ = group().point("verdict");
  cover_point& side_ = group().point("side");
  cover_point& rights_ = group().point("rights");
  cover_point& length_ = group().point("length");
};

class walk_cover final : public unit_cover {
 public:
  walk_cover() : unit_cover("page_walker", 0) {
    status_.bin("ok", 0).bin("not_present", 1).bin("table_error", 2);
    levels_.bins("of", 0, 4, 5);
    page_.bin("4K", 12).bin("64K", 16).bin("2M", 21).bin("1G", 30);
    side_.bin("read", 0).bin("write", 1);
    length_.bin("one", 1).bin("within_a_page", 2, 4096).bin("more", 4097, ~std::uint64_t{0});
    group().cross("levels_x_page", {&levels_, &page_}).leave_out({"of[0]", "*"});  // a table of none has no pages
    group().cross("status_x_side", {&status_, &side_});
    group().cross("status_x_length", {&status_, &length_});
  }

 private:
  void set(const item& i, const comparison::answer& a) override {
    set_field(levels_, i, "levels");
    set_field(page_, i, "page_shift");
    set_field(side_, i, "write");
    set_field(length_, i, "length");
    if (kind_of(i) == 0) status_.set(a[0]);
  }
  cover_point& status_ = group().point("status");
  cover_point& levels_ = group().point("levels");
  cover_point& page_ = group().point("page");
  cover_point& side_ = group().point("side");
  cover_point& length_ = group().point("length");
};

class context_cover final : public unit_cover {
 public:
  explicit context_cover(const std::string& unit) : unit_cover(unit, 1U << 5) {  // put: of recorded streams
    answer_.bin("entry", 0).bin("failed", 1);
    held_.bin("not", 0).bin("few", 1, 7).bin("some", 8, 63).bin("long", 64, 0xffff);
    cover_cross& answered = group().cross("kind_x_answer", {&kind(), &answer_});
    for (const char* never_fails : {"drop", "replace", "renew", "set_area"}) answered.leave_out({never_fails, "failed"});
    group()
        .cross("kind_x_held", {&kind(), &held_})
        .leave_out({"drop", "*"})
        .leave_out({"replace", "*"})
        .leave_out({"renew", "*"})
        .leave_out({"set_area", "*"});
  }

 private:
  void set(const item& i, const comparison::answer& a) override {
    answer_.set(a[0]);
    set_field(held_, i, "hold");
  }
  cover_point& answer_ = group().point("answer");
  cover_point& held_ = group().point("held");
};

class doorbell_cover final : public unit_cover {
 public:
  doorbell_cover() : unit_cover("doorbell", 0) {
    blocks_.bin("none", 0).bins("of", 1, 16, 4).bin("too_many", 17, 255);
    offset_.bin("bells", 0, 0x1f).bin("between", 0x20, 0x7ff).bin("blueflame", 0x800, 0xfff);
    cover_cross& at = group().cross("kind_x_offset", {&kind(), &offset_});
    cover_cross& with = group().cross("kind_x_blocks", {&kind(), &blocks_});
    for (const char* bell : {"sq", "rq", "cq", "eq"}) at.leave_out({bell, "between"}).leave_out({bell, "blueflame"});
    for (const char* wqe : {"blueflame", "broken_blueflame"}) at.leave_out({wqe, "between"}).leave_out({wqe, "bells"});
    for (const char* without_wqe : {"sq", "rq", "cq", "eq", "bad"}) with.leave_out({without_wqe, "*"});
    with.leave_out({"blueflame", "none"}).leave_out({"blueflame", "too_many"});
  }

 private:
  void set(const item& i, const comparison::answer&) override {
    set_field(blocks_, i, "blocks");
    set_field(offset_, i, "offset");
  }
  cover_point& blocks_ = group().point("blocks");
  cover_point& offset_ = group().point("offset");
};

}  // namespace

std::unique_ptr<stream_cover> make_stream_cover(const std::string& unit) {
  if (unit == "key_check") return std::make_unique<key_cover>();
  if (unit == "page_walker") return std::make_unique<walk_cover>();
  if (unit == "doorbell") return std::make_unique<doorbell_cover>();
  return std::make_unique<context_cover>(unit);
}

}  // namespace hcasim::lockstep
