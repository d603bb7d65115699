#include "testbenches/coverification/lockstep/benches.h"

#include <string_view>

namespace hcasim::lockstep {
namespace {

struct named {
  const char* name;
  std::unique_ptr<bench> (*make)();
  const char* rtl;
};
constexpr named all[] = {{"doorbell", make_doorbell_bench, "doorbell"},
                         {"key_check", make_key_check_bench, "key_check"},
                         {"context_cache", make_context_cache_bench, "context_cache"},
                         {"qpc_cache", make_qpc_cache_bench, "context_cache"},
                         {"page_walker", make_page_walker_bench, "page_walker"}};

}  // namespace

std::vector<std::string> bench_names() {
  std::vector<std::string> names;
  for (const named& n : all) names.emplace_back(n.name);
  return names;
}

std::vector<std::string> rtl_names() {
  std::vector<std::string> names;
  for (const named& n : all) {
    if (std::string_view(n.name) == n.rtl) names.emplace_back(n.name);
  }
  return names;
}

std::string rtl_of(const std::string& bench) {
  for (const named& n : all) {
    if (bench == n.name) return n.rtl;
  }
  throw std::invalid_argument("lockstep: there is no unit '" + bench + "'");
}

std::unique_ptr<bench> make_bench(const std::string& name) {
  for (const named& n : all) {
    if (name == n.name) return n.make();
  }
  throw std::invalid_argument("lockstep: there is no unit '" + name + "'");
}

rtl::shell_options shell_of(const options& o) {
  rtl::shell_options shell;
  shell.seed = o.seed;
  shell.stall = o.how == mode::random ? o.stall : 0;
  shell.storms = o.how == mode::random && o.storms;
  if (o.limits && !shell.storms) shell.patience = o.limits->wait;
  shell.must_rest = true;
  shell.check_x = o.check_x;
  shell.steps = o.steps;
  shell.trace = vcd_of(o);
  shell.trace_from = o.vcd_from;
  return shell;
}

void set_fault(rtl::shell& shell, const options& o) {
  if (o.fault == 0) return;
  if (o.fault > shell.design().mutants())
    throw std::invalid_argument("lockstep: the design has no fault " + std::to_string(o.fault));
  shell.design().mutate(o.fault);
  shell.design().assertions(false);
}

void count_access(comparison& c, side s, const dma_request& r) {
  const bool write = r.op == dma_op::write;
  c.moved(s, r.address, write, r.data, write ? r.bytes : 0);
}

void finish_rtl(rtl::shell* shell, const options& o, report& r) {
  if (!shell) return;
  for (const rtl::stream& s : shell->streams()) {
    r.stalls += static_cast<double>(s.stalled_cycles());
    const rtl::bundle& b = shell->design().find(s.name(), s.into(), 0);
    const bool can_stall = b.into || b.ready || b.credit;
    if (o.how == mode::random && o.stall > 0 && can_stall) r.covered["stall_" + s.name()] += s.stalled_cycles();
  }
  if (!o.coverage_file.empty()) shell->design().write_coverage(o.coverage_file);  // of a covered one
}

}  // namespace hcasim::lockstep
