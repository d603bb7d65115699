#include "tlm/rtl/axi/axis.h"

#include <algorithm>
#include <stdexcept>

#include "tlm/rtl/axi/axi.h"

namespace hcasim::rtl {
namespace {

std::uint64_t low_bits(const payload& p, field f) {
  return f ? p.get(f.at, std::min(f.bits, 64U)) : 0;
}

constexpr std::uint64_t of_a_frame = 1;  // cookies: the last beat of one; the user's own lies above

}  // namespace

axis_fields::axis_fields(const stream& s)
    : data(s.find("data")),
      keep(s.find("keep")),
      strb(s.find("strb")),
      last(s.find("last")),
      id(s.find("id")),
      dest(s.find("dest")),
      user(s.find("user")),
      bytes(data.bits / 8) {}

axis_source::axis_source(shell& of, const std::string& name)
    : endpoint(of, name, "axis", true), s_(*channel("t", true)), f_(s_) {
  s_.on_transfer = [this](const payload&, std::uint64_t cookie, ps t) {
    if ((cookie & of_a_frame) == 0) return;
    --under_way_;
    if (on_sent) on_sent(cookie >> 1, t);
  };
}

void axis_source::send(const axis_frame& f, ps t, std::uint64_t cookie) {
  const std::size_t beats = f_.bytes == 0 ? 1 : std::max<std::size_t>(1, (f.bytes.size() + f_.bytes - 1) / f_.bytes);
  if (!f_.keep && beats * f_.bytes != f.bytes.size()) {
    throw std::invalid_argument(who() + ": a frame of " + std::to_string(f.bytes.size()) + " bytes is no number of beats of " +
                                std::to_string(f_.bytes) + " bytes, and there is no tkeep");
  }
  for (std::size_t n = 0; n < beats; ++n) {
    payload p;
    const std::size_t first = n * f_.bytes;
    const auto here = static_cast<unsigned>(std::min<std::size_t>(f_.bytes, f.bytes.size() - first));
    for (unsigned i = 0; i < here; ++i) {
      p.set(f_.data.at + 8 * i, 8, f.bytes[first + i]);
      if (f_.keep) p.set(f_.keep.at + i, 1, 1);
      if (f_.strb) p.set(f_.strb.at + i, 1, 1);
    }
    const bool last = n + 1 == beats;
    set_field(p, f_.last, last);
    if (f_.id) p.set(f_.id.at, f_.id.bits, f.id);
    if (f_.dest) p.set(f_.dest.at, f_.dest.bits, f.dest);
    if (f_.user && !f.user.empty()) p.set(f_.user.at, std::min(f_.user.bits, 64U), f.user[std::min(n, f.user.size() - 1)]);
    push(s_, p, t, cookie << 1 | (last ? of_a_frame : 0));
  }
  ++under_way_;
}

void axis_source::was_reset(ps, std::vector<lost>& losses) {
  if (under_way_ > 0) losses.push_back({who() + ": frames", under_way_});
  under_way_ = 0;
}

axis_sink::axis_sink(shell& of, const std::string& name, const axis_sink_options& options)
    : endpoint(of, name, "axis", false), s_(*channel("t", false)), f_(s_), options_(options) {
  s_.on_transfer = [this](const payload& p, std::uint64_t, ps t) { beat(p, t); };
}

void axis_sink::beat(const payload& p, ps t) {
  const bool last = !f_.last || get_field(p, f_.last) != 0;
  axis_frame& f = begun_[{low_bits(p, f_.id), low_bits(p, f_.dest)}];
  f.id = low_bits(p, f_.id);
  f.dest = low_bits(p, f_.dest);
  unsigned kept = 0;
  bool gap = false;
  for (unsigned i = 0; i < f_.bytes; ++i) {
    if (f_.keep && p.get(f_.keep.at + i, 1) == 0) continue;
    gap |= kept++ != i;
    f.bytes.push_back(static_cast<unsigned char>(p.get(f_.data.at + 8 * i, 8)));
  }
  f.user.push_back(low_bits(p, f_.user));
  if (options_.packed && (gap || (!last && kept < f_.bytes)))
    return violation("stream " + s_.name() + ": beat " + std::to_string(f.user.size()) + " of a frame has bytes left out" +
                     (gap ? " below others" : ", and is not the last"));
  if (!last) return;
  const auto done = begun_.extract({f.id, f.dest});
  if (on_frame) on_frame(done.mapped(), t);
}

void axis_sink::was_reset(ps, std::vector<lost>& losses) {
  if (!begun_.empty()) losses.push_back({who() + ": frames that had begun", begun_.size()});
  begun_.clear();
}

}  // namespace hcasim::rtl
