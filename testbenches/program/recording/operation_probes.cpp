#include "testbenches/program/recording/operation_probes.h"

#include <functional>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "testbenches/program/recording/listen.h"
#include "testbenches/program/recording/span_words.h"
#include "testbenches/program/results/hierarchy.h"
#include "tlm/operation.h"

namespace hcasim {

struct operation_probes::signal {
  probe value;
  probe_entry entry{name, 64, {}, &value};
  std::vector<std::function<std::unique_ptr<any_tap>(probe&)>> sources;
};

struct operation_probes::any_tap {
  virtual ~any_tap() = default;
};

template <class P>
struct operation_probes::tap final : chained_observer<P>, any_tap {
  tap(initiator_socket<P>& socket, probe& shown) : chained_observer<P>(socket), to(shown) {}

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ && p.operation != 0) to.set(p.operation, t);
    chained_observer<P>::forward(p, phase, t);
  }

  probe& to;
};

struct operation_probes::name_tap final : chained_observer<work_request>, any_tap {
  name_tap(initiator_socket<work_request>& socket, std::deque<started>& begun)
      : chained_observer<work_request>(socket), to(begun) {}

  void forward(const work_request& w, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ && w.operation != 0) {
      to.push_back({w.operation, w.qpn, span_words<work_request>::kind(w)});
      if (to.size() > most_names) to.pop_front();
    }
    chained_observer<work_request>::forward(w, phase, t);
  }

  std::deque<started>& to;
};

template <class P>
void operation_probes::find() {
  std::set<std::string> known;
  for (const unit* u : all_units()) known.insert(u->name());
  for (initiator_socket<P>* s : sockets_of<P>()) {
    const std::string sender = s->get_parent_object()->name();
    if (std::is_same_v<P, packet> && sender.find(".hca.") == std::string::npos) continue;  // links and switches
    const std::string target = sender.substr(0, sender.rfind('.') + 1) + span_words<P>::target(s->basename());
    if (!known.contains(target)) continue;
    auto& of_target = signals_[target];
    if (!of_target) of_target = std::make_unique<signal>();
    of_target->sources.push_back([s](probe& to) { return std::make_unique<tap<P>>(*s, to); });
  }
}

operation_probes::operation_probes() {
  find<doorbell_ring>();
  find<work_request>();
  find<window_request>();
  find<packet>();
  find<key_request>();
  find<translate_request>();
  find<context_request>();
  find<dma_request>();
  find<report>();
}

operation_probes::~operation_probes() = default;

const probe_entry* operation_probes::of(const std::string& unit) const {
  const auto found = signals_.find(unit);
  return found == signals_.end() ? nullptr : &found->second->entry;
}

void operation_probes::listen() {
  for (const auto& [unit, s] : signals_) {
    if (!s->value.watched()) continue;
    for (const auto& source : s->sources) taps_.push_back(source(s->value));
  }
  if (taps_.empty()) return;
  for (initiator_socket<work_request>* s : sockets_of<work_request>())
    taps_.push_back(std::make_unique<name_tap>(*s, started_));
}

std::vector<std::pair<std::uint64_t, std::string>> operation_probes::names() const {
  std::vector<std::pair<std::uint64_t, std::string>> out;
  out.reserve(started_.size());
  for (const started& s : started_) {
    out.emplace_back(s.operation, fmt::format("{}.{} {} of QP {}", operation_queue(s.operation), operation_place(s.operation),
                                              span_words<work_request>::name(s.kind), s.qpn));
  }
  return out;
}

}  // namespace hcasim
