// Taps between the units of an adapter, which hand each transfer to the follower of its operation.
#include <algorithm>
#include <cstddef>

#include "testbenches/program/explanation/operations.h"
#include "testbenches/program/recording/listen.h"

namespace hcasim {
namespace {

constexpr std::string_view askers[] = {"send_queue", "requester", "responder"};

// An operation goes by one of the ports, which are alike.
std::string as_first_port(std::string_view name) {
  for (const std::string_view number : {"_2", "2"}) {
    if (name.ends_with(number)) return std::string(name.substr(0, name.size() - number.size()));
  }
  return std::string(name);
}

}  // namespace

template <class P>
class operation_follower::tap final : public chained_observer<P> {
 public:
  tap(initiator_socket<P>& socket, operation_follower& to, const std::string& unit)
      : chained_observer<P>(socket), to_(to), unit_(unit), socket_(as_first_port(socket.basename())) {
    const auto* const asker = std::find(std::begin(askers), std::end(askers), unit_);
    if (asker != std::end(askers)) asks_ = wait_of(static_cast<std::size_t>(asker - std::begin(askers)));
  }

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ) begin(p, t);
    chained_observer<P>::forward(p, phase, t);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) end(p, t, true);
    chained_observer<P>::forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    end(p, t, false);
    chained_observer<P>::backward(p, phase, t);
  }

 private:
  static constexpr bool look_up =
      std::is_same_v<P, context_request> || std::is_same_v<P, key_request> || std::is_same_v<P, translate_request>;

  // Returns the part of a requesting unit's wait; of lookups, a miss is the next part.
  static part wait_of(std::size_t asker) {
    if constexpr (std::is_same_v<P, context_request>) return std::array{queue_context, context, far_context}[asker];
    if constexpr (std::is_same_v<P, key_request>) return std::array{parts, key, far_key}[asker];
    if constexpr (std::is_same_v<P, translate_request>) return std::array{wqe_table_hit, walk, far_walk}[asker];
    if constexpr (std::is_same_v<P, dma_request>) return std::array{wqe, payload, far_payload}[asker];
    return parts;
  }
  static bool asks(const P& p) {
    if constexpr (std::is_same_v<P, context_request>) return p.op == context_op::fetch;
    if constexpr (std::is_same_v<P, key_request>) return p.op != key_op::drain;
    if constexpr (std::is_same_v<P, translate_request>) return p.op == translate_op::walk;
    return true;
  }

  void begin(const P& p, ps t) {
    if constexpr (std::is_same_v<P, doorbell_ring>) {
      to_.ring(p, t);
    } else if constexpr (std::is_same_v<P, work_request>) {
      to_.begin_work(p, t);
    } else if constexpr (std::is_same_v<P, packet>) {
      to_.passes(unit_, socket_, p, t);
    } else if constexpr (std::is_same_v<P, report>) {
      to_.reported(p, t);
    } else if (p.operation != 0 && asks(p)) {
      open_.emplace_back(&p, t);
    }
  }
  void end(const P& p, ps t, bool at_once) {
    if constexpr (std::is_same_v<P, work_request>) to_.end_work(p, t);
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const auto& o) { return o.first == &p; });
    if (found == open_.rend()) return;
    const ps begun = found->second;
    open_.erase(std::next(found).base());
    if (asks_ != parts) to_.asked(p.operation, look_up && !at_once ? static_cast<part>(asks_ + 1) : asks_, begun, t);
    if constexpr (std::is_same_v<P, dma_request>) {
      if (unit_ == "completion") to_.written(p, begun, t);
    }
  }

  operation_follower& to_;
  std::string unit_;
  std::string socket_;
  part asks_ = parts;
  std::vector<std::pair<const P*, ps>> open_;
};

template <class P>
void operation_follower::listen() {
  constexpr std::string_view units[] = {"doorbell", "send_queue", "requester", "responder", "completion", "port"};
  for (initiator_socket<P>* s : sockets_of<P>()) {
    const std::string full = unit_of(*s);
    const std::size_t dot = full.rfind('.');
    if (dot == std::string::npos || !full.substr(0, dot).ends_with(".hca")) continue;
    const std::string unit = as_first_port(full.substr(dot + 1));
    if (std::find(std::begin(units), std::end(units), unit) == std::end(units)) continue;
    taps_.push_back(std::make_shared<tap<P>>(*s, *this, unit));
  }
}

void operation_follower::end_of_elaboration() {
  listen<doorbell_ring>();
  listen<work_request>();
  listen<context_request>();
  listen<key_request>();
  listen<translate_request>();
  listen<dma_request>();
  listen<packet>();
  listen<report>();
}

}  // namespace hcasim
