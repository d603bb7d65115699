#include "testbenches/checks/whole_system/testing/operation_watch.h"

#include <fmt/format.h>

#include "firmware/abi/mrc.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t tag_kind = 0xff000000;
constexpr std::uint32_t mtu = 1024;
constexpr std::size_t shown = 20;

unsigned node_of(const std::string& unit) {
  return unit.find("node1") == std::string::npos ? 0 : 1;
}
// Commands need the units too; nothing of them is of a request.
bool of_requests(const std::string& unit) {
  return unit.find(".hca.") != std::string::npos && !unit.ends_with(".command_unit");
}

}  // namespace

template <class P>
class operation_watch::tap final : public chained_observer<P> {
 public:
  tap(initiator_socket<P>& s, operation_watch& to)
      : chained_observer<P>(s), to_(to), unit_(unit_of(s)), socket_(s.basename()) {}

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (to_.on_ && phase == tlm::BEGIN_REQ) to_.check(unit_, socket_, p);
    chained_observer<P>::forward(p, phase, t);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) to_.answered(unit_, p);
    chained_observer<P>::forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    to_.answered(unit_, p);
    chained_observer<P>::backward(p, phase, t);
  }

 private:
  operation_watch& to_;
  std::string unit_;
  std::string socket_;
};

template <class P>
void operation_watch::listen() {
  for (initiator_socket<P>* s : sockets_of<P>()) {
    if (of_requests(unit_of(*s))) taps_.push_back(std::make_shared<tap<P>>(*s, *this));
  }
}

operation_watch::operation_watch() {
  listen<doorbell_ring>();
  listen<work_request>();
  listen<window_request>();
  listen<context_request>();
  listen<key_request>();
  listen<translate_request>();
  listen<dma_request>();
  listen<packet>();
  listen<report>();
}

std::uint64_t operation_watch::posted(const ibv_qp& qp, std::uint64_t here, std::uint64_t there) {
  const driver::send_ring& ring = static_cast<const driver::queue_pair&>(qp).ring;
  const std::uint64_t operation = ring.last_operation();
  EXPECT_TRUE(posted_.insert(operation).second) << "a number is given once";
  rung_[{operation_queue(operation), ring.tail()}] = operation;
  if (here != 0) pages_[{0, here >> 12}] = operation;
  if (there != 0) pages_[{1, there >> 12}] = operation;
  return operation;
}

void operation_watch::connected(const address& self, const address& peer) {
  peers_[{self.lid, self.qpn}] = peer;
}

void operation_watch::begins_anew() {
  flights_.clear();
  pages_.clear();
  frames_.clear();
}

std::uint64_t operation_watch::seen(const std::string& what) const {
  const auto found = seen_.find(what);
  return found == seen_.end() ? 0 : found->second;
}

void operation_watch::expect(bool ok, const std::string& what, const std::string& unit, std::uint64_t operation) {
  ++seen_[what];
  if (ok || problems_.size() >= shown) return;
  problems_.push_back(
      fmt::format("{} of {} at {} ns carries {:#x}", what, unit, static_cast<double>(now().count()) / 1000, operation));
}

void operation_watch::expect_known(const std::string& what, const std::string& unit, std::uint64_t operation) {
  expect(posted_.contains(operation), what, unit, operation);
}

void operation_watch::expect_page(const std::string& what, const std::string& unit, std::uint64_t va, std::uint64_t operation) {
  const auto found = pages_.find({node_of(unit), va >> 12});
  expect(found != pages_.end() && found->second == operation, what, unit, operation);
}

void operation_watch::check(const std::string& unit, const std::string&, const doorbell_ring& r) {
  if (r.kind != bell::send) return expect(r.operation == 0, "doorbell of another queue", unit, r.operation);
  const auto found = rung_.find({operation_queue(r.operation), r.value});
  expect(found != rung_.end() && found->second == r.operation, "doorbell", unit, r.operation);
}

