#include "testbenches/schedules/loggp_probe.h"

namespace hcasim::schedules {
namespace {

constexpr std::uint32_t trips = 32;
constexpr std::uint32_t sends = 48;  // fewer than a send queue holds
constexpr std::uint32_t streamed = 512;
constexpr ps calculation = 500_us;  // longer than all of `sends` take to arrive

}  // namespace

loggp_probe::loggp_probe(std::uint64_t small, std::uint64_t large) : small_(small), large_(large) {
  s_.ranks.resize(2);
  small_trips_ = ping_pong(small);
  large_trips_ = ping_pong(large);
  overheads(small, small_sends_, small_receives_);
  overheads(large, large_sends_, large_receives_);
  stream_ = stream(small);
}

std::uint32_t loggp_probe::next(std::uint32_t rank, const operation& o) {
  const std::uint32_t i = s_.ranks[rank].add(o);
  if (last_[rank] != ~0U) s_.ranks[rank].require(i, last_[rank]);
  return last_[rank] = i;
}

loggp_probe::series loggp_probe::ping_pong(std::uint64_t bytes) {
  series ends{static_cast<std::uint32_t>(s_.ranks[0].operations.size()) + 1, 0, 2};
  for (std::uint32_t i = 0; i < trips; ++i) {
    next(0, {.what = action::send, .peer = 1, .bytes = bytes});
    next(0, {.what = action::receive, .peer = 1, .bytes = bytes});
    next(1, {.what = action::receive, .peer = 0, .bytes = bytes});
    next(1, {.what = action::send, .peer = 0, .bytes = bytes});
  }
  ends.last = ends.first + 2 * trips;
  return ends;
}

void loggp_probe::overheads(std::uint64_t bytes, series& from, series& to) {
  next(1, {.what = action::calculate, .time = calculation});
  from.first = static_cast<std::uint32_t>(s_.ranks[0].operations.size());
  to.first = static_cast<std::uint32_t>(s_.ranks[1].operations.size());
  for (std::uint32_t i = 0; i < sends; ++i) {
    next(0, {.what = action::send, .peer = 1, .bytes = bytes});
    next(1, {.what = action::receive, .peer = 0, .bytes = bytes});
  }
  from.last = from.first + sends;
  to.last = to.first + sends;
  next(0, {.what = action::receive, .peer = 1, .bytes = bytes});
  next(1, {.what = action::send, .peer = 0, .bytes = bytes});
}

loggp_probe::series loggp_probe::stream(std::uint64_t bytes) {
  const std::uint32_t after = last_[1];
  series ends{static_cast<std::uint32_t>(s_.ranks[1].operations.size()), 0, 1};
  for (std::uint32_t i = 0; i < streamed; ++i) {
    next(0, {.what = action::send, .peer = 1, .bytes = bytes});
    last_[1] = after;
    next(1, {.what = action::receive, .peer = 0, .bytes = bytes});
  }
  ends.last = ends.first + streamed;
  return ends;
}

loggp loggp_probe::parameters(const run_result& r) const {
  // Mean time between the ends of operations that follow each other, of the later half where they must run in first.
  const auto between = [&](std::uint32_t rank, const series& s, bool half = false) {
    const std::uint32_t n = (s.last - s.first) / s.step;
    const std::uint32_t skipped = half ? n / 2 : 0;
    const auto& times = r.ranks[rank].times;
    const ps all = times[s.first + (n - 1) * s.step].ended - times[s.first + skipped * s.step].ended;
    return static_cast<double>(all.count()) / (n - 1 - skipped);
  };
  const auto each = [&](const series& s) {
    ps all{0};
    for (std::uint32_t i = s.first; i < s.last; ++i) all += r.ranks[0].times[i].ended - r.ranks[0].times[i].begun;
    return static_cast<double>(all.count()) / (s.last - s.first);
  };
  const auto whole = [](double v) { return ps(static_cast<std::int64_t>(v)); };
  const auto more = static_cast<double>(large_ - small_);
  const double o_send = each(small_sends_);
  const double o_receive = between(1, small_receives_);
  const double o_send_large = each(large_sends_);
  const double o_receive_large = between(1, large_receives_);
  const double small_way = between(0, small_trips_) / 2 - o_send - o_receive;
  const double large_way = between(0, large_trips_) / 2 - o_send_large - o_receive_large;
  return {.latency = whole(small_way),
          .o_send = whole(o_send),
          .o_receive = whole(o_receive),
          .gap = whole(between(1, stream_, true)),
          .byte_gap = (large_way - small_way) / more,
          .byte_o_send = (o_send_large - o_send) / more,
          .byte_o_receive = (o_receive_large - o_receive) / more};
}

}  // namespace hcasim::schedules
