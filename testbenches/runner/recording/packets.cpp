#include "testbenches/runner/recording/packets.h"

#include <libdeflate.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "testbenches/runner/description/errors.h"
#include "testbenches/runner/recording/listen.h"

namespace hcasim {
namespace {

using bytes = std::vector<std::uint8_t>;

constexpr std::uint16_t link_ethernet = 1;
constexpr std::uint16_t link_erf = 197;
constexpr std::uint8_t erf_infiniband = 21;
constexpr std::uint16_t roce_port = 4791;
constexpr std::size_t batch = 4096;

void little(bytes& to, std::uint64_t v, int n) {
  for (int i = 0; i < n; ++i) to.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}
void big(bytes& to, std::uint64_t v, int n) {
  for (int i = n - 1; i >= 0; --i) to.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
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

void mac(bytes& to, std::uint16_t lid) {
  big(to, 0x02000000, 4);
  big(to, lid, 2);
}
void ip(bytes& to, std::uint16_t lid) {
  big(to, 10, 1);
  big(to, 0, 1);
  big(to, lid, 2);
}
std::uint16_t ip_checksum(std::span<const std::uint8_t> header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2) sum += static_cast<std::uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
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
  const auto wire = p.on_wire();
  const packet_header& h = p.header;
  const std::size_t routes = wire::lrh_bytes + (h.global ? wire::grh_bytes : 0);
  const auto* bth = reinterpret_cast<const std::uint8_t*>(wire.data()) + routes;
  const std::size_t transport = wire.size() - routes;  // BTH to ICRC
  bytes out;
  mac(out, h.dest_lid);
  mac(out, h.source_lid);
  big(out, 0x0800, 2);
  const std::size_t ip_at = out.size();
  big(out, 0x45, 1);
  big(out, static_cast<std::uint64_t>(h.service_level) << 4, 1);
  big(out, 20 + 8 + transport, 2);
  big(out, 0, 2);
  big(out, 0x4000, 2);  // not to be fragmented
  big(out, 64, 1);
  big(out, 17, 1);
  big(out, 0, 2);
  ip(out, h.source_lid);
  ip(out, h.dest_lid);
  const std::uint16_t sum = ip_checksum(std::span(out).subspan(ip_at, 20));
  out[ip_at + 10] = static_cast<std::uint8_t>(sum >> 8);
  out[ip_at + 11] = static_cast<std::uint8_t>(sum);
  big(out, 0xc000 | (h.dest_qpn & 0x3fff), 2);
  big(out, roce_port, 2);
  big(out, 8 + transport, 2);
  big(out, 0, 2);  // no checksum
  out.insert(out.end(), bth, bth + transport - wire::icrc_bytes);
  // Eight bytes of ones stand for the LRH; what routers may change counts as ones.
  bytes covered(8, 0xff);
  covered.insert(covered.end(), out.begin() + static_cast<std::ptrdiff_t>(ip_at), out.end());
  for (const unsigned at : {9U, 16U, 18U, 19U, 34U, 35U, 40U}) covered[at] = 0xff;
  little(out, libdeflate_crc32(0, covered.data(), covered.size()), 4);
  return out;
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
  if (!file_)
    throw input_error(fmt::format("cannot write '{}': {}; choose another folder with -o", path_, std::strerror(errno)));
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
  pending_.push_back({t, port, form_ == packet_form::roce ? roce_frame(p) : infiniband_record(p, t)});
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
  if (std::fwrite(out.data(), 1, out.size(), file_) != out.size()) failed_ = true;
}

void packet_recorder::finish() {
  flush(never);
  if (std::fclose(std::exchange(file_, nullptr)) != 0) failed_ = true;
  if (failed_) {
    throw input_error(fmt::format("cannot write '{}': the disk is full or the folder is gone; choose another with -o", path_));
  }
}

}  // namespace hcasim
