// The driver of one adapter: finds and opens the device, gives it its tables, and routes its events to processes.
//
//   device d(machine, {.bar = bar_base}, config);
//   machine.run("boot", [&](cpu& c) { d.open(c); });
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <vector>

#include "firmware/abi/pci_config.h"
#include "firmware/abi/registers.h"
#include "models/driver/device/command_channel.h"
#include "models/driver/device/dma_map.h"
#include "models/driver/device/event_queues.h"
#include "models/driver/device/wait_queue.h"
#include "models/driver/objects/objects.h"
#include "models/driver/on_demand/pager.h"
#include "models/driver/peer/peer_core.h"

namespace hcasim::driver {

// The addresses by which a host finds an adapter.
struct adapter_place {
  std::uint64_t bar = 0;
  std::uint64_t config_space = PCI_CONFIG_WINDOW;
  std::uint16_t requester = HCA_REQUESTER;  // its ID on PCIe
  std::uint64_t iommu = 0;                  // registers of the IOMMU in front of memory; 0 = none, DMA addresses are physical
};

class device {
 public:
  device(host& machine, const adapter_place& at, const driver_config& config);
  ~device();

  // Returns 0, also when the device is open already; ENODEV: no such adapter, or it is not ready; ENOMEM; ETIMEDOUT; EIO.
  // Starts one software thread per event queue. A thread that comes during another one's open waits for its end.
  int open(cpu& c);
  [[nodiscard]] bool opened() const { return opened_; }
  // Returns the step at which opening failed, and the knobs to look at.
  [[nodiscard]] const char* opening_step() const { return step_; }

  // Fails a device that does not answer, reports a fatal state, or is gone (life.cpp). Every context is lost: the process gets
  // an event, and its verbs answer EIO, except verbs that give back. Then the adapter is cut off from memory, reset, and
  // brought up again.
  // `why`: in words that follow "the device failed:".
  void fail(const char* why = "software gave it up");
  // Returns the last failure's reason, or "" without any failure, and its time.
  [[nodiscard]] const char* failure() const { return failure_; }
  [[nodiscard]] ps failed_at() const { return failed_at_; }
  // Lets the next look at the device's health keep the simulation going. False = there is none to come.
  bool await_look();
  // Ports have the numbers of the verbs, from 1.
  [[nodiscard]] bool has_port(unsigned port) const { return port >= 1 && port <= hca_device_ports(&info_); }
  [[nodiscard]] bool port_up(unsigned port) const { return !ports_down_[port - 1]; }
  [[nodiscard]] std::uint16_t lid_of(unsigned port) const { return port == 2 ? info_.second_lid : info_.port_lid; }
  // Returns true from a failure of the device until it can be opened again, if ever.
  [[nodiscard]] bool dead() const { return failed_ || commands_.dead(); }
  // Returns whether the adapter's objects of the process may be given to others. On a lost context, waits until the adapter is
  // cut off from memory; false = it never is.
  bool may_let_go(cpu& c, const process& p);
  [[nodiscard]] bool may_move(const process& p) const { return p.lost && cut_off_ < p.life; }

  [[nodiscard]] host& machine() const { return machine_; }
  [[nodiscard]] std::uint64_t bar() const { return at_.bar; }
  [[nodiscard]] const driver_config& config() const { return config_; }
  [[nodiscard]] const hca_device_info& info() const { return info_; }
  [[nodiscard]] const hca_init& areas() const { return areas_; }
  [[nodiscard]] const statistics& stats() const { return list_; }
  [[nodiscard]] driver_statistics& counters() { return counters_; }
  [[nodiscard]] const driver_statistics& counters() const { return counters_; }

