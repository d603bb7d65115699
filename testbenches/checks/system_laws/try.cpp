#include <fmt/format.h>
#include <chrono>
#include <iostream>
#include "testbenches/checks/system_laws/workloads.h"
using namespace hcasim::metamorphic;
int sc_main(int argc, char** argv) {
  std::vector<experiment> list;
  std::vector<setting> settings;
  std::string only;
  std::uint64_t messages = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto eq = a.find('=');
    if (eq == std::string::npos) {
      only = a;
      continue;
    }
    if (a.starts_with("messages=")) {
      messages = std::stoull(a.substr(eq + 1));
    } else {
      settings.push_back({a.substr(0, eq), a.substr(eq + 1)});
    }
  }
  const auto longer = [&messages](setup& s) {
    if (messages != 0) s.traffic.messages = messages;
  };
  for (const workload& w : workloads()) {
    if (!only.empty() && only != w.name) continue;
    const auto begin = std::chrono::steady_clock::now();
    const auto o = run_all({{.of = &w, .settings = settings, .adjust = longer, .with_counts = !only.empty()}});
    const double ms = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 1e3;
    std::string busy;
    std::vector<std::pair<double, std::string>> b;
    for (const auto& [n, v] : o[0].busy) b.emplace_back(-v, n);
    std::sort(b.begin(), b.end());
    for (std::size_t i = 0; i < 3 && i < b.size(); ++i) busy += fmt::format(" {} {:.2f}", b[i].second, -b[i].first);
    std::cout << fmt::format("{:18} {:9.4f} M/s {:6.0f} ms {:8.1f} us {}{}{}\n", w.name, o[0].rate / 1e6, ms, o[0].middle * 1e6,
                             busy, o[0].refused, o[0].problem);
    for (const auto& l : o[0].left_over) std::cout << "    " << l << "\n";
    if (!only.empty())
      for (const auto& [n, v] : o[0].counts)
        if (v != 0) std::cout << "  " << n << " " << v << "\n";
  }
  return 0;
}
