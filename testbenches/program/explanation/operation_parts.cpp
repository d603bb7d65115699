// The parts into which an operation's time is cut, and their sums.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/explanation/operations.h"
#include "testbenches/program/recording/span_words.h"

namespace hcasim {

const std::array<operation_follower::part_name, operation_follower::parts> operation_follower::names{
    {{"send_queue", "queueing, service"},
     {"send_queue, qpc_cache", "service"},
     {"send_queue, qpc_cache", "miss"},
     {"send_queue, page_walker", "service"},
     {"send_queue, page_walker", "miss"},
     {"send_queue, WQE fetch", "PCIe"},
     {"send_queue, requests under way", "limit"},
     {"send_queue, READs under way", "limit"},
     {"send_queue, fence", "order"},
     {"requester", "queueing, service"},
     {"requester", "page not there"},
     {"requester, qpc_cache", "service"},
     {"requester, qpc_cache", "miss"},
     {"requester, key_check", "service"},
     {"requester, key_check", "miss"},
     {"requester, page_walker", "service"},
     {"requester, page_walker", "miss"},
     {"requester, payload", "PCIe"},
     {"port", "queueing, service"},
     {"link", "wire"},
     {"link", "lost, sent again"},
     {"responder", "receiver not ready"},
     {"responder", "queueing, service"},
     {"responder, qpc_cache", "service"},
     {"responder, qpc_cache", "miss"},
     {"responder, key_check", "service"},
     {"responder, key_check", "miss"},
     {"responder, page_walker", "service"},
     {"responder, page_walker", "miss"},
     {"responder, payload", "PCIe"},
     {"port, answer", "queueing, service"},
     {"link, answer", "wire"},
     {"requester, answer", "queueing, service"},
     {"completion", "queueing, service"},
     {"completion, CQE", "PCIe"}}};

// A wait counts while the operation is where it waits.
std::size_t operation_follower::side_of(part p) {
  if (p <= fence) return 0;
  if (p <= payload || p == requester_answer) return 1;
  if (p >= responder && p <= far_payload) return 2;
  return 3;
}

// Cuts the operation's time: by its place, and within a place by the wait that ends last.
void operation_follower::finish(operations::iterator at, ps end) {
  operation o = std::move(at->second);
  live_.erase(at);
  if (o.fails) return;
  const std::string name = fmt::format("{} {}", transport_names[o.transport], span_words<work_request>::name(o.opcode));
  totals one{1, o.bytes, {}};
  std::stable_sort(o.marks.begin(), o.marks.end(), [](const mark& x, const mark& y) { return x.at < y.at; });
  std::stable_sort(o.waits.begin(), o.waits.end(), [](const wait& x, const wait& y) { return x.begin < y.begin; });
  std::size_t m = 0;
  std::size_t w = 0;
  std::array<const wait*, sides> current{};  // for each side, the wait that ends last
  for (ps t = o.marks.front().at; t < end;) {
    while (m + 1 < o.marks.size() && o.marks[m + 1].at <= t) ++m;
    for (; w < o.waits.size() && o.waits[w].begin <= t; ++w) {
      const wait*& c = current[side_of(o.waits[w].what)];
      if (!c || o.waits[w].end >= c->end) c = &o.waits[w];
    }
    ps next = end;
    if (m + 1 < o.marks.size()) next = std::min(next, o.marks[m + 1].at);
    if (w < o.waits.size()) next = std::min(next, o.waits[w].begin);
    const part where = o.marks[m].where;
    const wait* held_up = current[side_of(where)];
    if (held_up && held_up->end <= t) held_up = nullptr;
    if (held_up) next = std::min(next, held_up->end);
    one.time[held_up ? held_up->what : where] += next - t;
    t = next;
  }
  kinds_[name].add(one);
  if (measurement_ && o.marks.front().at >= measurement_->running_since()) measured_[name].add(one);
}

void operation_follower::totals::add(const totals& o) {
  count += o.count;
  bytes += o.bytes;
  for (std::size_t i = 0; i < parts; ++i) time[i] += o.time[i];
}

std::vector<waterfall> operation_follower::waterfalls() const {
  std::vector<std::pair<std::string, const totals*>> order;
  for (const auto& [name, sum] : measurement_ && measurement_->marked() ? measured_ : kinds_) order.emplace_back(name, &sum);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
  std::vector<waterfall> out;
  for (const auto& [name, sum] : order) {
    const auto n = static_cast<double>(sum->count);
    waterfall w{fmt::format("{}: from the doorbell to its completion, mean of {} ({:.4g} B each)", name, sum->count,
                            static_cast<double>(sum->bytes) / n),
                {}};
    for (std::size_t i = 0; i < parts; ++i) {
      if (sum->time[i] > ps(0)) w.steps.push_back({names[i].unit, names[i].kind, to_ns(sum->time[i]) / n});
    }
    out.push_back(std::move(w));
  }
  return out;
}

}  // namespace hcasim
