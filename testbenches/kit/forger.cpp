#include "testbenches/kit/forger.h"

namespace hcasim::kit {

forger::forger(system& s, std::size_t victim)
    : system_(s),
      adapter_(s.at(victim).hca),
      wire_(s.cable(0).out.at(victim)),
      lid_(static_cast<std::uint16_t>(s.config().nodes[victim].hca.port.lid)) {
  adapter_.responder.egress.observe(&answers_);
  adapter_.requester.egress.observe(&requests_);
}

forger::~forger() {
  stop();
  adapter_.responder.egress.observe(nullptr);
  adapter_.requester.egress.observe(nullptr);
}

packet_header forger::header(std::uint8_t opcode, std::uint32_t qpn, std::uint32_t psn, std::uint16_t source) const {
  packet_header h;
  h.opcode = opcode;
  h.dest_qpn = qpn;
  h.psn = psn & wire::psn_mask;
  h.source_lid = source;
  h.dest_lid = lid_;
  h.ack_request = true;
  return h;
}

void forger::put(const packet_header& h, std::uint32_t payload) {
  packet& p = system_.packets().get();
  p.header = h;
  p.payload = payload;
  p.operation = 0;
  p.last_bit = ps(0);
  p.waiter = {};
  p.on_response = nullptr;
  for (std::uint32_t i = 0; i < payload; ++i) p.data()[i] = static_cast<std::byte>(0xe0 + i % 31);
  encode(p);
  ps t = now();
  wire_.send_ahead(p, t);
}

void forger::storm(ps apart, std::function<packet_header()> make) {
  make_ = std::move(make);
  apart_ = apart;
  raging_ = true;
  if (!posted_) next();
}

void forger::next() {
  posted_ = raging_;
  if (!raging_) return;
  put(make_());
  queue_.at(now() + apart_, {[](void* self) { static_cast<forger*>(self)->next(); }, this});
}

}  // namespace hcasim::kit
