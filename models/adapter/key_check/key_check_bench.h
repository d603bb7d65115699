// A bench around a key check: MRCs, extents and requesters.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/adapter/key_check/key_check.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

// Stands for a context cache: entries by index, each with its own latency; 0 answers in the call after 2 ns.
class key_check_store : public unit {
 public:
  target_socket<context_request> in{"in"};
  struct line {
    alignas(64) std::byte bytes[64]{};
    ps latency{0};
    int pins = 0;
  };
  std::map<std::uint32_t, line> lines;
  std::set<std::uint32_t> failing;
  std::uint32_t entries = 1 << 20;
  unsigned fetches = 0;

  explicit key_check_store(const sc_core::sc_module_name& n) : unit(n) { in.on<&key_check_store::handle>(this); }

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
    key_check_store* self;
    context_request* r;
  };
  tlm::tlm_sync_enum handle(context_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) {
      --lines[r.index].pins;
      return tlm::TLM_COMPLETED;
    }
    ++fetches;
    const auto found = lines.find(r.index);
    const ps latency = found == lines.end() ? 0_ps : found->second.latency;
    if (latency == 0_ps) {
      t += 2_ns;
      answer(r);
      return tlm::TLM_COMPLETED;
    }
    jobs_.push_back({this, &r});
    queue_.at(t + latency, {[](void* j) {
                              auto [self, request] = *static_cast<job*>(j);
                              self->answer(*request);
                              target_socket<context_request>::respond(*request, now());
                            },
                            &jobs_.back()});
    return tlm::TLM_ACCEPTED;
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

struct key_check_bench {
  clock_domain clock{frequency{1e9}};
  key_check unit_under_test;
  key_check_store mrcs{"mrcs"};
  key_check_store extents{"extents"};
  fake_initiator<key_request> local{"local"};
  fake_initiator<key_request> remote{"remote"};
  fake_initiator<key_request> control{"control"};
  fake_initiator<key_request> windows{"windows"};
  std::deque<key_request> requests;

  explicit key_check_bench(const key_check_config& c = {}) : unit_under_test("key_check", c, clock) {
    local.out.bind(unit_under_test.local);
    remote.out.bind(unit_under_test.remote);
    control.out.bind(unit_under_test.control);
    windows.out.bind(unit_under_test.windows);
    unit_under_test.mrc.bind(mrcs.in);
    unit_under_test.extent.bind(extents.in);
    for (std::uint32_t i : {5U, 6U, 7U}) region(i);
    run_for(1_ns);
  }
  hca_mrc& region(std::uint32_t index) {
    hca_mrc& m = mrcs.at<hca_mrc>(index);
    m = {};
    m.kind = HCA_MRC_REGION;
    m.state = HCA_MRC_VALID;
    m.key_byte = 1;
    m.page_shift = 21;
    m.levels = 2;
    m.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_WRITE;
    m.pd = 3;
    m.qpn = HCA_QPN_ANY;
    m.start = 0x10000;
    m.length = 0x1000;
    m.table = 0xabc000 + index * 64;
    m.table_va = 0xf000;
    return m;
  }
  key_request& check(std::uint32_t index, ps at, bool is_remote = true) {
    key_request& r = requests.emplace_back();
    r.key = hca_key_make(index, 1);
    r.remote = is_remote;
    r.rights = is_remote ? HCA_ACCESS_REMOTE_READ : 0;
    r.pd = 3;
    r.qpn = 9;
    r.va = 0x10000;
    r.length = 0x1000;
    (is_remote ? remote : local).send(r, at);
    return r;
  }
  key_request& drain(std::uint32_t index, ps at) {
    key_request& r = requests.emplace_back();
    r.op = key_op::drain;
    r.key = hca_key_make(index, 0);
    control.send(r, at);
    return r;
  }
  void release(key_request& r) { (r.remote ? remote : local).out.release(r); }
  ps answered(const key_request& r) const { return std::min({local.answered(r), remote.answered(r), control.answered(r)}); }
  double count(std::string_view name) const { return value_of(unit_under_test, name); }
};

}  // namespace hcasim::testing
