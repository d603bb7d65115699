// Streams from a system run: which units can be recorded.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "testbenches/lockstep/unit_recorder.h"

namespace hcasim::lockstep {

unit_recorder::unit_recorder(const std::string& unit, const std::string& file, const char* bench, frequency clock,
                             std::uint64_t seed)
    : sc_module(sc_core::sc_module_name("stream_recorder")), unit_(unit), file_(file), bench_(bench), clock_(clock) {
  options_.seed = seed;
  options_.stall = 0;
}

std::uint64_t unit_recorder::cycles(ps t) const {
  return static_cast<std::uint64_t>(std::clamp(std::floor(clock_.cycles_in(t)), 0.0, 65535.0));
}

std::size_t unit_recorder::begin(item i, ps t) {
  i[0] = (i[0] & ~std::uint64_t{0xffff00}) | cycles(t - last_) << 8;
  last_ = std::max(last_, t);
  asked_.insert(entries_.size());
  entries_.push_back({i, {}, ps(0)});
  return entries_.size() - 1;
}

void unit_recorder::answer(std::size_t number, ps t) {
  entries_[number].answered = t;
  asked_.erase(number);
}

void unit_recorder::read(std::uint64_t place, const item& now_there) {
  const auto known = known_.find(place);
  if ((known != known_.end() && known->second == now_there) || asked_.empty()) return;
  known_[place] = now_there;
  entries_[*asked_.begin()].before.push_back(now_there);
}

std::uint64_t unit_recorder::finish() {
  if (!found_) throw std::runtime_error("--record-stream: there is no unit '" + unit_ + "'");
  item_stream all = preface();
  for (const entry& e : entries_) {
    all.insert(all.end(), e.before.begin(), e.before.end());
    all.push_back(e.what);
  }
  write_stream(file_, bench_, all, options_);
  return all.size();
}

namespace {

struct recordable {
  const char* unit;
  std::unique_ptr<stream_recorder> (*record)(const std::string& unit, const std::string& file, const hca_config& c,
                                             std::uint64_t seed);
};
constexpr recordable recordables[] = {{"doorbell", record_doorbell},          {"key_check", record_key_check},
                                      {"page_walker", record_page_walker},    {"mrc_cache", record_context_cache},
                                      {"extent_cache", record_context_cache}, {"cqc_cache", record_context_cache}};

std::unique_ptr<stream_recorder> make_recorder(const std::string& unit, const std::string& file, const system_config& config) {
  std::string names;
  for (const recordable& r : recordables) {
    for (std::size_t i = 0; i < config.nodes.size(); ++i) {
      if (unit == "node" + std::to_string(i) + ".hca." + r.unit) return r.record(unit, file, config.nodes[i].hca, config.seed);
    }
    names.append(names.empty() ? "" : ", ").append(r.unit);
  }
  throw std::invalid_argument("--record-stream: '" + unit + "' is no unit whose stream can be recorded; there are " + names +
                              " of node0.hca" +
                              (config.nodes.size() > 1 ? " to node" + std::to_string(config.nodes.size() - 1) + ".hca" : ""));
}

[[maybe_unused]] const bool registered = (program_stream_recorder() = make_recorder, true);

}  // namespace
}  // namespace hcasim::lockstep
