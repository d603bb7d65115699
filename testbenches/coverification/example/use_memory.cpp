// axi_memory.sv behind a TLM-2.0 socket: a thread writes and reads it with b_transport, under random stalls of every channel.
#include <tlm_utils/simple_initiator_socket.h>

#include <cstdio>
#include <random>
#include <vector>

#include "rtl/my_memory.h"
#include "tlm/access.h"
#include "tlm/rtl/axi/axi_memory.h"

namespace {

class program : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<program, 64> out{"out"};
  unsigned wrong = 0;
  bool done = false;

  explicit program(const sc_core::sc_module_name& name) : sc_module(name) {
    SC_HAS_PROCESS(program);
    SC_THREAD(run);
  }

 private:
  static constexpr std::size_t size = 1 << 16;

  bool access(tlm::tlm_command command, std::uint64_t address, unsigned char* data, unsigned n) {
    tlm::tlm_generic_payload p;
    hcasim::set_access(p, command, address, data, n);
    sc_core::sc_time delay;
    out->b_transport(p, delay);
    wait(delay);
    return p.is_response_ok();
  }
  void run() {
    std::mt19937 random(1);
    std::vector<unsigned char> copy(size);
    for (auto& byte : copy) byte = static_cast<unsigned char>(random());
    if (!access(tlm::TLM_WRITE_COMMAND, 0, copy.data(), size)) ++wrong;
    for (int i = 0; i < 2000; ++i) {
      const unsigned n = 1 + random() % 300;
      const std::size_t at = random() % (size - n);
      std::vector<unsigned char> data(n);
      if (random() % 2) {
        for (auto& byte : data) byte = static_cast<unsigned char>(random());
        std::copy(data.begin(), data.end(), copy.begin() + static_cast<std::ptrdiff_t>(at));
        if (!access(tlm::TLM_WRITE_COMMAND, at, data.data(), n)) ++wrong;
      } else if (!access(tlm::TLM_READ_COMMAND, at, data.data(), n) ||
                 !std::equal(data.begin(), data.end(), copy.begin() + static_cast<std::ptrdiff_t>(at))) {
        ++wrong;
      }
    }
    done = true;
  }
};

}  // namespace

int sc_main(int, char**) {
  const hcasim::clock_domain clock(hcasim::frequency{250e6});
  hcasim::rtl::shell_options options;
  options.stall = 0.2;
  hcasim::rtl::open_shell rtl("rtl", clock, hcasim::rtl::make_my_memory, options);
  hcasim::rtl::axi_memory memory("s0", rtl);  // as PINS calls it
  program software("software");
  software.out.bind(memory.memory);
  hcasim::run_simulation();
  std::printf("%lu bursts, %lu cycles, %u accesses with wrong bytes\n", static_cast<unsigned long>(memory.bursts()),
              static_cast<unsigned long>(rtl.cycles()), software.wrong);
  return software.done && software.wrong == 0 ? 0 : 1;
}
