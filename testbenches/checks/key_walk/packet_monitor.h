// Watches the packets of an adapter to and from the fabric. READ responses must carry just the requested bytes, and nothing may
// follow a NAK that denied an access.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/adapter/hca/hca.h"

namespace hcasim::testing {

class packet_monitor {
 public:
  packet_monitor(hca& adapter, std::uint32_t mtu) : adapter_(adapter), mtu_(mtu) {
    adapter_.port.responder.observe(&in_);
    adapter_.responder.egress.front().observe(&out_);
  }
  ~packet_monitor() {
    adapter_.port.responder.observe(nullptr);
    adapter_.responder.egress.front().observe(nullptr);
  }
  packet_monitor(const packet_monitor&) = delete;
  packet_monitor& operator=(const packet_monitor&) = delete;

  // Begins a connection, or begins it anew.
  void connected(std::uint32_t qpn, std::uint32_t peer) {
    peers_[qpn] = peer;
    connections_[peer] = {};
  }
  [[nodiscard]] std::uint64_t responses() const { return responses_; }
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  struct asked {
    std::uint32_t psn;
    std::uint32_t bytes;
  };
  struct connection {
    std::vector<asked> reads;
    bool denied = false;
  };
  struct listener : socket_observer<packet> {
    packet_monitor* self = nullptr;
    void (packet_monitor::*hear)(const packet&) = nullptr;
    void forward(const packet& p, tlm::tlm_phase phase, ps) override {
      if (phase == tlm::BEGIN_REQ) (self->*hear)(p);
    }
    void forward_done(const packet&, tlm::tlm_phase, tlm::tlm_sync_enum, ps) override {}
    void backward(const packet&, tlm::tlm_phase, ps) override {}
  };
  listener listen(void (packet_monitor::*hear)(const packet&)) {
    listener l;
    l.self = this;
    l.hear = hear;
    return l;
  }

  void request(const packet& p) {
    const packet_header& h = p.header;
    const auto peer = peers_.find(h.dest_qpn);
    if (h.opcode == wire::read_request && peer != peers_.end()) {
      connections_[peer->second].reads.push_back({h.psn, h.dma_length});
    }
  }
  void response(const packet& p) {
    const packet_header& h = p.header;
    const auto found = connections_.find(h.dest_qpn);
    if (found == connections_.end()) return;
    connection& c = found->second;
    if (h.opcode == wire::acknowledge && h.syndrome == wire::nak_remote_access) c.denied = true;
    if (p.payload == 0) return;
    ++responses_;
    if (c.denied) note("bytes follow a NAK that denied them");
    const bool wanted = std::any_of(c.reads.begin(), c.reads.end(), [&](const asked& a) {
      const std::int64_t offset = std::int64_t{psn_distance(a.psn, h.psn)} * mtu_;
      return offset >= 0 && offset < a.bytes && p.payload == std::min<std::int64_t>(mtu_, a.bytes - offset);
    });
    if (!wanted) note("a response carries bytes without a request");
  }
  void note(const char* text) {
    if (violation_.empty()) violation_ = text;
  }

  hca& adapter_;
  std::int64_t mtu_;
  std::map<std::uint32_t, std::uint32_t> peers_;
  std::map<std::uint32_t, connection> connections_;
  std::uint64_t responses_ = 0;
  std::string violation_;
  listener in_ = listen(&packet_monitor::request);
  listener out_ = listen(&packet_monitor::response);
};

}  // namespace hcasim::testing
