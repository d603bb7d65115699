// Event queues: number 0 for asynchronous events, 1 and up for completions, each with an interrupt vector and a software thread
// that plays the interrupt handler: it drains the queue, hands the events on, and arms the queue again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "firmware/abi/cqe.h"
#include "models/driver/device/command_channel.h"

namespace hcasim::driver {

class event_queues {
 public:
  struct handlers {
    std::function<void(std::uint32_t cqn)> completion;
    std::function<void(std::uint32_t type, std::uint32_t number)> async;
    std::function<void(const hca_eqe&)> page_fault;
  };
  event_queues(host& machine, dma_map& dma, std::uint64_t bar, const driver_config& config, command_channel& commands,
               driver_statistics& stats)
      : machine_(machine), dma_(dma), bar_(bar), config_(config), commands_(commands), stats_(stats) {}

  // Fills the MSI-X table, creates the queues and starts their threads; 0 or an errno value. Again after a reset of the
  // adapter, with the memory and the threads that are there.
  int open(cpu& c, handlers h);
  // An event that has lain there since the last look has lost its interrupt: its handler is called.
  void look(cpu& c);
  // The adapter's number of the `i`-th queue.
  [[nodiscard]] std::uint32_t number(unsigned i) const { return queues_[i]->number; }
  [[nodiscard]] std::size_t size() const { return queues_.size(); }

 private:
  struct queue {
    std::uint32_t number = 0;
    unsigned vector = 0;
    std::uint64_t buffer = 0;
    std::uint32_t ci = 0;
    bool has_thread = false;
    std::uint32_t seen = 0;  // 1 + the consumer index of an event that was there at the last look; 0 = none
    std::uint32_t life = 0;  // counts creations: an event of an earlier one has no receiver
  };
  void run(cpu& c, queue& q);
  int create(cpu& c, queue& q);
  [[nodiscard]] hca_eqe next(cpu& c, const queue& q) const;
  [[nodiscard]] bool is_new(const queue& q, const hca_eqe& e) const {
    return (e.owner & 1) == (((q.ci >> config_.log_eq_entries) & 1) ? 0 : 1);
  }
  unsigned drain(cpu& c, queue& q);
  void arm(cpu& c, const queue& q);

  host& machine_;
  dma_map& dma_;
  std::uint64_t bar_;
  const driver_config& config_;
  command_channel& commands_;
  driver_statistics& stats_;
  handlers handlers_;
  std::vector<std::unique_ptr<queue>> queues_;
};

}  // namespace hcasim::driver
