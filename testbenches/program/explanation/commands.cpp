#include "testbenches/program/explanation/commands.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "firmware/abi/registers.h"
#include "firmware/control/commands.h"
#include "testbenches/program/recording/listen.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/protection.h"
#include "tlm/translate.h"
#include "tlm/window.h"

namespace hcasim {

std::string command_name(std::uint16_t opcode) {
  struct word {
    std::uint16_t opcode;
    const char* name;
  };
#define WORD(name, handler, needs_init, in, out, locks) {HCA_CMD_##name, #name},
  static constexpr word words[] = {FW_COMMANDS(WORD)};
#undef WORD
  for (const word& w : words) {
    if (w.opcode == opcode) return w.name;
  }
  return fmt::format("{:#x}", opcode);
}

template <class P>
class command_follower::tap final : public chained_observer<P> {
 public:
  tap(initiator_socket<P>& socket, command_follower& to, adapter& a) : chained_observer<P>(socket), to_(to), adapter_(a) {}

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ) begin(p, t);
    chained_observer<P>::forward(p, phase, t);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) end(p, t);
    chained_observer<P>::forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    end(p, t);
    chained_observer<P>::backward(p, phase, t);
  }

 private:
  void begin(const P& p, ps t) {
    if constexpr (std::is_same_v<P, register_access>) {
      if (p.write && p.offset == HCA_REG_CMDQ_BELL && adapter_.rung == never) adapter_.rung = t;
    } else {
      if constexpr (std::is_same_v<P, dma_request>) {
        following& current = adapter_.now;
        if (adapter_.open && is_answer(p)) current.answer = &p;
        const bool fetch_of_command = p.op == dma_op::read && p.bytes == sizeof(hca_command);
        if (fetch_of_command && (!adapter_.open || current.answer)) {
          if (adapter_.open) adapter_.leaving.push_back(std::move(current));
          adapter_.open = true;
          current = {{}, std::min(adapter_.rung, t), t, {}, nullptr};
          adapter_.rung = never;
        }
      }
      adapter_.latest = std::max(adapter_.latest, t);
      open_.emplace_back(&p, t);
    }
  }
  void end(const P& p, ps t) {
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const auto& o) { return o.first == &p; });
    if (found == open_.rend()) return;
    ps from = found->second;
    open_.erase(std::next(found).base());
    if (!adapter_.leaving.empty() && adapter_.leaving.front().answer == &p) {
      following done = std::move(adapter_.leaving.front());
      adapter_.leaving.pop_front();
      done.waits.push_back({from, t, reply});
      return to_.finish(done, t);
    }
    if (!adapter_.open) return;
    following& current = adapter_.now;
    part what = stop;
    if constexpr (std::is_same_v<P, dma_request>) {
      what = p.op == dma_op::read ? read : write;
      if (p.op == dma_op::read && current.command.opcode == 0) {
        std::memcpy(&current.command, p.data, sizeof(hca_command));
        what = fetch;
      }
      // Writes are posted: the firmware goes on until a fence, after its last request.
      if (p.op == dma_op::write) from = std::max(from, std::min(adapter_.latest, t));
    } else if constexpr (std::is_same_v<P, context_request> || std::is_same_v<P, translate_request>) {
      what = drop;
    } else if constexpr (std::is_same_v<P, key_request> || std::is_same_v<P, window_request>) {
      what = drain;
    }
    const bool answered = current.answer == &p;
    current.waits.push_back({from, t, answered ? reply : what});
    if (!answered) return;
    adapter_.open = false;
    to_.finish(current, t);
    current = {};
  }
  [[nodiscard]] bool is_answer(const dma_request& p) const {
    if (p.op != dma_op::write || p.bytes != sizeof(hca_command)) return false;
    const hca_command& asked = adapter_.now.command;
    hca_command answer;
    std::memcpy(&answer, p.data, sizeof answer);
    return answer.owner == HCA_OWNER_SOFTWARE && answer.opcode == asked.opcode && answer.token == asked.token &&
           answer.in_address == asked.in_address;
  }

  command_follower& to_;
  adapter& adapter_;
  std::vector<std::pair<const P*, ps>> open_;
};

command_follower::command_follower() : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("command_follower"))) {}

command_follower::~command_follower() = default;

template <class P>
void command_follower::listen() {
  for (initiator_socket<P>* s : sockets_of<P>()) {
    const std::string full = unit_of(*s);
    const bool bell =
        std::is_same_v<P, register_access> && full.ends_with(".doorbell") && std::string_view(s->basename()) == "command";
    if (!bell && !full.ends_with(".command_unit")) continue;
    const std::string name = full.substr(0, full.rfind('.'));
    auto found = std::find_if(adapters_.begin(), adapters_.end(), [&](const adapter& a) { return a.name == name; });
    if (found == adapters_.end()) {
      adapters_.emplace_back();
      adapters_.back().name = name;
      found = adapters_.end() - 1;
    }
    taps_.push_back(std::make_shared<tap<P>>(*s, *this, *found));
  }
}

void command_follower::end_of_elaboration() {
  listen<register_access>();
  listen<dma_request>();
  listen<context_request>();
  listen<key_request>();
  listen<window_request>();
  listen<translate_request>();
  listen<doorbell_control>();
  listen<send_queue_control>();
  listen<requester_control>();
  listen<responder_control>();
  listen<completion_control>();
  listen<page_answer>();
}

void command_follower::finish(following& a, ps end) {
  totals& sum = kinds_[a.command.opcode];
  ++sum.count;
  sum.time[queueing] += a.taken - a.begin;
  std::stable_sort(a.waits.begin(), a.waits.end(), [](const wait& x, const wait& y) { return x.begin < y.begin; });
  ps t = a.taken;
  for (const wait& w : a.waits) {
    if (w.end <= t) continue;
    if (w.begin > t) {
      sum.time[firmware] += w.begin - t;
      t = w.begin;
    }
    sum.time[w.what] += std::min(w.end, end) - t;
    t = std::min(w.end, end);
  }
  sum.time[firmware] += end - t;
}

std::vector<waterfall> command_follower::waterfalls() const {
  struct part_name {
    const char* unit;
    const char* kind;
  };
  constexpr std::array<part_name, parts> names{{{"command queue", "queueing"},
                                                {"command fetch", "PCIe"},
                                                {"firmware", "service"},
                                                {"mailboxes, tables: reads", "PCIe"},
                                                {"contexts, tables: writes", "PCIe"},
                                                {"caches forget", "service"},
                                                {"accesses in flight", "queueing"},
                                                {"queues start and stop", "service"},
                                                {"answer", "PCIe"}}};
  std::vector<std::pair<ps, std::uint16_t>> order;
  order.reserve(kinds_.size());
  for (const auto& [opcode, sum] : kinds_) {
    order.emplace_back(std::accumulate(sum.time.begin(), sum.time.end(), ps(0)), opcode);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  std::vector<waterfall> out;
  for (const auto& [all, opcode] : order) {
    const totals& sum = kinds_.at(opcode);
    waterfall w{fmt::format("command {}: from its doorbell to its answer, mean of {}", command_name(opcode), sum.count), {}};
    for (std::size_t i = 0; i < parts; ++i) {
      if (sum.time[i] > ps(0))
        w.steps.push_back({names[i].unit, names[i].kind, to_ns(sum.time[i]) / static_cast<double>(sum.count)});
    }
    out.push_back(std::move(w));
  }
  return out;
}

}  // namespace hcasim
