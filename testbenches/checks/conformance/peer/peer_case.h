// The set-up of the peer-memory cases: the base case of a node with a GPU, whose memory is registered as the target. Also a
// client with every answer under the test's control.
#pragma once

#include <deque>
#include <memory>

#include "testbenches/checks/conformance/base.h"
#include "testbenches/kit/peer.h"

namespace hcasim::kit {

namespace peer = driver::peer;

system_config peer_node(bool nvme = false);

// The GPU of node `n`, open and known to the driver core; at the end gone from it, with balanced counters.
class gpu_fixture {
 public:
  gpu_fixture(cpu& c, node& n, const peer::owner_options& options = {}, std::size_t index = 0);
  ~gpu_fixture();

  // Fresh memory of the device for the process; registered as well.
  std::uint64_t memory(process_context& p, std::uint64_t bytes, peer::placement how = peer::placement::contiguous);
  region allocate(process_context& p, std::uint64_t bytes, int access = all_rights,
                  peer::placement how = peer::placement::contiguous);
  // Takes the memory away: from the moment `free` returns no access may touch it.
  int free(cpu& c, std::uint64_t va);
  [[nodiscard]] std::uint64_t count(const std::string& file) const { return core.count(owner.name(), file); }
  void expect_balanced() const;

  cpu& thread;
  peer::peer_core& core;
  std::size_t others;  // clients that were there before
  peer_device& device;
  peer::memory_owner owner;
  port_monitor monitor;
};

// A base_case with peer memory behind `there`.
struct peer_case : base_case {
  peer_case(cpu& c, node& n, const peer::owner_options& options = {}, const qp_options& qp = {});
  ~peer_case();

  [[nodiscard]] std::vector<std::uint8_t> there_bytes(std::uint64_t bytes = 64) const {
    return peer_bytes(gpu.device, gpu.owner, mine.addr, bytes);
  }
  // Expects a remote READ or WRITE of the region to be denied, with both QPs in ERR; then reconnects.
  void expect_dead(std::uint64_t va, std::uint32_t rkey);
  void expect_alive(std::uint64_t va, std::uint32_t rkey);

  gpu_fixture gpu;
  region mine;  // 256 KiB of the GPU
};

// A client under the test's control. It has [va, va + bytes), at `dma` of the PCIe address space.
struct scripted_client : peer::peer_memory_client_ex {
  explicit scripted_client(const char* client_name, std::uint64_t dma_base);

  std::uint64_t va = 0x5000'0000'0000;
  std::uint64_t bytes = 16_MiB;
  std::uint64_t dma;
  std::uint64_t page = 64_KiB;
  int acquire_answer = 1;
  int get_pages_error = 0;
  int dma_map_error = 0;
  std::function<void(peer::sg_table&, int&)> lie;         // changes the result of dma_map
  std::function<void(cpu&, const std::string&)> on_call;  // called in each callback
  peer::invalidate_peer_memory invalidate;

  std::vector<std::string> log;
  std::uint64_t ticket = 0;  // ticket of the last get_pages
  std::int64_t acquired = 0;
  std::int64_t pinned = 0;
  std::int64_t mapped = 0;

  [[nodiscard]] bool balanced() const { return acquired == 0 && pinned == 0 && mapped == 0; }

 private:
  void say(cpu& c, const std::string& what) {
    log.push_back(what);
    if (on_call) on_call(c, what);
  }
  struct context {
    std::uint64_t addr = 0;
    std::uint64_t size = 0;
  };
  std::deque<context> contexts_;
};

// Runs `body` in another software thread of the node.
class other_thread {
 public:
  other_thread(node& n, const std::string& name, std::function<void(cpu&)> body);
  void join(cpu& c);
  [[nodiscard]] bool done() const { return state_->done; }

 private:
  struct shared {
    bool done = false;
    sc_core::sc_event ended;
  };
  std::shared_ptr<shared> state_;
};

}  // namespace hcasim::kit

// CONFORMANCE on a node with a GPU.
#define PEER_CONFORMANCE(id)                                       \
  static void body_of_##id(hcasim::cpu& c, hcasim::node& n);       \
  TEST(conformance, id) {                                          \
    hcasim::kit::run_case(body_of_##id, hcasim::kit::peer_node()); \
  }                                                                \
  static void body_of_##id([[maybe_unused]] hcasim::cpu& c, [[maybe_unused]] hcasim::node& n)
