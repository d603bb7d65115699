#include "testbenches/kit/packet_injector.h"

#include <stdexcept>

#include "tlm/base/delegate.h"

namespace hcasim::kit {
namespace {

// The highest bit, and seven that change by as much from one to the next.
constexpr std::uint32_t payload_step = 37;
constexpr std::byte payload_byte(std::uint64_t mark, std::uint32_t i) {
  return static_cast<std::byte>(0x80 | ((mark + i * payload_step) & 0x7f));
}

}  // namespace

// Twelve in a row are no chance.
std::uint64_t packet_injector::payload_in(std::span<const std::byte> bytes) {
  constexpr std::uint64_t enough = 12;
  std::uint64_t found = 0;
  std::uint64_t run = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool is = (bytes[i] & std::byte{0x80}) != std::byte{0};
    run = is && run != 0 && payload_byte(std::to_integer<std::uint32_t>(bytes[i - 1]), 1) == bytes[i] ? run + 1 : is;
    if (run == enough) found += enough;
    if (run > enough) ++found;
  }
  return found;
}

packet_injector::packet_injector(system& s, std::size_t victim)
    : system_(s),
      wire_(s.cable(0).out.at(victim)),
      lid_(static_cast<std::uint16_t>(s.config().nodes[victim].hca.port.lid)),
      responder_(s.at(victim).hca.responder.egress.front(),
                 [this](const packet& p) {
                   if (on_answer) return on_answer(p);
                   answers_.push_back(p.header);
                 }),
      requester_(s.at(victim).hca.requester.egress.front(), [this](const packet& p) {
        if (on_request) return on_request(p);
        requests_.push_back(p.header);
      }) {}

packet_injector::~packet_injector() {
  stop();
}

packet_header packet_injector::header(std::uint8_t opcode, std::uint32_t qpn, std::uint32_t psn, std::uint16_t source) const {
  packet_header h;
  h.opcode = opcode;
  h.dest_qpn = qpn;
  h.psn = psn & wire::psn_mask;
  h.source_lid = source;
  h.dest_lid = lid_;
  h.ack_request = true;
  return h;
}

packet& packet_injector::make(const packet_header& h, std::uint32_t payload, std::uint64_t mark, const global_route& way) {
  packet& p = system_.packets().get();
  p.header = h;
  p.grh = way;
  p.payload = payload;
  p.operation = 0;
  for (std::uint32_t i = 0; i < payload; ++i) p.data()[i] = payload_byte(mark, i);
  encode(p);
  return p;
}

void packet_injector::put(packet& p) {
  p.last_bit = ps(0);
  p.waiter = {};
  p.on_response = nullptr;
  ps t = now();
  wire_.send_ahead(p, t);
}

void packet_injector::storm(ps apart, std::function<packet*()> next) {
  next_ = std::move(next);
  apart_ = apart;
  raging_ = true;
  if (!posted_) go_on();
}

void packet_injector::go_on() {
  posted_ = raging_;
  if (!raging_) return;
  if (packet* const p = next_()) put(*p);
  queue_.at(now() + apart_, call<&packet_injector::go_on>(this));
}

lone_requester::lone_requester(cpu& thread, node& on, packet_injector& f, std::uint32_t first_psn, bool signal_all)
    : p(thread, on), c(thread), n(on), wire(f), here(p.allocate(1 << 20)) {
  options.timeout = 0;
  options.psn = first_psn;
  options.signal_all = signal_all;
  qp = p.create_qp(options);
}

void lone_requester::connect() {
  if (p.reset(qp) != 0 || p.connect(qp, peer, options) != 0) throw std::runtime_error("the requester cannot connect");
}

int lone_requester::ask(ibv_wr_opcode opcode, std::uint32_t bytes) {
  return post(c, qp,
              {.opcode = opcode, .id = ++asked, .sges = {{here.addr, bytes, here.mr->lkey}}, .remote = 0x1000, .rkey = 0x100});
}

std::vector<packet_header> lone_requester::requests_after(ps t) {
  c.spend(t);
  c.sync();
  return wire.requests();
}

void lone_requester::answer(const packet_header& h, std::uint32_t payload, ps settle) {
  wire.put(h, payload);
  c.spend(settle);
  c.sync();
}

std::vector<ibv_wc> lone_requester::completions() {
  std::vector<ibv_wc> all;
  ibv_wc wc{};
  while (ibv_poll_cq(c, p.cq, 1, &wc) == 1) all.push_back(wc);
  return all;
}

std::string run_forged(const system_config& config, const std::function<void(cpu&, node&, packet_injector&)>& body) {
  world w(config);
  packet_injector f(w.sys(), 0);
  if (!w.run({[&](cpu& c, node& n) { body(c, n, f); }})) return "the program did not come to its end";
  const std::size_t left = w.sys().packets().in_use();
  return left == 0 ? "" : std::to_string(left) + " packets are left over";
}

}  // namespace hcasim::kit
