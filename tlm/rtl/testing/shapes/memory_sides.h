// The TLM side of an AXI port: who accesses memory that is RTL, and memory for RTL that is a master.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tlm/access.h"
#include "tlm/base/random.h"
#include "tlm/base/unit.h"
#include "tlm/rtl/axi/axi.h"

namespace hcasim::rtl::shapes {

// Sends accesses in their order, some at a time, and keeps a copy of what the memory must hold.
class memory_user : public unit {
 public:
  tlm_utils::simple_initiator_socket<memory_user, 64> out{"out"};
  std::function<void(const std::string&)> complain;

  struct access : tlm::tlm_generic_payload {
    ~access() override { clear_extension(&asks); }
    std::vector<unsigned char> bytes, wanted;
    axi_extension asks;
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
    bool alone = false;  // others are answered before it begins, and begin when it is answered
    std::function<void()> before, after;
    bool answered = false;
  };

  memory_user(const sc_core::sc_module_name& n, unsigned at_a_time) : unit(n), at_a_time_(at_a_time) {
    out.register_nb_transport_bw(this, &memory_user::answered);
  }

  access& write(std::uint64_t address, const std::vector<unsigned char>& bytes) {
    access& a = add(tlm::TLM_WRITE_COMMAND, address, bytes);
    keep(address, bytes);
    return a;
  }
  access& read(std::uint64_t address, std::size_t n) {
    access& a = add(tlm::TLM_READ_COMMAND, address, std::vector<unsigned char>(n));
    for (std::size_t i = 0; i < n; ++i) a.wanted.push_back(memory_[address + i]);
    return a;
  }
  access& write_word(std::uint64_t address, std::uint32_t v) { return write(address, bytes_of(v)); }
  access& read_word(std::uint64_t address, std::uint32_t wanted) {
    access& a = read(address, 4);
    a.wanted = bytes_of(wanted);
    return a;
  }
  // Notes the effect of an access whose payload does not tell it.
  void keep(std::uint64_t address, const std::vector<unsigned char>& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) memory_[address + i] = bytes[i];
  }
  void go() {
    while (next_ < all_.size() && under_way_ < at_a_time_ && (!all_[next_].alone || under_way_ == 0) && !alone_under_way_) {
      access& a = all_[next_++];
      if (a.before) a.before();
      ++under_way_;
      alone_under_way_ = a.alone;
      a.set_extension(&a.asks);
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay;
      if (out->nb_transport_fw(a, phase, delay) == tlm::TLM_COMPLETED) done(a);
    }
  }
  // Nothing, or what is still missing.
  [[nodiscard]] std::string missing() const {
    for (const access& a : all_) {
      if (!a.answered) return std::string("an access at ") + std::to_string(a.get_address()) + " was never answered";
    }
    return {};
  }

 private:
  static std::vector<unsigned char> bytes_of(std::uint32_t v) {
    return {static_cast<unsigned char>(v), static_cast<unsigned char>(v >> 8), static_cast<unsigned char>(v >> 16),
            static_cast<unsigned char>(v >> 24)};
  }
  access& add(tlm::tlm_command command, std::uint64_t address, const std::vector<unsigned char>& bytes) {
    access& a = all_.emplace_back();
    a.bytes = bytes;
    set_access(a, command, address, a.bytes.data(), a.bytes.size());
    return a;
  }
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& p, tlm::tlm_phase&, sc_core::sc_time&) {
    done(static_cast<access&>(p));
    go();
    return tlm::TLM_COMPLETED;
  }
  void done(access& a) {
    a.answered = true;
    --under_way_;
    alone_under_way_ = false;
    const std::string where = " at " + std::to_string(a.get_address());
    if (a.get_response_status() != a.status) complain(a.get_response_string() + where);
    if (a.is_read() && a.status == tlm::TLM_OK_RESPONSE && a.bytes != a.wanted) complain("wrong bytes" + where);
    if (a.after) a.after();
  }

  const unsigned at_a_time_;
  std::deque<access> all_;
  std::size_t next_ = 0;
  unsigned under_way_ = 0;
  bool alone_under_way_ = false;
  std::map<std::uint64_t, unsigned char> memory_;
};

// Answers each access after a while that differs; what lies beyond it is an error.
class memory_of_bytes : public unit {
 public:
  tlm_utils::simple_target_socket<memory_of_bytes, 64> in{"in"};
  std::vector<unsigned char> bytes;
  std::vector<axi_extension> asked;  // of each access

  memory_of_bytes(const sc_core::sc_module_name& n, std::size_t size, std::uint64_t seed)
      : unit(n), bytes(size), random_(seed, "latency") {
    in.register_nb_transport_fw(this, &memory_of_bytes::access);
    for (auto& b : bytes) b = static_cast<unsigned char>(random_.next());
  }

 private:
  struct job {
    memory_of_bytes* self;
    tlm::tlm_generic_payload* p;
  };
  tlm::tlm_sync_enum access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    const std::uint64_t at = p.get_address();
    const std::uint64_t n = p.get_data_length();
    if (const auto* asks = p.get_extension<axi_extension>()) asked.push_back(*asks);
    const bool here = at < bytes.size() && n <= bytes.size() - at;
    for (std::uint64_t i = 0; i < n && here; ++i) {
      if (p.is_read()) {
        p.get_data_ptr()[i] = bytes[at + i];
      } else if (!p.get_byte_enable_ptr() || p.get_byte_enable_ptr()[i % p.get_byte_enable_length()]) {
        bytes[at + i] = p.get_data_ptr()[i];
      }
    }
    p.set_response_status(here ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    jobs_.push_back({this, &p});
    queue_.at(now() + ps(static_cast<std::int64_t>(2500 * random_.below(30))), {[](void* context) {
                                                                                  const job& j = *static_cast<job*>(context);
                                                                                  tlm::tlm_phase respond = tlm::BEGIN_RESP;
                                                                                  sc_core::sc_time none;
                                                                                  j.self->in->nb_transport_bw(*j.p, respond,
                                                                                                              none);
                                                                                },
                                                                                &jobs_.back()});
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }

  std::deque<job> jobs_;
  random_stream random_;
};

}  // namespace hcasim::rtl::shapes
