// For tests: stands for a context cache, with entries that the test makes and a latency for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "tlm/base/unit.h"
#include "tlm/context.h"
#include "tlm/socket.h"

namespace hcasim::testing {

class context_store : public unit {
 public:
  target_socket<context_request> in{"in"};
  struct line {
    alignas(64) std::byte bytes[64]{};
    ps latency{0};  // 0 = a hit, answered in the call
    int pins = 0;
  };
  std::map<std::uint32_t, line> lines;
  std::set<std::uint32_t> failing;
  std::uint32_t entries = 1 << 20;  // of the area; those beyond fail
  ps hit_time{0};
  std::function<ps()> latency;  // of each fetch, in the place of the lines' own
  unsigned fetches = 0;

  explicit context_store(const sc_core::sc_module_name& n) : unit(n) { in.on<&context_store::handle>(this); }

  template <class T>
  T& at(std::uint32_t index) {
    return *reinterpret_cast<T*>(lines[index].bytes);
  }
  int pins() const {
    int n = 0;
    for (const auto& [index, l] : lines) n += l.pins;
    return n;
  }

 private:
  struct job {
    context_store* self;
    context_request* r;
  };
  tlm::tlm_sync_enum handle(context_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) {
      --lines[r.index].pins;
      return tlm::TLM_COMPLETED;
    }
    ++fetches;
    const ps late = latency ? latency() : latency_of(r.index);
    if (late == ps(0)) {
      t += hit_time;
      answer(r);
      return tlm::TLM_COMPLETED;
    }
    jobs_.push_back({this, &r});
    queue_.at(t + late, {[](void* j) {
                           auto [self, request] = *static_cast<job*>(j);
                           self->answer(*request);
                           target_socket<context_request>::respond(*request, now());
                         },
                         &jobs_.back()});
    return tlm::TLM_ACCEPTED;
  }
  ps latency_of(std::uint32_t index) const {
    const auto found = lines.find(index);
    return found == lines.end() ? ps(0) : found->second.latency;
  }
  void answer(context_request& r) {
    r.area_entries = entries;
    r.failed = r.index >= entries || failing.contains(r.index);
    if (r.failed) return;
    line& l = lines[r.index];
    ++l.pins;
    r.entry = l.bytes;
  }
  std::deque<job> jobs_;
};

}  // namespace hcasim::testing