  // Executes a command for a verb.
  command_result execute(cpu& c, const command& what);
  // Executes a command of a process. On a lost context, commands that give back are done when the adapter is cut off; all
  // others are EIO.
  command_result execute(cpu& c, const process& p, const command& what);
  // Spends the kernel work of one verb: the system call and the driver's share.
  void enter_kernel(cpu& c) const;
  process* attach(cpu& c, virtual_memory& memory);
  void detach(process* p);
  std::uint32_t take_pd() { return pds_.take(); }
  void put_pd(std::uint32_t number) { pds_.put(number); }
  [[nodiscard]] std::uint32_t completion_eq(int vector) const { return events_.number(1 + static_cast<unsigned>(vector)); }
  // Takes pages of the adapter's memory; false = there are too few in a row.
  bool take_device_memory(std::uint64_t bytes, std::uint64_t& offset);
  void put_device_memory(std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::uint32_t reserved_lkey() const { return reserved_lkey_; }  // 0 = none
  [[nodiscard]] bool on_demand() const { return info_.flags & HCA_DEVICE_ON_DEMAND; }
  // Returns whether on-demand regions live in the IOMMU's table; the adapter's units need not know.
  [[nodiscard]] bool on_demand_by_iommu() const {
    return config_.on_demand == on_demand_mode::iommu && dma_.takes_page_requests();
  }
  driver::pager& pages() { return pager_; }
  dma_map& dma() { return dma_; }
  peer::peer_core& peers() { return peers_; }
  number_table<completion_queue>& cqs() { return cqs_; }
  number_table<queue_pair>& qps() { return qps_; }
  number_table<shared_queue>& srqs() { return srqs_; }
  // Returns the XRC domain of this file, if a process has it open.
  std::shared_ptr<xrc_domain> find_domain(std::uint64_t file) const;
  std::shared_ptr<xrc_domain> make_domain(std::uint64_t file);
  void drop_domain(const xrc_domain& domain);

 private:
  // Small numbers; the one given back last is taken first.
  class numbers {
   public:
    explicit numbers(std::uint32_t first) : next_(first) {}
    std::uint32_t take() {
      if (free_.empty()) return next_++;
      const std::uint32_t n = free_.back();
      free_.pop_back();
      return n;
    }
    void put(std::uint32_t n) { free_.push_back(n); }

   private:
    std::uint32_t next_;
    std::vector<std::uint32_t> free_;
  };

  int bring_up(cpu& c);
  void take_care(cpu& c);
  void call_for_care();
  void look();
  void look_later();
  void poll_health(cpu& c);
  void recover(cpu& c);
  void tell_port(unsigned port, bool up);
  bool cut_off(cpu& c);
  static void tell_channels(process& p);
  static void raise(process& p, const verbs::ibv_async_event& event);
  static void raise(queue_pair& qp, verbs::ibv_event_type type);
  bool reset_function(cpu& c, ps deadline);
  int give_tables(cpu& c);
  void on_completion(std::uint32_t cqn);
  void on_async(std::uint32_t type, std::uint32_t number);
  void on_page_fault(const hca_eqe& e);

  host& machine_;
  std::uint32_t reserved_lkey_ = 0;
  std::vector<bool> device_pages_;  // taken, by 4 KiB
  adapter_place at_;
  driver_config config_;
  driver_statistics counters_;
  statistics list_;
  dma_map dma_;
  command_channel commands_;
  event_queues events_;
  driver::pager pager_;
  hca_device_info info_{};
  hca_init areas_{};
  std::array<std::uint64_t, 6> area_memory_{};  // physical addresses, in the order of bring-up; 0 = none yet
  bool opened_ = false;
  bool opening_ = false;
  wait_queue opening_done_;

  std::uint32_t life_ = 1;     // of the device, from one bring-up to the next
  std::uint32_t cut_off_ = 0;  // the last life with its DMA switched off
  std::bitset<HCA_PORTS> ports_down_;
  bool failed_ = false;
  const char* step_ = "";
  bool given_up_ = false;
  bool has_carer_ = false;
  bool look_due_ = false;
  bool look_to_come_ = false;
  bool look_awaited_ = false;
  ps failed_at_{0};
  const char* failure_ = "";
  wait_queue care_;
  wait_queue cut_;
  numbers pds_{1};
  numbers xrcds_{1};
  std::vector<std::shared_ptr<xrc_domain>> domains_;
  numbers uars_{1};  // UAR 0 is the kernel's
  number_table<completion_queue> cqs_;
  number_table<queue_pair> qps_;
  number_table<shared_queue> srqs_;
  peer::peer_core peers_;
  std::vector<process*> processes_;
};

// Executes a command of a process, on behalf of its function.
inline command_result run(cpu& c, verbs::ibv_context* context, command what) {
  what.function = of(context).function;
  return context->device->execute(c, of(context), what);
}
// Executes a command whose effect is needed: others get its pages next, or a caller waits for its end. If the adapter cannot,
// because its tables are damaged or out of its reach, only a reset helps.
inline command_result insist(cpu& c, verbs::ibv_context* context, const command& what) {
  const command_result r = run(c, context, what);
  if (r.error == 0 || of(context).lost) return r;
  context->device->fail("a command that takes objects back was refused");
  return run(c, context, what);
}

}  // namespace hcasim::driver
