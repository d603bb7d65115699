// The way back: completions of reads, ends of writes, and answers to software.
#pragma once

#include "models/machine/pcie/pcie_bursts.h"
#include "models/machine/pcie/pcie_tree.h"

namespace hcasim {

class pcie_requests;

class pcie_completions {
 public:
  pcie_completions(const pcie_timing& timing, pcie_tree& tree, pcie_bursts& bursts, pcie_requests& requests)
      : timing_(timing), tree_(tree), bursts_(bursts), requests_(requests) {}

  // Takes a burst whose destination has answered.
  void come_back(pcie_burst& b);
  // Answers software, behind the device's writes to memory.
  void answer_software(pcie_burst& b);

 private:
  void send_completion(pcie_burst& b);
  void send_to_software(pcie_burst& b, const tlp_shape& shape);
  bool spoil(pcie_burst& b);
  void complete(pcie_burst& b);
  void on_timeout(pcie_burst& b);
  void end_write(pcie_burst& b);

  event_queue& queue_ = event_queue::instance();
  const pcie_timing& timing_;
  pcie_tree& tree_;
  pcie_bursts& bursts_;
  pcie_requests& requests_;
};

}  // namespace hcasim
