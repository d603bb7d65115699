// The objects behind the handles of the verbs API.
#pragma once

#include <cerrno>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "firmware/abi/cqe.h"
#include "models/driver/device/handle_table.h"
#include "models/driver/device/wait_queue.h"
#include "models/driver/objects/queue_lock.h"
#include "models/driver/objects/queue_memory.h"
#include "models/driver/verbs/send_ring.h"
#include "models/driver/verbs/verbs.h"
#include "models/driver/verbs/wqe.h"

namespace hcasim::driver {

struct driver_statistics;
struct process;
class lent_pages;
struct address_space;

struct protection_domain : verbs::ibv_pd {
  std::uint32_t number = 0;  // on the adapter
  std::uint32_t users = 0;
};

enum class region_kind : std::uint8_t { plain, null, fast, physical, indirect, device_memory, dma_buf, on_demand, space };

// The backing of a region that is not host memory (models/driver/peer).
namespace peer {
struct attachment;
class dma_buf;
}  // namespace peer

// The members of the public structs belong to the program, which may write them: commands use the private parts for the
// adapter's keys.
struct memory_region : verbs::ibv_mr {
  std::uint32_t key = 0;
  std::uint64_t iova = 0;
  std::uint32_t access = 0;
  std::uint64_t pinned_at = 0;
  std::uint64_t pinned_bytes = 0;
  std::uint64_t pinned_dma = 0;  // DMA address of the first page, behind an IOMMU
  bool pinned_writable = false;
  bool revoked = false;  // a re-register failed: the key is gone from the adapter, the pages are still ours
  region_kind kind = region_kind::plain;
  std::shared_ptr<queue_buffer> list;           // fast: page-table entries
  unsigned max_pages = 0;                       // fast
  struct device_buffer* buffer = nullptr;       // device_memory
  const lent_pages* lent_by = nullptr;          // on_demand, with the next
  std::map<std::uint64_t, std::uint64_t> lent;  // pages that the adapter has: address in the process -> DMA address
  std::shared_ptr<peer::attachment> peer;       // memory of another device
};

struct memory_window : verbs::ibv_mw {
  std::uint32_t key = 0;  // as it was allocated: its index names the window for good
};

// Memory on the adapter.
struct device_buffer : verbs::ibv_dm {
  std::uint32_t handle = 0;
  std::uint32_t users = 0;
};

struct completion_queue;

struct completion_channel : verbs::ibv_comp_channel {
  std::deque<completion_queue*> pending;
  wait_queue ready;
  // Called with the number of new events, or of events that have gone with their CQ (< 0).
  std::function<void(int)> notify;
};

// Returns the owner bit of a CQE written by the adapter in the pass of `index` through 2^log_entries places.
inline std::uint8_t owner_in_pass(std::uint32_t log_entries, std::uint32_t index) {
  return ((index >> log_entries) & 1) ? 0 : 1;
}

struct completion_queue : verbs::ibv_cq {
  std::uint32_t number = 0;
  std::uint32_t log_entries = 0;
  std::uint32_t ci = 0;  // consumer index, modulo 2^32
  std::uint32_t polls_since_record = 0;
  std::uint32_t users = 0;  // QPs
  queue_lock lock;
  queue_buffer buffer;
  bool resizing = false;
  std::uint64_t record = 0;
  std::uint32_t events = 0;        // of the channel, handed to software
  std::uint32_t async_events = 0;  // handed to software
  std::uint32_t acknowledged = 0;  // of both
  wait_queue acknowledge;