void operation_watch::check(const std::string& unit, const std::string&, const work_request& r) {
  expect_known("work request", unit, r.operation);
  expect(static_cast<std::uint16_t>(r.operation) == r.index, "its place", unit, r.operation);
}

void operation_watch::check(const std::string& unit, const std::string&, const window_request& r) {
  expect_known("change of a window", unit, r.operation);
}

// CQ doorbells look at the context as well.
void operation_watch::check(const std::string& unit, const std::string& socket, const context_request& r) {
  if (r.op != context_op::fetch || (socket == "cqc" && r.operation == 0)) return;
  expect_known("context of " + unit.substr(unit.rfind('.') + 1), unit, r.operation);
}

void operation_watch::check(const std::string& unit, const std::string&, const key_request& r) {
  if (r.op == key_op::drain) return expect_known("drain", unit, r.operation);
  expect_page(r.remote ? "R_Key" : "L_Key", unit, r.va, r.operation);
}

void operation_watch::check(const std::string& unit, const std::string&, const translate_request& r) {
  if (r.op == translate_op::drop) return;
  if ((r.map.index & tag_kind) == HCA_TAG_REGION) return expect_page("translation", unit, r.va, r.operation);
  expect_known("translation of a queue", unit, r.operation);
}

void operation_watch::answered(const std::string& unit, const translate_request& r) {
  if ((r.map.index & tag_kind) == HCA_TAG_REGION) frames_[{node_of(unit), r.physical >> 12}] = r.va >> 12;
}

void operation_watch::check(const std::string& unit, const std::string&, const dma_request& r) {
  const std::string what = dma_source_names[static_cast<std::size_t>(r.source)];
  if (r.source == dma_source::payload) {
    const auto found = frames_.find({node_of(unit), r.address >> 12});
    return expect_page("payload", unit, found == frames_.end() ? 0 : found->second << 12, r.operation);
  }
  if (unit.ends_with("cqc_cache") && r.operation == 0) return;
  if (r.source == dma_source::context && r.op == dma_op::write) {
    return expect(r.operation == 0, "entry written back", unit, r.operation);
  }
  expect_known(what, unit, r.operation);
}

// A PSN belongs to one request, however often it is sent.
void operation_watch::check(const std::string& unit, const std::string&, const packet& p) {
  const packet_header& h = p.header;
  const wire::shape& s = h.shape();
  expect_known(s.response ? "answer" : "request", unit, p.operation);
  if (!s.response) {
    queues_[{h.dest_lid, h.dest_qpn}] = operation_queue(p.operation);
    const auto packets = s.payload || !s.reth ? 1U : std::max(1U, (h.dma_length + mtu - 1) / mtu);
    for (std::uint32_t i = 0; i < packets; ++i) {
      const auto first = flights_.try_emplace({h.dest_lid, h.dest_qpn, psn_add(h.psn, i)}, p.operation).first;
      expect(first->second == p.operation, "repetition", unit, p.operation);
    }
    const auto page_there = pages_.find({1, h.va >> 12});
    if (s.reth || s.atomic) expect(page_there != pages_.end() && page_there->second == p.operation, "RETH", unit, p.operation);
    return;
  }
  const auto peer = peers_.find({h.dest_lid, h.dest_qpn});
  if (peer == peers_.end()) return expect(false, "answer without a request", unit, p.operation);
  const auto asked = flights_.find({peer->second.lid, peer->second.qpn, h.psn});
  const std::uint64_t wanted = asked == flights_.end() ? 0 : asked->second;
  if (s.payload || s.atomic_ack) return expect(wanted == p.operation, "response", unit, p.operation);
  expect(queues_[{peer->second.lid, peer->second.qpn}] == operation_queue(p.operation), "acknowledgement", unit, p.operation);
}

void operation_watch::check(const std::string& unit, const std::string&, const report& r) {
  expect_known("report", unit, r.operation);
  if (r.event || (r.cqe.flags & HCA_CQE_RECEIVE)) return;
  expect(static_cast<std::uint16_t>(r.operation) == r.cqe.index, "its CQE", unit, r.operation);
}

}  // namespace hcasim::kit
