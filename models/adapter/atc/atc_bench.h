// A bench around an ATC: a DMA engine that sends bursts, and a link with an IOMMU and a memory.
#pragma once

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "models/adapter/atc/atc.h"
#include "tlm/testing/burst_source.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

class atc_engine : public burst_source {
 public:
  using burst_source::burst_source;
  ~atc_engine() override {
    for (const burst& b : bursts) EXPECT_TRUE(b.taken || b.sent == never) << "a DMA engine does not wait";
  }
  burst& send(bool write, std::uint64_t address, ps at, unsigned bytes = 64, bool relaxed = false) {
    return burst_source::send(write, address, at, bytes, relaxed);
  }
  // Runs `what` at time `when`.
  void at(ps when, std::function<void()> what) {
    work_.push_back(std::move(what));
    queue_.at(when, {[](void* x) { (*static_cast<std::function<void()>*>(x))(); }, &work_.back()});
  }

 private:
  std::deque<std::function<void()>> work_;
};

// Writes land `write_latency` after they were sent, in order; reads are answered after `read_latency`. Translation requests are
// answered after `walk_latency`, from the table at half of this time.
class atc_link : public unit {
 public:
  tlm_utils::simple_target_socket<atc_link, 64> up{"up"};
  tlm_utils::simple_initiator_socket<atc_link, 64> down{"down"};
  tlm_utils::simple_target_socket<atc_link, 64> bar{"bar"};
  ps read_latency{500_ns};
  ps write_latency{200_ns};
  ps walk_latency{400_ns};
  bool refuses_questions = false;
  bool refuses_messages = false;                 // bus mastering is off
  std::map<std::uint64_t, std::uint64_t> table;  // by page: the entry of tlm/ats.h

  struct event {
    enum class kind { read, write, question, message } what;
    pcie_address_type type;
    std::uint64_t address;
    ps sent;
    ps at;  // when it moved its bytes, or was received
    pcie_message message;
    std::uint16_t tag;
    std::uint8_t code;
    std::uint16_t requester;
  };
  std::vector<event> log;
  std::vector<std::uint64_t> registers;

  explicit atc_link(const sc_core::sc_module_name& n) : unit(n) {
    up.register_nb_transport_fw(this, &atc_link::forward);
    bar.register_nb_transport_fw(this, &atc_link::access_register);
    down.register_nb_transport_bw(this, &atc_link::backward);
  }
  ~atc_link() override {
    for (own& m : sent_) m.clear_extension(&m.extension);
  }
  void map(std::uint64_t page, std::uint64_t physical, std::uint64_t rights = ats_read | ats_write) {
    table[page] = ats_entry(physical, 12, rights);
  }
  void invalidate(std::uint64_t entry, std::uint16_t tag) {
    own& m = message(pcie_message::invalidate, tag, 0);
    m.body = entry;
    m.set_data_length(8);
    go(m);
  }
  void respond(std::uint16_t group, ats_response code) {
    go(message(pcie_message::page_response, group, static_cast<std::uint8_t>(code)));
  }
  void write_register(std::uint64_t offset) {
    own& m = message(pcie_message::none, 0, 0);
    m.set_address(offset);
    m.set_data_length(8);
    go(m);
  }
  [[nodiscard]] std::vector<event> of(event::kind k) const {
    std::vector<event> found;
    for (const event& e : log) {
      if (e.what == k) found.push_back(e);
    }
    return found;
  }
  [[nodiscard]] std::vector<event> messages(pcie_message m) const {
    std::vector<event> found;
    for (const event& e : log) {
      if (e.what == event::kind::message && e.message == m) found.push_back(e);
    }
    return found;
  }

 private:
  struct own : tlm::tlm_generic_payload {
    pcie_extension extension;
    std::uint64_t body = 0;
  };
  struct job {
    atc_link* self;
    tlm::tlm_generic_payload* p;
    std::size_t event;
  };
  own& message(pcie_message kind, std::uint16_t tag, std::uint8_t code) {
    own& m = sent_.emplace_back();
    m.extension.message = kind;
    m.extension.tag = tag;
    m.extension.code = code;
    m.set_extension(&m.extension);
    m.set_command(tlm::TLM_WRITE_COMMAND);
    m.set_data_ptr(reinterpret_cast<unsigned char*>(&m.body));
    m.set_data_length(0);
    m.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    return m;
  }
  void go(own& m) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = to_delay(now());
    down->nb_transport_fw(m, phase, delay);
  }
  tlm::tlm_sync_enum access_register(tlm::tlm_generic_payload& p, tlm::tlm_phase&, sc_core::sc_time&) {
    registers.push_back(p.get_address());
    p.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) { return tlm::TLM_COMPLETED; }

  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    const auto& e = *p.get_extension<pcie_extension>();
    const ps t = from_delay(delay);
    const bool question = e.address_type == pcie_address_type::translation_request;
    const event::kind kind = e.message != pcie_message::none ? event::kind::message
                             : question                      ? event::kind::question
                             : p.is_write()                  ? event::kind::write
                                                             : event::kind::read;
    ps moves = t + (p.is_write() ? write_latency : question ? walk_latency / 2 : read_latency / 2);
    ps ends = p.is_write() ? moves : t + (question ? walk_latency : read_latency);
    if (p.is_write()) {
      if (!e.relaxed_ordering) moves = ends = landed_ = std::max(moves, landed_);
    } else {
      moves = std::max(moves, landed_);
      ends = std::max(ends, moves);
    }
    log.push_back({kind, e.address_type, p.get_address(), t, moves, e.message, e.tag, e.code, e.requester});
    job& move = jobs_.emplace_back(job{this, &p, log.size() - 1});
    queue_.at(moves, {[](void* x) { static_cast<job*>(x)->self->move(*static_cast<job*>(x)); }, &move});
    queue_.at(ends, {[](void* x) {
                       auto& j = *static_cast<job*>(x);
                       tlm::tlm_phase resp = tlm::BEGIN_RESP;
                       sc_core::sc_time zero = to_delay(now());
                       j.self->up->nb_transport_bw(*j.p, resp, zero);
                     },
                     &move});
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void move(const job& j) {
    tlm::tlm_generic_payload& p = *j.p;
    const bool message = log[j.event].what == event::kind::message;
    p.set_response_status(message && refuses_messages ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
    if (log[j.event].what != event::kind::question) return;
    const auto it = table.find(p.get_address());
    const std::uint64_t entry = it == table.end() ? 0 : it->second;
    std::memcpy(p.get_data_ptr(), &entry, sizeof entry);
    if (refuses_questions) p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }

  ps landed_{0};
  std::deque<own> sent_;
  std::deque<job> jobs_;
};

struct atc_bench {
  clock_domain clock{frequency{1e9}};
  atc dut;
  atc_engine engine{"engine_model"};
  atc_link link{"link_model"};

  explicit atc_bench(const atc_config& c = {}, icm_check check = icm_check::none) : dut("atc", c, clock, 7, check) {
    engine.out.bind(dut.engine);
    dut.pcie.bind(link.up);
    link.down.bind(dut.down);
    dut.bar.bind(link.bar);
  }
  [[nodiscard]] double value(std::string_view name) const { return value_of(dut, name); }
};

inline atc_config without_pages() {
  atc_config c;
  c.page_requests = 0;
  return c;
}

}  // namespace hcasim::testing
