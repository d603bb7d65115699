// A host: memory with real bytes, and software threads with CPU costs. Software sees devices only through MMIO and memory.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/machine/host/cpu.h"
#include "models/machine/host/host_config.h"
#include "models/machine/host/last_level_cache.h"
#include "models/machine/host/physical_memory.h"
#include "models/machine/host/virtual_memory.h"
#include "tlm/base/faults.h"
#include "tlm/base/pool.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/pcie.h"

namespace hcasim {

// Sees every DMA burst when its bytes are read or written.
class dma_monitor {
 public:
  virtual ~dma_monitor() = default;
  virtual void dma(bool write, std::uint64_t address, std::uint64_t bytes, ps t) = 0;
};

// Gets every DMA write into its watched pages, when the bytes are there.
class page_watcher {
 public:
  virtual ~page_watcher() = default;
  virtual void landed(ps t) = 0;
};

inline constexpr std::array<fault_kind, 1> host_fault_kinds{
    {{"memory_exhausted", "no page of memory is free, and none can be pinned, for `length` (100 us)"}}};

class host : public unit, public faulty, private tlm::tlm_mm_interface {
 public:
  // See pcie.h for the protocol. Memory answers in the call: bytes move at the call's time. The delay is the time of a read's
  // first data, or of a write's acknowledge. Debug transport reads and writes memory.
  tlm_utils::simple_target_socket_optional<host, 64> memory{"memory"};          // DMA from the root complex
  tlm_utils::simple_target_socket_optional<host, 64> interrupts{"interrupts"};  // MSI-X messages: 4 bytes, the vector
  tlm_utils::simple_initiator_socket_optional<host, 64> mmio{"mmio"};           // loads and stores to device registers

  host(const sc_core::sc_module_name& name, const host_config& config, std::uint64_t seed);
  ~host() override;

  // Starts `program` as a thread of this host at the current time (before or during the simulation).
  void run(const std::string& name, std::function<void(cpu&)> program);

  [[nodiscard]] physical_memory& memory_bytes() { return memory_; }
  [[nodiscard]] const host_config& config() const { return config_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Reserves physically contiguous memory for a device (ICM, queues), never freed to others; 0 = none left. `must`: for a call
  // that gives memory back and must not fail; takes from the kernel's reserve.
  std::uint64_t reserve_physical(std::uint64_t bytes, std::uint64_t alignment, bool must = false) {
    return memory_.reserve(bytes, alignment, must);
  }
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return host_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override;
  void observe_dma(dma_monitor* m) { monitor_ = m; }
  // Watches the pages of [physical, physical + bytes); one watcher a page.
  void watch_pages(std::uint64_t physical, std::uint64_t bytes, page_watcher& w);
  void unwatch_pages(std::uint64_t physical, std::uint64_t bytes);
  static constexpr unsigned vectors = 2048;  // of interrupts
  // Raises interrupt `vector` as if a device had.
  void raise(unsigned vector);
  // Wakes threads that watch memory, as if something had landed.
  void rouse();
  [[nodiscard]] std::size_t threads_running() const { return threads_running_; }

 private:
  friend class cpu;

  static constexpr std::size_t watch_buckets = 1024;  // of 4 KiB pages
  static constexpr std::size_t mmio_bytes = 4096;

  struct watch_entry {
    bool used = false;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool landed = false;
    ps landed_at{0};
    sc_core::sc_event* sleeper = nullptr;  // of the thread in wait_write
  };
  struct vector_state {
    bool pending = false;
    ps raised_at{0};
    std::vector<cpu*> sleepers;
  };
  struct mmio_access : tlm::tlm_generic_payload {
    host* self = nullptr;
    pcie_extension extension;
    std::array<std::byte, mmio_bytes> data;
    sc_core::sc_event* reader = nullptr;         // of the thread in mmio_read; posted writes have none
    std::shared_ptr<combining_buffers> buffers;  // of the writing core, if there is a limit
    std::uint64_t number = 0;                    // among the core's writes
    bool answered = false;
    ps answered_at{0};

    mmio_access() { set_extension(&extension); }
    ~mmio_access() override { clear_extension(&extension); }
    mmio_access(const mmio_access&) = delete;
    mmio_access& operator=(const mmio_access&) = delete;
  };

  // A burst whose delay has not passed yet.
  struct coming {
    host* self = nullptr;
    tlm::tlm_generic_payload* payload = nullptr;
  };

  void describe();
  tlm::tlm_sync_enum memory_access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  ps move_burst(tlm::tlm_generic_payload& p);
  void end_exhaustion();
  void arrive(coming& c);
  void answer_burst(tlm::tlm_generic_payload& p);
  unsigned memory_debug(tlm::tlm_generic_payload& p);
  tlm::tlm_sync_enum interrupt(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum mmio_response(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void free(tlm::tlm_generic_payload* p) override;

  void raise(unsigned vector, ps t);
  void landed(std::uint64_t address, std::uint64_t bytes, ps t);
  void tell_watchers(std::uint64_t first, std::uint64_t last, ps t);
  std::size_t add_watch(std::uint64_t physical, std::uint64_t bytes);
  void remove_watch(std::size_t index);
  void filter_watch(std::size_t index, bool add);
  mmio_access& new_access(tlm::tlm_command command, std::uint64_t address, std::size_t bytes);
  void issue(mmio_access& a, ps t);
  void leave(mmio_access& a);
  static void taken(mmio_access& a, ps t);

  host_config config_;
  std::uint64_t seed_;
  physical_memory memory_;
  std::uint32_t exhausted_ = 0;  // faults that last
  server memory_port_;
  std::optional<last_level_cache> last_level_cache_;  // none = all accesses cost alike
  std::vector<watch_entry> watches_;
  std::vector<std::size_t> free_watches_;
  std::array<std::vector<std::size_t>, watch_buckets> watch_filter_;
  std::size_t watches_used_ = 0;
  std::unordered_map<std::uint64_t, page_watcher*> watched_pages_;
  std::vector<vector_state> vectors_{vectors};
  pool<mmio_access> accesses_;
  pool<coming> coming_;
  dma_monitor* monitor_ = nullptr;
  std::size_t threads_running_ = 0;

  counter dma_reads_;
  counter dma_writes_;
  counter dma_read_bytes_;
  counter dma_write_bytes_;
  counter mmio_writes_;
  counter mmio_reads_;
  counter mmio_written_bytes_;
  counter interrupts_;
  counter stray_interrupts_;
  counter system_calls_;
  counter watch_hits_;
  counter thread_waits_;
  histogram mmio_read_time_;
  probe dma_read_probe_;
  probe dma_write_probe_;
  probe vector_probe_;
  probe mmio_probe_;
  probe threads_probe_;
};

}  // namespace hcasim
