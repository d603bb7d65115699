#include "testbenches/kit/timeline.h"

#include <algorithm>
#include <array>
#include <deque>

namespace hcasim::kit {
namespace {

// Whether the answer of a request brings the operation back to its initiator.
template <class P>
bool returns(const P&) {
  return true;
}
bool returns(const dma_request& d) {
  return d.op != dma_op::write || d.source == dma_source::completion;
}
bool returns(const packet&) {
  return false;
}
bool returns(const report&) {
  return false;
}
bool returns(const work_request&) {
  return false;
}
bool returns(const doorbell_ring&) {
  return false;
}

template <class P>
bool enters(const P&) {
  return true;
}
bool enters(const dma_request& d) {
  return d.op != dma_op::write || d.source == dma_source::completion;
}

// Returns the name of the place that a request enters. Transfers have a name for each kind of data.
template <class P>
std::string place(const std::string& node_or_unit, const P&) {
  return node_or_unit;
}
std::string place(const std::string& node, const dma_request& d) {
  constexpr std::array data{"payload", "WQE",     "receive WQE",     "context",  "page table",
                            "CQE",     "command", "doorbell record", "interrupt"};
  static_assert(data.size() == dma_sources);
  return node + "DMA of " + data[static_cast<std::size_t>(d.source)];
}

template <class P>
class boundary final : public socket_observer<P> {
 public:
  boundary(timeline& to, initiator_socket<P>& socket, std::string from, std::string into, std::string after)
      : to_(to), from_(std::move(from)), into_(std::move(into)), after_(std::move(after)) {
    socket.observe(this);
  }
  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (to_.recording() && phase == tlm::BEGIN_REQ && enters(p)) to_.mark(t, place(into_, p), from_ + " -> " + place(into_, p));
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) backward(p, phase, t);
  }
  void backward(const P& p, tlm::tlm_phase, ps t) override {
    if (to_.recording() && returns(p)) to_.mark(t, after_, from_ + " <- " + place(into_, p));
  }

 private:
  timeline& to_;
  std::string from_;
  std::string into_;
  std::string after_;  // active once the answer is there
};

}  // namespace

struct timeline::listeners {
  template <class P>
  void on(timeline& to, initiator_socket<P>& socket, const std::string& from, const std::string& into,
          const std::string& after) {
    kept.push_back(std::make_shared<boundary<P>>(to, socket, from, into, after));
  }
  std::deque<std::shared_ptr<void>> kept;
};

timeline::timeline(hcasim::system& s) : listeners_(std::make_unique<listeners>()) {
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    hca& h = s.at(i).hca;
    const std::string n = "node" + std::to_string(i) + " ";
    const auto on = [&](auto& socket, const char* from, const std::string& into) {
      listeners_->on(*this, socket, n + from, into, n + from);
    };
    on(h.doorbell.send, "doorbell", n + "send_queue");
    on(h.send_queue.qpc, "send_queue", n + "qpc_cache");
    on(h.send_queue.walker, "send_queue", n + "page_walker");
    on(h.send_queue.dma, "send_queue", n);
    on(h.send_queue.work, "send_queue", n + "requester");
    on(h.requester.qpc, "requester", n + "qpc_cache");
    on(h.requester.keys, "requester", n + "key_check");
    on(h.requester.walker, "requester", n + "page_walker");
    on(h.requester.dma, "requester", n);
    for (auto& egress : h.requester.egress) on(egress, "requester", n + "port");
    on(h.requester.reports, "requester", n + "completion");
    on(h.responder.qpc, "responder", n + "qpc_cache");
    on(h.responder.keys, "responder", n + "key_check");
    on(h.responder.walker, "responder", n + "page_walker");
    on(h.responder.dma, "responder", n);
    for (auto& egress : h.responder.egress) on(egress, "responder", n + "port");
    on(h.key_check.mrc, "key_check", n + "mrc_cache");
    on(h.qpc_cache.dma, "qpc_cache", n);
    on(h.mrc_cache.dma, "mrc_cache", n);
    on(h.cqc_cache.dma, "cqc_cache", n);
    on(h.page_walker.dma, "page_walker", n);
    if (i == 0) {  // receives complete beside the path of the operation
      on(h.completion.cqc, "completion", n + "cqc_cache");
      on(h.completion.walker, "completion", n + "page_walker");
      listeners_->on(*this, h.completion.dma, n + "completion", n, n + "host software");
    }
    for (unsigned p = 0; p < h.ports(); ++p) {
      on(h.port_at(p).link_out, "port", "link");
      on(h.port_at(p).requester, "port", n + "requester");
      on(h.port_at(p).responder, "port", n + "responder");
    }
  }
  for (std::size_t i = 0; i < s.links(); ++i) {
    for (unsigned end = 0; end < 2; ++end) {
      const std::string into = s.nodes() == 2 ? "node" + std::to_string(end) + " port" : "fabric";
      listeners_->on(*this, s.cable(i).out[end], "link", into, "link");
    }
  }
}

timeline::~timeline() = default;

void timeline::begin(ps t, const std::string& active) {
  crossings_.clear();
  begin_ = t;
  recording_ = true;
  mark(t, active, "begin");
}

std::uint16_t timeline::number_of(const std::string& name) {
  const auto [place, added] = numbers_.try_emplace(name, static_cast<std::uint16_t>(names_.size()));
  if (added) names_.push_back(&place->first);
  return place->second;
}

void timeline::mark(ps t, const std::string& active, const std::string& what) {
  crossings_.push_back({t, number_of(active), number_of(what)});
}

void timeline::end(ps t) {
  recording_ = false;
  end_ = t;
}

std::vector<timeline::crossing> timeline::in_order() const {
  std::vector<crossing> sorted;
  for (const crossing& c : crossings_) {
    if (c.at >= begin_ && c.at <= end_) sorted.push_back(c);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const crossing& a, const crossing& b) { return a.at < b.at; });
  return sorted;
}

std::vector<share> timeline::shares() const {
  std::vector<std::uint16_t> units;
  std::vector<ps> times(names_.size(), ps(0));
  std::vector<bool> entered(names_.size());
  const std::vector<crossing> all = in_order();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint16_t unit = all[i].unit;
    if (!entered[unit]) units.push_back(unit);
    entered[unit] = true;
    times[unit] += (i + 1 < all.size() ? all[i + 1].at : end_) - all[i].at;
  }
  std::vector<share> list;
  for (const std::uint16_t unit : units) {
    if (times[unit] != ps(0)) list.push_back({*names_[unit], times[unit]});
  }
  return list;
}

std::string timeline::text(std::size_t most) const {
  std::string lines;
  const std::vector<crossing> all = in_order();
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) {
    const crossing& c = all[i];
    lines += std::to_string((c.at - begin_).count()) + " " + *names_[c.unit] + ": " + *names_[c.what] + "\n";
  }
  if (all.size() > most) lines += "... and " + std::to_string(all.size() - most) + " more\n";
  return lines;
}

}  // namespace hcasim::kit
