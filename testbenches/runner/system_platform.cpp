#include "testbenches/runner/system_platform.h"

#include "models/system/system.h"
#include "testbenches/runner/testbench.h"

namespace hcasim {
namespace {

class system_platform : public platform {
 public:
  void knobs(knob_visitor& k) override {
    if (visited_) config_.nodes.resize(nodes_, config_.nodes.front());
    visited_ = true;
    nodes_ = static_cast<std::uint32_t>(config_.nodes.size());
    k.count("nodes", nodes_, 1, 64, "hosts, each with one adapter");
    config_.knobs(k);
  }
  void check() override {
    if (config_.fabric == topology::direct && config_.nodes.size() > 2) {
      throw input_error(fmt::format("topology: one cable joins two nodes, but there are {}; write topology: switch or nodes: 2",
                                    config_.nodes.size()));
    }
  }
  system_config* config() override { return &config_; }

 private:
  system_config config_;
  std::uint32_t nodes_ = 0;
  bool visited_ = false;
};

}  // namespace

std::unique_ptr<platform> make_system_platform() {
  return std::make_unique<system_platform>();
}

system& run_context::build() {
  system_config config = *config_;
  config.seed = seed_;
  return make<system>("system", config);
}

}  // namespace hcasim
