#include "testbenches/traffic/flow_record.h"

#include <algorithm>

namespace hcasim::traffic {

void rate_series::add(ps t, std::uint64_t bytes) {
  while (t / width_ >= static_cast<std::int64_t>(most_steps)) {
    for (std::size_t i = 0; i < most_steps / 2; ++i) bytes_[i] = bytes_[2 * i] + bytes_[2 * i + 1];
    std::fill(bytes_.begin() + most_steps / 2, bytes_.end(), 0);
    width_ *= 2;
  }
  bytes_[static_cast<std::size_t>(t / width_)] += bytes;
}

std::vector<rate_series::step> rate_series::steps(ps end) const {
  std::vector<step> out;
  for (std::size_t i = 0; i < most_steps; ++i) {
    const ps begin = width_ * static_cast<std::int64_t>(i);
    if (begin >= end) break;
    out.push_back({begin, std::min(begin + width_, end), bytes_[i]});
  }
  return out;
}

flow_record::flow_record(const std::vector<std::size_t>& source_of) : pairs_(source_of.size()) {
  for (const std::size_t host : source_of) {
    const auto same = [host](const source& s) { return s.host == host; };
    auto found = std::find_if(sources_.begin(), sources_.end(), same);
    if (found == sources_.end()) found = sources_.insert(found, {host, {}});
    source_of_.push_back(static_cast<std::size_t>(found - sources_.begin()));
  }
}

const latency_histogram* flow_record::of_host(std::size_t host) const {
  const auto found = std::find_if(sources_.begin(), sources_.end(), [host](const source& s) { return s.host == host; });
  return found == sources_.end() ? nullptr : &found->times;
}

void flow_record::completed(const done_message& m, ps done) {
  ++all_;
  last_done_ = std::max(last_done_, done);
  if (!within(done)) return;
  latency_.add(done - m.posted);
  if (m.due != never) response_.add(done - m.due);
  sources_[source_of_[m.pair]].times.add(done - (m.due != never ? m.due : m.posted));
  bytes_ += m.bytes;
  pair_count& pair = pairs_[m.pair];
  ++pair.messages;
  (m.pulls ? pair.pulled : pair.pushed) += m.bytes;
  over_time_.add(done - begin_, m.bytes);
}

void flow_record::offered(ps due, std::uint32_t bytes) {
  if (!within(due)) return;
  ++offered_messages_;
  offered_bytes_ += bytes;
}

void flow_record::received(ps t, std::size_t host, std::uint64_t bytes) {
  if (!within(t)) return;
  ++received_;
  if (host >= arrived_.size()) arrived_.resize(host + 1);
  arrived_[host] += bytes;
}

double jain_index(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double r : rates) {
    sum += r;
    squares += r * r;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(rates.size()) * squares);
}

double overlap(const std::vector<std::vector<const flow_record*>>& phases, ps begin, ps end) {
  ps all{0};
  for (const auto& records : phases) {
    ps first = begin;
    ps last = end;
    for (const flow_record* r : records) {
      first = std::max(first, r->first_post());
      last = std::min(last, r->last_done());
    }
    all += std::max(last - first, 0_ps);
  }
  return end <= begin ? 0 : static_cast<double>(all.count()) / static_cast<double>((end - begin).count());
}

}  // namespace hcasim::traffic
