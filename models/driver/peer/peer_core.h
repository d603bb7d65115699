// The peer-memory part of the driver core: its clients, the registrations of their memory, and what is exported about them
// [F.1 - F.5, E5]. One per adapter.
//
// Registration: acquire -> ticket -> mapping lock -> get_pages -> dma_map -> fix-up to host pages -> (the caller enables the
// key)
// -> activate, which lets the lock go. Whatever fails is taken back in the reverse order. Of an invalidation: revoke (the
// caller's function) -> dma_unmap -> put_pages, once; the registration's own end finds that done.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/driver/device/driver_config.h"
#include "models/driver/peer/peer_client_v1.h"
#include "models/driver/peer/sleep_mutex.h"
#include "models/driver/verbs/verbs_types.h"

namespace hcasim::driver::peer {

// Steps of the core; a test hears of each when it begins (before_*) or has ended.
enum class step : std::uint8_t {
  before_acquire,
  acquired,
  before_get_pages,
  got_pages,
  before_dma_map,
  mapped,
  before_activate,
  activated,
  before_stop,
  before_dma_unmap,
  before_put_pages,
  stopped,
  before_release,
  released,
};
inline constexpr std::size_t steps = 14;

struct client_record;

// The memory of one registration.
struct umem {
  client_record* client = nullptr;
  void* client_context = nullptr;
  std::uint64_t ticket = 0;
  bool ticketed = false;  // it can be invalidated
  std::uint64_t addr = 0;
  std::uint64_t length = 0;
  std::uint64_t page = 0;  // of the client, at least that of the host
  std::uint64_t pages = 0;
  sg_table sg;    // as the client gave it
  sg_table host;  // what the adapter is given: trimmed to host pages
  bool dma_mapped = false;
  bool invalidated = false;       // the client unmaps it
  bool peer_invalidated = false;  // legacy: before activation
  bool activated = false;
  bool held = false;                // the registration still has the mapping lock
  std::uint32_t callbacks = 0;      // invalidations of it under way
  std::function<int(cpu&)> revoke;  // 0 = no access reaches it any more
  sleep_mutex mapping;
  wait_queue idle;
};

class peer_core {
 public:
  peer_core(const device& dma_device, const driver_config& config);
  ~peer_core();

  // nullptr = a mandatory callback is missing, or the name is empty, too long or taken. `invalidate` is filled in; a client
  // that gives none does not need invalidation. The client must live until it is unregistered.
  void* ib_register_peer_memory_client(const peer_memory_client* client, invalidate_peer_memory* invalidate);
  // nullptr as well: the driver is not legacy.
  void* ib_register_peer_memory_client_v1(const peer_memory_client_v1* client, invalidate_peer_memory_v1* invalidate);
  // No callback is made after it has returned: it waits for the end of every registration. A handle that is unknown: nothing.
  void ib_unregister_peer_memory_client(cpu& c, void* reg_handle);
  [[nodiscard]] bool empty() const { return clients_.empty(); }

  struct request {
    const verbs::ibv_context& process;
    std::uint64_t addr;
    std::uint64_t length;
    bool writable;
    int pin_error;  // what ordinary pinning said
  };
  // The memory of the first client that has the range, mapped and locked, or nullptr with `error`.
  umem* get(cpu& c, const request& r, int& error);
  // The key is live. 0, or EAGAIN: legacy, the memory went before; the caller takes the key back and calls put.
  int activate_invalidation_notifier(cpu& c, umem& u, std::function<int(cpu&)> revoke);
  // The key is gone from the adapter, or never was there. `u` is deleted.
  void put(cpu& c, umem& u);

  // The files of memory_peers/<name>/: of those registered now, and as they were when they went. Empty = no such file.
  [[nodiscard]] std::vector<std::string> names() const;
  static const std::vector<std::string>& files();
  [[nodiscard]] std::string read(const std::string& name, const std::string& file) const;
  [[nodiscard]] std::uint64_t count(const std::string& name, const std::string& file) const;
  // All of them, as they are now, below `folder`/memory_peers.
  void write(const std::filesystem::path& folder) const;
  // Registrations that are not at their end, and tickets that are valid.
  [[nodiscard]] std::size_t live() const { return umems_.size(); }
  [[nodiscard]] std::size_t tickets() const { return by_ticket_.size(); }
  // The next ticket is the first free one behind this.
  void last_ticket(std::uint64_t t) { last_ticket_ = t; }

  std::function<void(cpu&, step, umem&)> observe;  // tests

 private:
  int invalidate(cpu& c, void* reg_handle, std::uint64_t ticket);
  int revoke_now(cpu& c, umem& u);
  client_record* search(cpu& c, umem& u, const request& r, int& error);
  static int ask(cpu& c, const client_record& candidate, const request& r, void** context);
  int map(cpu& c, umem& u, const request& r);
  [[nodiscard]] int look_at(const umem& u, int nmap) const;
  void unmap(cpu& c, umem& u);
  std::uint64_t new_ticket();
  void finish(cpu& c, umem& u);
  void* enlist(std::unique_ptr<client_record> r);
  [[nodiscard]] client_record* registered(const void* reg_handle) const;
  [[nodiscard]] const client_record* named(const std::string& name) const;
  [[nodiscard]] bool legacy() const { return config_.peer_semantics == peer_semantics::legacy; }
  void tell(cpu& c, step s, umem& u) const {
    if (observe) observe(c, s, u);
  }

  const device& dma_device_;
  const driver_config& config_;
  std::vector<std::unique_ptr<client_record>> clients_;  // in the order of their registration
  std::vector<std::unique_ptr<client_record>> former_;
  std::unordered_map<const umem*, std::unique_ptr<umem>> umems_;  // never walked
  std::map<std::uint64_t, umem*> by_ticket_;
  std::uint64_t last_ticket_ = 0;
  sleep_mutex registry_;
};

}  // namespace hcasim::driver::peer
