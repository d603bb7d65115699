#include "testbenches/program/recording/packets.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/recording/listen.h"
#include "tlm/operation.h"
#include "tlm/roce/crossing.h"
#include "tlm/roce/frame.h"

namespace hcasim {
namespace {

using bytes = std::vector<std::uint8_t>;

constexpr std::uint16_t link_ethernet = 1;
constexpr std::uint16_t link_erf = 197;
constexpr std::uint8_t erf_infiniband = 21;
constexpr std::size_t batch = 4096;

void little(bytes& to, std::uint64_t v, int n) {
  std::array<std::uint8_t, 8> b;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint8_t>(v >> (8 * i));
  to.insert(to.end(), b.begin(), b.begin() + n);
}
void big(bytes& to, std::uint64_t v, int n) {
  std::array<std::uint8_t, 8> b;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint8_t>(v >> (56 - 8 * i));
  to.insert(to.end(), b.end() - n, b.end());
}
void option(bytes& to, std::uint16_t code, const bytes& value) {
  little(to, code, 2);
  little(to, value.size(), 2);
  to.insert(to.end(), value.begin(), value.end());
  while (to.size() % 4 != 0) to.push_back(0);
}

// CRC-16 over the packet, polynomial 0x100b, bit order and inversion as for the ICRC (IBA 7.8.2).
std::uint16_t vcrc(std::span<const std::uint8_t> covered) {
  std::uint16_t c = 0xffff;
  for (const std::uint8_t b : covered) {
    c = static_cast<std::uint16_t>(c ^ b);
    for (int i = 0; i < 8; ++i) c = static_cast<std::uint16_t>((c & 1) ? c >> 1 ^ 0xd008 : c >> 1);
  }
  return static_cast<std::uint16_t>(~c);
}

gateway::endpoint endpoint_of(std::uint16_t lid) {
  constexpr gateway::ip_address ten = 10U << 24;
  return {{0x02, 0, 0, 0, static_cast<std::uint8_t>(lid >> 8), static_cast<std::uint8_t>(lid)}, ten | lid};
}

// Returns the addresses that follow from the LID, or for a group from its GID.
gateway::endpoint destination_of(const packet& p) {
  gateway::gid group;
  for (std::size_t i = 0; p.header.global && i < HCA_GID_BYTES; ++i) {
    std::uint64_t& half = i < 8 ? group.prefix : group.interface;
    half = half << 8 | p.grh.dest.byte[i];
  }
  if (!gateway::is_group(group)) return endpoint_of(p.header.dest_lid);
  const gateway::ip_address ip = gateway::group_ip(group);
  return {gateway::group_mac(ip), ip};
}

}  // namespace

bytes infiniband_record(const packet& p, ps t) {
  const auto wire = p.on_wire();
  const std::size_t length = wire.size() + wire::vcrc_bytes;
  bytes out;
  const auto seconds = static_cast<std::uint64_t>(t.count() / 1'000'000'000'000);
  const auto rest = static_cast<long double>(t.count() % 1'000'000'000'000);
  little(out, seconds << 32 | static_cast<std::uint64_t>(rest * 4294967296.0L / 1e12L), 8);
  out.push_back(erf_infiniband);
  out.push_back(0x04);       // records vary in length
  big(out, 16 + length, 2);  // with this header
  big(out, 0, 2);            // lost before it
  big(out, length, 2);       // on the wire
  const auto* from = reinterpret_cast<const std::uint8_t*>(wire.data());
  out.insert(out.end(), from, from + wire.size());
  little(out, vcrc({from, wire.size()}), 2);
  return out;
}

bytes roce_frame(const packet& p) {
  const packet_header& h = p.header;
  std::array<std::byte, gateway::most_frame> frame;
  const std::size_t n =
      gateway::write_roce(frame,
                          {endpoint_of(h.source_lid), destination_of(p), static_cast<std::uint8_t>(h.service_level << 4),
                           static_cast<std::uint16_t>(0xc000 | (h.dest_qpn & 0x3fff))},
                          gateway::transport_of(p));
  const auto* from = reinterpret_cast<const std::uint8_t*>(frame.data());
  return {from, from + n};
}

class packet_recorder::tap final : public chained_observer<packet> {
 public:
  tap(initiator_socket<packet>& socket, packet_recorder& to, std::uint32_t port)
      : chained_observer(socket), to_(to), port_(port) {}
  void forward(const packet& p, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ) to_.take(p, port_, t);
    chained_observer::forward(p, phase, t);
  }

