// For tests: a memory with real bytes, a device, a core, and page tables around an IOMMU.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "models/machine/iommu/iommu.h"
#include "tlm/testing/burst_memory.h"
#include "tlm/testing/burst_source.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

// Sparse memory that answers in the call, and takes interrupts and messages to devices.
class iommu_memory : public burst_memory {
 public:
  tlm_utils::simple_target_socket_optional<iommu_memory, 64> interrupts{"interrupts"};
  std::vector<ps> raised;
  struct message {
    pcie_message kind;
    std::uint16_t requester;
    std::uint16_t tag;
    std::uint8_t code;
    std::uint64_t body;
    ps at;
  };
  std::vector<message> messages;

  explicit iommu_memory(const sc_core::sc_module_name& n) : burst_memory(n) {
    latency = 80_ns;
    interrupts.register_nb_transport_fw(this, &iommu_memory::interrupt);
  }
  std::uint64_t& word(std::uint64_t address) { return words_[address & ~std::uint64_t{7}]; }

 private:
  void move(tlm::tlm_generic_payload& p) override {
    for (unsigned i = 0; i < p.get_data_length(); ++i) {
      auto* const byte = reinterpret_cast<unsigned char*>(&word(p.get_address() + i)) + (p.get_address() + i) % 8;
      (p.is_write() ? *byte : p.get_data_ptr()[i]) = p.is_write() ? p.get_data_ptr()[i] : *byte;
    }
    p.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) override {
    const auto* e = p.get_extension<pcie_extension>();
    if (!e || e->message == pcie_message::none) return burst_memory::forward(p, phase, delay);
    std::uint64_t body = 0;
    std::memcpy(&body, p.get_data_ptr(), p.get_data_length());
    messages.push_back({e->message, e->requester, e->tag, e->code, body, from_delay(delay)});
    return tlm::TLM_COMPLETED;
  }
  tlm::tlm_sync_enum interrupt(tlm::tlm_generic_payload& p, tlm::tlm_phase&, sc_core::sc_time& delay) {
    raised.push_back(from_delay(delay));
    p.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  std::map<std::uint64_t, std::uint64_t> words_;
};

// The devices behind the IOMMU.
class iommu_device : public burst_source {
 public:
  using burst_source::burst_source;
  // Sends a burst to an address, and returns it.
  burst& ask(std::uint64_t address, ps at, bool write = true, std::uint16_t requester = 0) {
    burst& b = send(false, address, at, requester);
    b.extension.address_type = pcie_address_type::translation_request;
    b.extension.code = write ? std::uint8_t{0} : std::uint8_t{ats_no_write};
    return b;
  }
  burst& translated(bool write, std::uint64_t physical, ps at, std::uint16_t requester = 0) {
    burst& b = send(write, physical, at, requester);
    b.extension.address_type = pcie_address_type::translated;
    return b;
  }
  burst& message(pcie_message kind, std::uint64_t address, ps at, std::uint16_t tag, std::uint8_t code = 0,
                 std::uint16_t requester = 0) {
    burst& b = send(true, address, at, requester, 0);
    b.extension.message = kind;
    b.extension.tag = tag;
    b.extension.code = code;
    return b;
  }
  burst& send(bool write, std::uint64_t address, ps at, std::uint16_t requester = 0, unsigned bytes = 8, bool relaxed = false) {
    burst& b = burst_source::send(write, address, at, bytes, relaxed);
    b.extension.requester = requester;
    return b;
  }
};

struct iommu_bench {
  static constexpr std::uint64_t registers = 0xffff'e000'0000'0000;
  static constexpr std::uint64_t contexts = 0x10000;
  static constexpr std::uint64_t queue = 0x20000;
  static constexpr std::uint64_t status = 0x30000;

  iommu dut;
  iommu_memory memory{"memory_model"};
  iommu_device device{"device"};
  iommu_device interrupting{"interrupting"};
  iommu_device core{"core"};
  iommu_memory beyond{"beyond"};
  std::uint64_t next_node = 0x100000;
  std::map<std::uint16_t, std::uint64_t> roots;
  std::uint32_t tail = 0;

  explicit iommu_bench(const iommu_config& c = {}) : dut("iommu", c, registers) {
    device.out.bind(dut.devices);
    interrupting.out.bind(dut.messages);
    core.out.bind(dut.cpu);
    dut.memory.bind(memory.in);
    dut.interrupts.bind(memory.interrupts);
    dut.mmio.bind(beyond.in);
    set(IOMMU_REG_CONTEXTS, contexts);
    set(IOMMU_REG_QUEUE, queue);
    set(IOMMU_REG_QUEUE_SIZE, 6);
    set(IOMMU_REG_CONTROL, 1);
    attach(0);
  }
  void set(std::uint32_t offset, std::uint64_t value) {
    auto& b = core.send(true, registers + offset, now());
    b.fill(&value, sizeof value);
    run_for(1_ps);
  }
  std::uint64_t get(std::uint32_t offset) {
    auto& b = core.send(false, registers + offset, now());
    run_for(1_ps);
    return b.word();
  }
  void attach(std::uint16_t requester, std::uint32_t flags = IOMMU_CONTEXT_PRESENT) {
    const std::uint64_t root = roots.try_emplace(requester, node()).first->second;
    memory.word(contexts + requester * 16) = root;
    memory.word(contexts + requester * 16 + 8) = flags;
  }
  std::uint64_t node() { return next_node += 0x1000; }
  // Maps one page of 2^shift bytes.
  void map(std::uint64_t address, std::uint64_t physical, unsigned shift = 12, std::uint64_t rights = 3,
           std::uint16_t requester = 0) {
    std::uint64_t at = roots.at(requester);
    for (unsigned level = IOMMU_LEVELS; level-- > 0;) {
      std::uint64_t& entry = memory.word(at + (address >> (12 + 9 * level)) % 512 * 8);
      if (12 + 9 * level == shift) {
        entry = physical | rights | (level != 0 ? std::uint64_t{IOMMU_PTE_LARGE} : 0);
        return;
      }
      if (entry == 0) entry = node() | 3;
      at = entry & IOMMU_PTE_ADDRESS;
    }
  }
  void unmap(std::uint64_t address) {
    std::uint64_t at = roots.at(0);
    for (unsigned level = IOMMU_LEVELS; level-- > 0;) {
      std::uint64_t& entry = memory.word(at + (address >> (12 + 9 * level)) % 512 * 8);
      if (level == 0 || (entry & IOMMU_PTE_LARGE)) entry = 0;
      at = entry & IOMMU_PTE_ADDRESS;
    }
  }
  // Puts a command into the queue; `ring` tells the unit.
  void command(std::uint32_t code, std::uint64_t address, std::uint64_t bytes = 0, std::uint32_t value = 0) {
    const iommu_command c{code, 0, address, bytes, value, 0};
    std::uint64_t words[4];
    std::memcpy(words, &c, sizeof c);
    for (unsigned i = 0; i < 4; ++i) memory.word(queue + tail % 64 * 32 + i * 8) = words[i];
    ++tail;
  }
  void ring() { set(IOMMU_REG_TAIL, tail); }
  [[nodiscard]] double value(std::string_view name) const { return value_of(dut, name); }
};

}  // namespace hcasim::testing
