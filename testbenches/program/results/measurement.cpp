#include "testbenches/program/results/measurement.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "testbenches/program/results/hierarchy.h"

namespace hcasim {

const std::vector<measurement::entry>& measurement::collect() {
  if (!entries_.empty()) return entries_;
  for (const unit* u : all_units()) {
    for (const statistic& s : u->stats().all()) entries_.push_back({u, statistic_reader(s)});
  }
  open_.resize(entries_.size());
  return entries_;
}

void measurement::read(std::size_t i, ps t) {
  const tally news = entries_[i].reader.take(t);
  open_[i] += news;
  if (!rows_.empty()) rows_[i] += news;
}

tally measurement::take_row(std::size_t i, ps t) {
  read(i, t);
  return std::exchange(rows_[i], {});
}

// Counts since the last begin or end belong to p.
void measurement::close(part& p, ps t) {
  collect();
  p.values.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    read(i, t);
    p.values[i] += std::exchange(open_[i], {});
  }
  p.time += t - since_;
  p.end = t;
  since_ = t;
}

void measurement::begin(const std::string& name, ps t) {
  if (running_) throw std::logic_error("a measured part begins inside another one");
  close(set_up_, t);
  const auto known = std::find_if(parts_.begin(), parts_.end(), [&](const part& p) { return p.name == name; });
  running_ = known != parts_.end() ? &*known : &parts_.emplace_back(part{name, t, t, ps(0), {}});
}

void measurement::end(ps t) {
  if (!running_) throw std::logic_error("a measured part ends that never began");
  close(*std::exchange(running_, nullptr), t);
}

void measurement::finish(ps t) {
  if (!marked()) return close(measured_, t);
  close(running_ ? *running_ : set_up_, t);
  open_ = {};
  measured_ = {"", parts_.front().begin, ps(0), ps(0), std::move(parts_.front().values)};
  for (const part& p : parts_) {
    measured_.time += p.time;
    measured_.end = std::max(measured_.end, p.end);
  }
  if (parts_.size() == 1) return;
  parts_.front().values = measured_.values;
  for (auto p = std::next(parts_.begin()); p != parts_.end(); ++p) {
    for (std::size_t i = 0; i < entries_.size(); ++i) measured_.values[i] += p->values[i];
  }
}

measurement::part measurement::whole() const {
  part all = measured_;
  all.begin = ps(0);
  all.end = std::max(all.end, set_up_.end);
  all.time += set_up_.time;
  for (std::size_t i = 0; i < set_up_.values.size(); ++i) all.values[i] += set_up_.values[i];
  return all;
}

}  // namespace hcasim
