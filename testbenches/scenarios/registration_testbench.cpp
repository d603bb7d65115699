#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/program/execution/testbench.h"

namespace hcasim {
namespace {

// Registers a buffer and de-registers it, again and again; nothing else goes on.
class registration final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "registration"; }
  [[nodiscard]] std::string_view summary() const override {
    return "time that a thread takes to register a buffer, and to de-register it";
  }
  void knobs(knob_visitor& k) override {
    k.bytes("size", size_, 1, 0x1p40, "bytes of the buffer");
    k.count("times", times_, 1, 1e6, "registrations that are measured");
    k.count("warm_up", warm_up_, 0, 1e6, "registrations before those");
  }
  void defaults(system_config& c) override { c.nodes.resize(1); }
  void run(run_context& context) override {
    ps registers{0};
    ps deregisters{0};
    bool ok = false;
    const kit::measured_parts parts = context.parts();
    kit::start_program(context.build(), 0, "registration", [&](cpu& c, node& n) {
      kit::process_context p(c, n);
      const std::uint64_t at = p.memory.allocate(size_);
      ok = true;
      for (std::uint64_t i = 0; ok && i < warm_up_ + times_; ++i) {
        if (i == warm_up_) {
          parts.begin(c);
          registers = deregisters = 0_ps;
        }
        const ps begin = c.time();
        kit::ibv_mr* const mr = kit::ibv_reg_mr(c, p.pd, at, size_, kit::all_rights);
        const ps between = c.time();
        ok = mr && kit::ibv_dereg_mr(c, mr) == 0;
        registers += between - begin;
        deregisters += c.time() - between;
      }
      if (ok) parts.end(c);
    });
    context.start();
    context.check(ok, "a registration was refused");
    const auto mean = [&](ps sum) { return to_ns(sum) / 1e3 / static_cast<double>(times_); };
    context.result().headline("register", mean(registers), "us", aim::low, "from the call to its return, mean");
    context.result().headline("deregister", mean(deregisters), "us", aim::low, "from the call to its return, mean");
    context.result().operations(2 * times_);
  }

 private:
  std::uint64_t size_ = 4_KiB;
  std::uint64_t times_ = 10;
  std::uint64_t warm_up_ = 2;
};

const testbench_registration<registration> registers_registration;

}  // namespace
}  // namespace hcasim
