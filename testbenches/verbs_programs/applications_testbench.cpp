#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/verbs_programs/program_set.h"
#include "tlm/base/missing_part.h"

namespace hcasim {
namespace {

class applications_testbench final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "applications"; }
  [[nodiscard]] std::string_view summary() const override {
    return "verbs programs of this machine on the simulated adapters, in simulated time";
  }
  // One node is enough: a lone program talks to itself.
  void defaults(system_config& c) override { c.nodes.resize(1); }
  // A program may launch others on any node.
  [[nodiscard]] std::size_t driven_nodes(std::size_t nodes, std::size_t /*needed*/) const override { return nodes; }
  void knobs(knob_visitor& k) override { programs_.knobs(k); }

  [[nodiscard]] bool watches_itself() const override { return true; }
  void run(run_context& context) override {
    hcasim::system& s = context.build();
    auto& running = make(context, s);
    const interrupt_watch signals;
    running.stop_by(signals.fd());
    running.start();
    context.start();
    while (!running.all_ended() && running.wait_outside()) {
      if (sc_core::sc_pending_activity()) context.start();
    }
    if (running.used_up()) throw std::system_error(*running.used_up());
    for (const std::string& f : running.failures()) context.fail(f);
    programs_.report(context, running);
  }

 private:
  applications::programs& make(run_context& context, hcasim::system& s) {
    try {
      return programs_.make(
          context, s, "applications: there is no program; write --program0.run 'ib_write_lat', or use 'hcasim exec -- ...'");
    } catch (const input_error&) {
      throw;
    } catch (const std::system_error&) {
      throw;
    } catch (const missing_part&) {
      throw;
    } catch (const std::exception& e) {
      throw input_error(fmt::format("applications: {}", e.what()));
    }
  }

  program_set programs_;
};

const testbench_registration<applications_testbench> registers_applications;

}  // namespace
}  // namespace hcasim
