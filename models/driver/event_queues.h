// Event queues: number 0 for asynchronous events, 1 and up for completions, each with an interrupt vector and a software thread
// that plays the interrupt handler: it drains the queue, hands the events on, and arms the queue again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "firmware/abi/cqe.h"
#include "models/driver/command_channel.h"

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

  // Fills the MSI-X table, creates the queues and starts their threads; 0 or an errno value.
  int open(cpu& c, handlers h);
  // The adapter's number of the `i`-th queue.
  [[nodiscard]] std::uint32_t number(unsigned i) const { return queues_[i]->number; }
  [[nodiscard]] std::size_t size() const { return queues_.size(); }

 private:
  struct queue {
    std::uint32_t number = 0;
    unsigned vector = 0;
    std::uint64_t buffer = 0;
    std::uint32_t ci = 0;
  };
  void run(cpu& c, queue& q);
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