 private:
  packet_recorder& to_;
  std::uint32_t port_;
};

packet_recorder::packet_recorder(const std::filesystem::path& file, packet_form form, const std::string& version)
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("packet_recorder"))),
      file_(std::fopen(file.c_str(), "wb")),
      path_(file.string()),
      form_(form) {
  if (!file_) cannot_write(path_, errno);
  bytes section;
  little(section, 0x1a2b3c4d, 4);
  little(section, 1, 2);
  little(section, 0, 2);
  little(section, ~std::uint64_t{0}, 8);
  const std::string name = "hcasim " + version;
  option(section, 4, bytes(name.begin(), name.end()));
  little(section, 0, 4);
  block(0x0a0d0d0a, section);
}

packet_recorder::~packet_recorder() {
  if (file_) std::fclose(file_);
}

void packet_recorder::end_of_elaboration() {
  for (initiator_socket<packet>* s : sockets_of<packet>()) {
    if (std::string_view(s->basename()) != "link_out") continue;
    const std::string name = unit_of(*s);
    bytes interface;
    little(interface, form_ == packet_form::roce ? link_ethernet : link_erf, 2);
    little(interface, 0, 2);
    little(interface, 0, 4);  // packets are whole
    option(interface, 2, bytes(name.begin(), name.end()));
    option(interface, 9, {9});  // time in nanoseconds
    little(interface, 0, 4);
    block(1, interface);
    taps_.push_back(std::make_shared<tap>(*s, *this, static_cast<std::uint32_t>(taps_.size())));
  }
}

void packet_recorder::take(const packet& p, std::uint32_t port, ps t) {
  pending_.push_back({t, port, p.operation, form_ == packet_form::roce ? roce_frame(p) : infiniband_record(p, t)});
  if (pending_.size() >= batch) flush(now());
}

void packet_recorder::flush(ps until) {
  std::stable_sort(pending_.begin(), pending_.end(), [](const captured& a, const captured& b) { return a.at < b.at; });
  std::size_t i = 0;
  for (; i < pending_.size() && pending_[i].at < until; ++i) {
    const captured& c = pending_[i];
    const auto time = static_cast<std::uint64_t>(c.at.count() / 1000);
    bytes body;
    little(body, c.port, 4);
    little(body, time >> 32, 4);
    little(body, time & 0xffffffff, 4);
    little(body, c.bytes.size(), 4);
    little(body, c.bytes.size(), 4);
    body.insert(body.end(), c.bytes.begin(), c.bytes.end());
    if (c.operation != 0) {
      const std::string number = fmt::format("operation {}.{}", operation_queue(c.operation), operation_place(c.operation));
      body.resize(align_up(body.size(), 4));
      option(body, 1, bytes(number.begin(), number.end()));
      little(body, 0, 4);
    }
    block(6, body);
    ++written_;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(i));
}

void packet_recorder::block(std::uint32_t type, std::span<const std::uint8_t> body) {
  const std::size_t padded = align_up(body.size(), 4);
  bytes out;
  out.reserve(padded + 12);
  little(out, type, 4);
  little(out, padded + 12, 4);
  out.insert(out.end(), body.begin(), body.end());
  out.resize(8 + padded);
  little(out, padded + 12, 4);
  if (std::fwrite(out.data(), 1, out.size(), file_) != out.size() && !error_) error_ = errno;
}

void packet_recorder::finish() {
  flush(never);
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && !error_) error_ = errno;
  if (error_) cannot_write(path_, error_);
}

}  // namespace hcasim
