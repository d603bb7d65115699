// The driver of a peer device: gives its memory to processes, takes it back, copies to and from host memory, and is a peer
// client of the driver core, so that adapters can register that memory.
//
//   memory_owner gpu(machine, bar, "gpu0");
//   machine.run("boot", [&](cpu& c) { gpu.open(c); gpu.join(d.peers()); });
//   va = gpu.allocate(c, process_memory, 1_MiB);  ibv_reg_mr(c, pd, va, ...);  ...  gpu.free(c, va);
//
// `free` takes the memory away under the feet of its users: it invalidates every registration, and gives the pages to others
// only when no access reaches them any more.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "firmware/abi/peer_device.h"
#include "models/driver/peer/page_pool.h"
#include "models/driver/peer/peer_core.h"
#include "models/machine/host/host.h"
#include "tlm/base/statistics.h"

namespace hcasim::driver::peer {

struct pin;

struct owner_options {
  bool invalidates = true;  // the client can take memory away; otherwise `free` refuses while it is registered
  bool unmaps = false;      // PEER_MEM_INVALIDATE_UNMAPS
  std::string version = "1.0";
  ps allocate_call{20_us};  // CPU time of a call into this driver
  ps page_cost{50_ns};      // and of each page that is pinned
  ps copy_call{2_us};       // and of starting a copy
};

class memory_owner {
 public:
  memory_owner(host& machine, std::uint64_t bar, const std::string& name, const owner_options& options = {});
  ~memory_owner();

  // 0 or ENODEV.
  int open(cpu& c);
  // Joins `core` as a client. False = the core does not take it.
  bool join(peer_core& core);
  // Waits until no registration is left.
  void leave(cpu& c);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t page() const { return pool_->page(); }
  [[nodiscard]] std::uint64_t free_bytes() const { return pool_->free_bytes(); }

  // A VA of the process; 0 = no memory left, or not open.
  std::uint64_t allocate(cpu& c, const virtual_memory& mm, std::uint64_t bytes, placement how = placement::contiguous);
  // 0; EINVAL: no allocation begins there; EBUSY: it is registered and cannot be taken away; otherwise what an invalidation
  // said, and the memory stays allocated.
  int free(cpu& c, std::uint64_t va);
  // Returns the place of a byte of an allocation in the device's memory, and how many follow it there; nothing = not allocated.
  [[nodiscard]] std::optional<page_pool::run> place(std::uint64_t va) const;
  [[nodiscard]] std::uint64_t bar() const { return bar_; }
  // Registrations that have pages pinned.
  [[nodiscard]] std::uint64_t pinned() const { return pinned_; }

  // Starts a copy between [va, va + bytes) and physically contiguous host memory. Its number, or 0: not all of it is allocated.
  std::uint32_t start_copy(cpu& c, bool to_host, std::uint64_t va, std::uint64_t physical, std::uint64_t bytes);
  // Copies end in the order of their start. False = a byte could not be moved in this one or one that ended since the last
  // wait.
  bool wait_copy(cpu& c, std::uint32_t number);

  // Returns the time of each invalidation that `free` made, from the call to its return.
  [[nodiscard]] const histogram& callback_time() const { return callback_time_; }
  // Tests: the client's own record of what was called.
  std::function<void(cpu&, const char* callback)> observe;

 private:
  struct allocation {
    std::uint64_t va = 0;
    std::uint64_t bytes = 0;
    const virtual_memory* mm = nullptr;
    std::vector<page_pool::run> runs;
    std::vector<pin*> pins;
    bool dying = false;
  };
  using allocations = std::map<std::uint64_t, std::shared_ptr<allocation>>;

  void make_client();
  [[nodiscard]] const allocation* find(std::uint64_t va) const;
  int acquire(const virtual_memory& mm, std::uint64_t addr, std::uint64_t size, void** context);
  int get_pages(cpu& c, pin& p, std::uint64_t ticket);
  int dma_map(pin& p, sg_table& sg, int* nmap) const;
  void put_pages(pin& p);
  void release(pin& p);
  void said(cpu& c, const char* callback) const {
    if (observe) observe(c, callback);
  }

  host& machine_;
  std::uint64_t bar_;
  std::string name_;
  owner_options options_;
  std::optional<page_pool> pool_;
  allocations by_va_;
  std::uint64_t next_va_;
  std::vector<std::unique_ptr<pin>> contexts_;
  std::uint64_t pinned_ = 0;
  wait_queue unpinned_;

  peer_memory_client_ex client_;
  invalidate_peer_memory invalidate_;
  peer_core* core_ = nullptr;
  void* handle_ = nullptr;

  std::uint64_t fence_ = 0;  // physical address
  std::uint64_t fence_watch_ = 0;
  std::uint32_t copies_started_ = 0;
  std::uint32_t copies_ended_ = 0;
  histogram callback_time_;
};

}  // namespace hcasim::driver::peer
