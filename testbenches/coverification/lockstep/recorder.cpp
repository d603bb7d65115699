// Streams from a system run: which units can be recorded.
#include <stdexcept>

#include "testbenches/coverification/lockstep/unit_recorder.h"

namespace hcasim::lockstep {

namespace {

struct recordable {
  const char* unit;
  std::unique_ptr<stream_recorder> (*record)(const std::string& unit, const std::string& file, const hca_config& c,
                                             std::uint64_t seed);
};
constexpr recordable recordables[] = {{"doorbell", record_doorbell},          {"key_check", record_key_check},
                                      {"page_walker", record_page_walker},    {"mrc_cache", record_context_cache},
                                      {"extent_cache", record_context_cache}, {"cqc_cache", record_context_cache},
                                      {"qpc_cache", record_context_cache}};

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
