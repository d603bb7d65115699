// One generic payload on its way to PCIe, and the requests waiting for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "firmware/abi/command.h"
#include "tlm/base/fifo.h"
#include "tlm/base/pool.h"
#include "tlm/dma.h"
#include "tlm/icm.h"
#include "tlm/pcie.h"

namespace hcasim {

class dma_engine;

// A request of a client while the engine works on it.
struct dma_job {
  dma_engine* self = nullptr;
  dma_request* request = nullptr;
  dma_job* next = nullptr;
  std::uint64_t sequence = 0;
  std::uint32_t bytes = 0;
  std::uint32_t issued = 0;
  std::uint32_t in_flight = 0;  // bursts
  ps begun{0};
  ps done{0};
  std::uint64_t word = 0;  // of an atomic
  unsigned completer = 0;
  icm_entry entry = icm_entry::none;  // its place in ICM, if any
  std::vector<std::uint8_t> code;     // integrity code of its words, if ICM has one
  std::vector<std::uint64_t> frames;  // physical pages of its pages, if ICM has a map

  // Returns the physical place of an address of the request.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t address) const {
    constexpr std::uint64_t page = 1 << HCA_ICM_PAGE_SHIFT;
    return frames.empty() ? address : frames[address / page - request->address / page] + address % page;
  }

  // Returns the place of the code of a burst's words.
  [[nodiscard]] std::uint8_t* code_at(std::uint64_t address) {
    return code.empty() ? nullptr : code.data() + (address - request->address) / 4;
  }

  [[nodiscard]] bool atomic() const { return request->op >= dma_op::compare_swap; }
};

using dma_fifo = fifo<dma_job>;

struct dma_burst : tlm::tlm_generic_payload {
  dma_engine* self = nullptr;
  dma_job* job = nullptr;  // null = no job waits for it (the write of an atomic)
  std::uint32_t tags = 0;
  unsigned completer = 0;
  std::uint64_t word = 0;
  pcie_extension extension;

  dma_burst() { set_extension(&extension); }
  ~dma_burst() override { clear_extension(&extension); }
  dma_burst(const dma_burst&) = delete;
  dma_burst& operator=(const dma_burst&) = delete;
};

// Bursts go back when their last reference is released: an observer may hold one longer than the engine.
class burst_pool : private tlm::tlm_mm_interface {
 public:
  dma_burst& get() {
    dma_burst& b = pool_.get();
    b.set_mm(this);
    b.acquire();
    return b;
  }

 private:
  void free(tlm::tlm_generic_payload* gp) override { pool_.put(static_cast<dma_burst&>(*gp)); }

  pool<dma_burst> pool_;
};

}  // namespace hcasim
