// The set-up of the conformance table: two RC QPs connected in loopback, one PD, one region with every right over four pages,
// QP rights for READ, WRITE and atomics. Every case closes its process and must leave the adapter empty.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {

struct base_case {
  base_case(cpu& thread, node& on, const qp_options& options = {});

  // Both QPs through RESET to RTS again.
  void reconnect();
  // A WRITE from `here` to `there`.
  [[nodiscard]] request a_write(std::uint64_t id, std::uint32_t bytes = 64) const;
  // One request on QP a, waited for; receive completions go to `received`.
  ibv_wc write(std::uint64_t remote, std::uint32_t rkey, std::uint32_t bytes = 64);
  ibv_wc read(std::uint64_t remote, std::uint32_t rkey, std::uint32_t bytes = 64);
  ibv_wc add(std::uint64_t remote, std::uint32_t rkey, std::uint64_t value = 1);
  ibv_wc swap(std::uint64_t remote, std::uint32_t rkey, std::uint64_t compare, std::uint64_t value);
  ibv_wc send(std::uint32_t bytes = 64);
  // The next receive completion of QP b.
  ibv_wc receive_completion();
  // A failing request: its status, both QPs in ERR, `watched` bytes at `remote` unchanged; then reconnects.
  void expect_denied(const std::function<ibv_wc()>& request, ibv_wc_status status, std::uint64_t remote,
                     std::uint64_t watched = 64);
  // Likewise for a request that fails on QP a's own side: QP b stays as it is.
  void expect_denied_here(const std::function<ibv_wc()>& request, ibv_wc_status status, std::uint64_t remote,
                          std::uint64_t watched = 64);

  process_context p;
  cpu& c;
  qp_options options;
  ibv_qp* a;
  ibv_qp* b;
  region here;   // local side
  region there;  // target side, four pages
  std::vector<ibv_wc> received;
};

// Runs one case on a fresh node and checks that nothing is left over in the adapter.
void run_case(const std::function<void(cpu&, node&)>& body, const system_config& config = world::one_node());

}  // namespace hcasim::kit

// A case of the table by its id: CONFORMANCE(TC_K01) { ... uses `c` and `n` ... }
#define CONFORMANCE(id)                                      \
  static void body_of_##id(hcasim::cpu& c, hcasim::node& n); \
  TEST(conformance, id) {                                    \
    hcasim::kit::run_case(body_of_##id);                     \
  }                                                          \
  static void body_of_##id([[maybe_unused]] hcasim::cpu& c, [[maybe_unused]] hcasim::node& n)