  [[nodiscard]] std::uint32_t mask() const { return (1U << log_entries) - 1; }
  [[nodiscard]] std::uint64_t slot(std::uint32_t index) const {
    return buffer.physical(std::uint64_t{index & mask()} * HCA_CQE_BYTES);
  }
  [[nodiscard]] std::uint8_t owner_of(std::uint32_t index) const { return owner_in_pass(log_entries, index); }
};

struct address_handle : verbs::ibv_ah {
  verbs::ibv_ah_attr attr{};
};

// A domain of XRC, and one opening of it.
struct xrc_domain {
  std::uint32_t number = 0;  // on the adapter
  std::uint64_t file = 0;
  std::uint32_t openings = 0;
};
struct xrc_opening : verbs::ibv_xrcd {
  std::shared_ptr<xrc_domain> domain;
  std::uint32_t users = 0;
};

// The WQEs form a list through their slots: software fills it at the head and hangs free ones on at the tail, the adapter
// follows.
struct shared_queue : verbs::ibv_srq {
  std::uint32_t number = 0;
  verbs::ibv_srq_attr attr{};
  queue_buffer buffer;
  queue_buffer* larger = nullptr;  // its next buffer: WQEs are written to both
  std::uint64_t record = 0;
  unsigned stride_shift = 0;
  std::uint16_t posted = 0;
  std::uint16_t head = 0;  // the next to fill
  std::uint16_t tail = 0;  // the last free one, which stays free
  std::vector<std::uint16_t> next;
  std::vector<std::uint64_t> ids;
  queue_lock lock;
  std::uint32_t users = 0;  // QPs
  xrc_opening* xrcd = nullptr;
  verbs::ibv_cq* cq = nullptr;  // XRC
  std::uint32_t events = 0;
  std::uint32_t acknowledged = 0;
  wait_queue acknowledge;
};

struct group_name {
  verbs::ibv_gid gid;
  std::uint16_t lid;
  std::uint8_t port;  // of the QP when it joined
};

struct queue_pair;

// A target QP of XRC, with its openings.
struct xrc_target {
  std::vector<queue_pair*> handles;  // the first maker's comes first, unless it has left
};

struct queue_pair : verbs::ibv_qp {
  // The fields that each post needs, together.
  send_limits limits;
  bool signal_all = false;
  bool privileged = false;
  std::uint64_t record = 0;
  send_ring ring;
  queue_buffer sq;
  queue_lock send_lock;

  verbs::ibv_qp_cap cap{};
  queue_buffer rq;
  unsigned rq_stride_shift = 0;
  std::uint32_t rq_mask = 0;
  std::uint16_t rq_tail = 0;
  std::uint16_t rq_head = 0;
  std::vector<std::uint64_t> rq_ids;
  queue_lock receive_lock;

  std::vector<address_space*> spaces;  // tied to this connection
  std::vector<group_name> groups;
  xrc_opening* xrcd = nullptr;
  std::shared_ptr<xrc_target> target;
  std::uint32_t events = 0;
  std::uint32_t acknowledged = 0;
  wait_queue acknowledge;
};

// A process's use of the device.
struct process : verbs::ibv_context {
  process(verbs::ibv_context c, physical_memory& bytes_of_host, driver_statistics& statistics)
      : ibv_context(c), bytes(bytes_of_host), stats(statistics), records(*this) {}

  physical_memory& bytes;
  driver_statistics& stats;
  record_pool records;
  std::uint64_t uar = 0;  // address of the doorbell page
  std::uint32_t uar_number = 0;
  std::uint32_t life = 0;  // of the device
  bool lost = false;       // that one is over
  unsigned blueflame_next = 0;
  bool fork_safe = false;
  std::uint16_t function = 0;

  handle_table<protection_domain> pds;
  handle_table<memory_region> mrs;
  handle_table<memory_window> mws;
  handle_table<device_buffer> dms;
  handle_table<completion_channel> channels;
  handle_table<completion_queue> cqs;
  handle_table<queue_pair> qps;
  handle_table<shared_queue> srqs;
  handle_table<address_handle> ahs;
  handle_table<xrc_opening> xrcds;
  handle_table<address_space> spaces;
  std::vector<std::shared_ptr<peer::dma_buf>> dma_bufs;  // by file descriptor

  std::shared_ptr<lent_pages> lent;  // once there was an on-demand region

  std::deque<verbs::ibv_async_event> async_events;
  wait_queue async_ready;
  std::function<void(int)> async_notify;  // as of a completion channel
};

inline process& of(verbs::ibv_context* context) {
  return *static_cast<process*>(context);
}
inline completion_queue& of(verbs::ibv_cq* cq) {
  return static_cast<completion_queue&>(*cq);
}

// Retires a PD's null regions and their keys: providers make them without the kernel, so they do not hold their PD
// (kernel_regions.cpp). Returns 0 or an errno value.
int retire_null_regions(cpu& c, protection_domain& pd);
// Leaves all groups of a QP before the QP goes (groups.cpp).
void leave_groups(cpu& c, queue_pair& qp);
// Enters a finished object into its process (queue_pair.cpp).
void enter(queue_pair& qp);
void leave(queue_pair& qp);

// Drops the events of an object that goes.
template <class Predicate>
void drop_async_events(process& p, Predicate of_object) {
  const auto gone = static_cast<int>(std::erase_if(p.async_events, of_object));
  if (gone > 0 && p.async_notify) p.async_notify(-gone);
}

// Sets errno and returns null, for a verb that makes no object.
inline std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

}  // namespace hcasim::driver
