// Exclusive accesses of AXI masters to memory that knows nothing of them: the monitor stands before it, and all accesses pass
// here.
//
// An exclusive read watches its bytes for its master and id, and is answered EXOKAY. An exclusive write to the same bytes
// passes, with EXOKAY, if none of them was written since; else it is not done, and answered OKAY. Order is that of the calls.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "tlm/rtl/axi/axi.h"

namespace hcasim::rtl {

class axi_monitor : public sc_core::sc_module {
 public:
  std::deque<tlm_utils::simple_target_socket_tagged<axi_monitor, 64>> in;
  tlm_utils::simple_initiator_socket<axi_monitor, 64> out{"out"};

  axi_monitor(const sc_core::sc_module_name& name, unsigned masters);

  [[nodiscard]] std::uint64_t granted() const { return granted_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct watch {
    int master;
    std::uint32_t id;
    std::uint64_t first, last;
  };
  struct passing {
    tlm::tlm_generic_payload* payload;
    int master;
  };

  tlm::tlm_sync_enum request(int master, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum response(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  // Whether it goes on to the memory.
  bool decide(int master, tlm::tlm_generic_payload& p);
  int leaves(const tlm::tlm_generic_payload& p);

  std::vector<watch> watches_;
  std::vector<passing> passing_;
  std::uint64_t granted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace hcasim::rtl
