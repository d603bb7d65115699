// A bench around a key check: MRCs, extents and requesters.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "models/adapter/key_check/key_check.h"
#include "tlm/testing/context_store.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

struct key_check_bench {
  clock_domain clock{frequency{1e9}};
  key_check unit_under_test;
  context_store mrcs{"mrcs"};
  context_store extents{"extents"};
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
    mrcs.hit_time = extents.hit_time = 2_ns;
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
