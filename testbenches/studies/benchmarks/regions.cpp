// Regions by the terabyte and by the thousand, and a peer device that takes its memory away.
#include "models/driver/verbs/verbs.h"
#include "testbenches/kit/peer.h"
#include "testbenches/scenarios/peer_direct.h"
#include "testbenches/studies/benchmarks/measure.h"

namespace hcasim {
namespace {

// Registering 1 TiB in pages of 2 MiB.
void register_1_tib(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    show(state, in_own_process([] {
           figures f;
           const auto begin = clock_type::now();
           system_config c;
           c.nodes.resize(1);
           kit::world w(c);
           f.setup = seconds_since(begin);
           const auto start = clock_type::now();
           f.ok = w.run({[](cpu& thread, node& n) {
             kit::process_context p(thread, n);
             p.allocate(1_TiB, kit::all_rights, page_policy::huge_2m);
           }});
           f.simulating = seconds_since(start);
           f.operations = 1;
           f.activations = static_cast<double>(event_queue::instance().hand_overs());
           return f;
         }));
  }
}
BENCHMARK(register_1_tib)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// Registering 10 000 peer regions of 64 MiB, each an allocation of its own in pages of 64 KiB.
void register_peer_regions(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    show(state, in_own_process([] {
           figures f;
           const auto begin = clock_type::now();
           system_config c;
           c.nodes.resize(1);
           c = kit::with_peers(c);
           c.nodes[0].peer[0].memory = 1_TiB;
           kit::world w(c);
           f.setup = seconds_since(begin);
           std::uint64_t registered = 0;
           const bool ran = w.run({[&](cpu& thread, node& n) {
             driver::peer::memory_owner owner(n.host, node::peer_bar(0), "gpu0");
             if (owner.open(thread) != 0 || !owner.join(n.device().peers())) return;
             kit::process_context p(thread, n);
             const auto start = clock_type::now();
             for (int i = 0; i < 10'000; ++i) {
               const std::uint64_t va = owner.allocate(thread, p.memory, 64_MiB);
               registered += va != 0 && verbs::ibv_reg_mr(thread, p.pd, va, 64_MiB, kit::all_rights) != nullptr;
             }
             f.simulating = seconds_since(start);
             p.close();
             owner.leave(thread);
           }});
           f.ok = ran && registered == 10'000;
           f.operations = static_cast<double>(registered);
           f.activations = static_cast<double>(event_queue::instance().hand_overs());
           return f;
         }));
  }
}
BENCHMARK(register_peer_regions)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// A GPU's owner takes its memory away 1 000 times under full load; every access is checked at the device's port.
void peer_takings(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    show(state, in_own_process([] {
           figures f;
           kit::world w(kit::with_peers(two_nodes_100g()));
           kit::takings_result r;
           kit::start_takings(w.sys(), {}, 1, r);
           const auto start = clock_type::now();
           run_simulation();
           f.simulating = seconds_since(start);
           f.ok = r.ok && r.late_bytes == 0 && r.takings.size() == 1000;
           f.operations = static_cast<double>(r.requests);
           f.activations = static_cast<double>(event_queue::instance().hand_overs());
           return f;
         }));
  }
}
BENCHMARK(peer_takings)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hcasim
