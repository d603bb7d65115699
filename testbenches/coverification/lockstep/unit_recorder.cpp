#include "testbenches/coverification/lockstep/unit_recorder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace hcasim::lockstep {
namespace {

void append(item_stream& to, const item_stream& s) {
  to.insert(to.end(), s.begin(), s.end());
}

}  // namespace

unit_recorder::unit_recorder(const std::string& unit, const std::string& file, const char* bench, frequency clock,
                             std::uint64_t seed)
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("stream_recorder"))),
      unit_(unit),
      file_(file),
      bench_(bench),
      clock_(clock) {
  options_.seed = seed;
  options_.stall = 0;
}

std::uint64_t unit_recorder::cycles(ps t) const {
  return static_cast<std::uint64_t>(std::clamp(std::floor(clock_.cycles_in(t)), 0.0, 65535.0));
}

void unit_recorder::open(const void* request, item i, ps t) {
  i[0] = (i[0] & ~std::uint64_t{0xffff00}) | cycles(t - last_) << 8;
  last_ = std::max(last_, t);
  open_[request] = entries_.size();
  asked_.insert(entries_.size());
  entries_.push_back({i, {}, ps(0)});
}

void unit_recorder::answer(const void* request, ps t, bool lent) {
  const auto found = open_.find(request);
  if (found == open_.end()) return;
  entries_[found->second].answered = t;
  asked_.erase(found->second);
  if (!lent) open_.erase(found);
}

item* unit_recorder::give_back(const void* request, ps t) {
  const auto found = open_.find(request);
  if (found == open_.end()) return nullptr;
  entry& e = entries_[found->second];
  e.what[0] |= cycles(t - e.answered) << 24;
  open_.erase(found);
  return &e.what;
}

void unit_recorder::precede(const void* request, const item_stream& with) {
  const auto found = open_.find(request);
  if (found != open_.end()) append(entries_[found->second].before, with);
}

void unit_recorder::read(std::uint64_t place, const item_stream& now_there) {
  const auto known = known_.find(place);
  if ((known != known_.end() && known->second == now_there) || asked_.empty()) return;
  known_[place] = now_there;
  append(entries_[*asked_.begin()].before, now_there);
}

std::uint64_t unit_recorder::finish() {
  if (!found_) throw std::runtime_error("--record-stream: there is no unit '" + unit_ + "'");
  item_stream all = preface();
  for (const entry& e : entries_) {
    append(all, e.before);
    all.push_back(e.what);
  }
  write_stream(file_, bench_, all, options_);
  return all.size();
}

item memory_item(std::uint8_t kind, const dma_request& p) {
  item i{};
  i[0] = kind | std::uint64_t{p.failed} << 48;
  i[1] = p.address;
  if (!p.failed) std::memcpy(&i[2], p.data, std::min<std::size_t>(p.bytes, 64));
  return i;
}

}  // namespace hcasim::lockstep
