// For tests: a host memory, a device and a core around the PCIe tree.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/machine/pcie/pcie.h"
#include "tlm/access.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

// Answers after `latency`: in the call, or later on the backward path.
class test_target : public unit {
 public:
  tlm_utils::simple_target_socket<test_target, 64> in{"in"};
  enum class style { in_call, begin_response, backward };
  style answers = style::in_call;
  ps latency{0};
  std::vector<std::byte> bytes = std::vector<std::byte>(1_MiB);

  struct access {
    bool write;
    std::uint64_t address;
    std::uint64_t bytes;
    ps at;
  };
  std::vector<access> log;

  explicit test_target(const sc_core::sc_module_name& n) : unit(n) {
    in.register_nb_transport_fw(this, &test_target::forward);
    in.register_transport_dbg(this, &test_target::debug);
  }

 private:
  struct job {
    test_target* self;
    tlm::tlm_generic_payload* p;
  };
  void touch(tlm::tlm_generic_payload& p) {
    auto* data = reinterpret_cast<std::byte*>(p.get_data_ptr());
    const std::uint64_t at = p.get_address() % bytes.size();
    if (p.is_write()) {
      std::memcpy(&bytes[at], data, p.get_data_length());
    } else {
      std::memcpy(data, &bytes[at], p.get_data_length());
    }
    p.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    log.push_back({p.is_write(), p.get_address(), p.get_data_length(), from_delay(delay)});
    touch(p);
    if (answers != style::backward) {
      delay += to_sc(latency);
      phase = tlm::BEGIN_RESP;
      return answers == style::in_call ? tlm::TLM_COMPLETED : tlm::TLM_UPDATED;
    }
    jobs_.push_back({this, &p});
    queue_.at(now() + latency, {[](void* x) {
                                  auto& j = *static_cast<job*>(x);
                                  tlm::tlm_phase ph = tlm::BEGIN_RESP;
                                  sc_core::sc_time d = to_delay(now());
                                  j.self->in->nb_transport_bw(*j.p, ph, d);
                                },
                                &jobs_.back()});
    return tlm::TLM_ACCEPTED;
  }
  unsigned debug(tlm::tlm_generic_payload& p) {
    touch(p);
    return p.get_data_length();
  }
  std::deque<job> jobs_;
};

// Sends bursts at given times, or a stream of them with a window; notes when they were answered.
class test_initiator : public unit, private tlm::tlm_mm_interface {
 public:
  tlm_utils::simple_initiator_socket<test_initiator, 64> out{"out"};

  struct burst : tlm::tlm_generic_payload {
    test_initiator* self = nullptr;
    std::vector<std::byte> data;
    pcie_extension extension;
    ps sent{0};
    ps answered = never;
    ps then = never;  // gap until the next burst of the stream
  };
  std::deque<burst> bursts;
  std::uint64_t answers = 0;
  std::vector<burst*> order;  // of the answers

  explicit test_initiator(const sc_core::sc_module_name& n) : unit(n) {
    out.register_nb_transport_bw(this, &test_initiator::backward);
  }
  ~test_initiator() override {
    for (burst& b : bursts) b.clear_extension(&b.extension);
  }

  burst& send(bool write, std::uint64_t address, std::uint64_t bytes, ps at, bool relaxed = false) {
    burst& b = make(write, address, bytes);
    b.extension.relaxed_ordering = relaxed;
    queue_.at(at, {[](void* x) { static_cast<burst*>(x)->self->go(*static_cast<burst*>(x), 0_ps); }, &b});
    return b;
  }
  // Sends now, in the caller's activation, with an annotated delay.
  burst& send_now(bool write, std::uint64_t address, std::uint64_t bytes, ps delay) {
    burst& b = make(write, address, bytes);
    go(b, delay);
    return b;
  }
  // Keeps `window` bursts under way until `total` have been sent, from the start of the simulation.
  void stream(bool write, std::uint64_t bytes, unsigned window, std::uint64_t total) {
    stream_ = {write, bytes, total};
    for (unsigned i = 0; i < window && stream_.left; ++i) {
      --stream_.left;
      send(write, next_address(), bytes, 0_ps);
    }
  }

 private:
  burst& make(bool write, std::uint64_t address, std::uint64_t bytes) {
    burst& b = bursts.emplace_back();
    b.self = this;
    b.data.resize(std::max<std::uint64_t>(bytes, 1));
    b.set_mm(this);
    b.acquire();
    b.set_extension(&b.extension);
    set_access(b, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, b.data.data(), bytes);
    return b;
  }
  std::uint64_t next_address() { return (position_++ % 64) * 8192; }
  void go(burst& b, ps ahead) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = to_sc(ahead);
    b.sent = now() + ahead;
    const tlm::tlm_sync_enum status = out->nb_transport_fw(b, phase, delay);
    if (status == tlm::TLM_COMPLETED) note(b, delay);
  }
  void note(burst& b, const sc_core::sc_time& delay) {
    b.answered = from_delay(delay);
    order.push_back(&b);
    ++answers;
    if (!stream_.left) return;
    --stream_.left;
    go(make(stream_.write, next_address(), stream_.bytes), 0_ps);
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase == tlm::BEGIN_RESP) note(static_cast<burst&>(p), delay);
    return tlm::TLM_COMPLETED;
  }
  void free(tlm::tlm_generic_payload*) override {}

  struct {
    bool write = false;
    std::uint64_t bytes = 0;
    std::uint64_t left = 0;
  } stream_;
  std::uint64_t position_ = 0;
};

struct bench {
  pcie tree;
  test_target memory{"memory_model"};
  test_target interrupts{"interrupt_model"};
  test_initiator core{"core"};
  std::deque<test_initiator> dma;
  std::deque<test_target> bar;

  static constexpr std::uint64_t bar_base = 0xe0000000;
  static constexpr std::uint64_t bar_size = 0x01000000;

  explicit bench(const pcie_config& c, unsigned devices = 1) : tree("pcie", c, devices) {
    tree.memory.bind(memory.in);
    tree.interrupts.bind(interrupts.in);
    core.out.bind(tree.cpu);
    memory.latency = 80_ns;
    for (unsigned i = 0; i < devices; ++i) {
      dma.emplace_back(("dma" + std::to_string(i)).c_str());
      bar.emplace_back(("bar" + std::to_string(i)).c_str());
      dma.back().out.bind(tree.device(i).up);
      tree.device(i).down.bind(bar.back().in);
      tree.map_bar(i, bar_base + i * bar_size, bar_size);
    }
  }
  [[nodiscard]] double value(std::string_view name) const { return value_of(tree, name); }
};

// Makes faults of the bursts of device 0, by name.
inline void inject(pcie& tree, std::string_view what, std::uint64_t count) {
  for (std::size_t k = 0; k < pcie_fault_kinds.size(); ++k) {
    if (pcie_fault_kinds[k].name == what) return tree.inject(k, {.count = count, .length = ps(0), .draw = 0});
  }
  throw std::invalid_argument(std::string(what));
}

}  // namespace hcasim::testing
