#include "testbenches/program/execution/variants.h"

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/execution/execute.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/execution/rtl_files.h"
#include "testbenches/program/recording/resources.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

ordered_json encode_headlines(const std::vector<headline>& list) {
  ordered_json out = ordered_json::array();
  for (const headline& h : list) out.push_back({h.name, h.value, h.unit, h.direction == aim::high, h.known_to});
  return out;
}
std::vector<headline> decode_headlines(const ordered_json& list) {
  std::vector<headline> out;
  for (const auto& h : list) {
    if (!h[1].is_number()) return {};
    out.push_back({h[0], h[1], h[2], h[3].get<bool>() ? aim::high : aim::low, h[4]});
  }
  return out;
}

variant_runs::outcome read_outcome(const piece_outcome& o) {
  const ordered_json answer = ordered_json::parse(o.message, nullptr, false);
  if (answer.is_object()) return {decode_headlines(answer["values"]), answer["why"]};
  if (o.timed_out) return {{}, fmt::format("it was stopped after {:.0f} s", o.seconds)};
  if (WIFSIGNALED(o.status)) return {{}, fmt::format("it ended by signal {}", WTERMSIG(o.status))};
  return {{}, "it ended early"};
}

// Shows the progress on a terminal, and removes it when all have ended.
void show_progress(std::size_t ended, std::size_t all) {
  if (::isatty(STDERR_FILENO) == 0) return;
  const std::string text = fmt::format("what-if: {} of {} runs", ended, all);
  std::cerr << (ended < all ? fmt::format("\r{}", text) : fmt::format("\r{:{}}\r", "", text.size())) << std::flush;
}

}  // namespace

std::vector<headline> headlines_of(const run_context& context) {
  if (!context.result().headlines().empty()) return context.result().headlines();
  return {{"simulated time", to_ns(context.measurement().measured().time), "ns", aim::low}};
}

variant_runs::variant_runs(description base, std::string testbench, platform_factory machine, std::filesystem::path scratch,
                           std::vector<settings> variants, unsigned jobs)
    : base_(std::move(base)),
      testbench_(std::move(testbench)),
      machine_(machine),
      scratch_(std::move(scratch)),
      variants_(std::move(variants)),
      pool_({.jobs = jobs}, [this](std::uint64_t id) { return in_child(id); }) {
  pool_.prepare();
}

std::string variant_runs::in_child(std::uint64_t id) const {
  const place where{"--what-if", 0, 0};
  const std::filesystem::path folder = scratch_ / fmt::format("what-if-{}", id);
  ordered_json answer{{"values", ordered_json::array()}, {"why", ""}};
  try {
    description d = base_;
    for (const auto& [path, text] : variants_[id]) d.set(path, text, where);
    std::filesystem::create_directory(folder);
    // Never deleted: taking a simulation apart costs more than ending its process.
    auto& run = *new prepared_run(testbench_, where, machine_);
    run.apply(d);
    write_no_rtl_files(run.tree());
    auto& context = *new run_context(run.machine(), run.seed(), folder);
    run_guarded(run.bench(), context);
    context.measurement().finish(now());
    if (context.result().passed()) {
      answer["values"] = encode_headlines(headlines_of(context));
    } else {
      answer["why"] = context.result().failures().front();
    }
  } catch (const input_error& e) {
    answer["why"] = e.what();
  }
  std::error_code left;
  std::filesystem::remove_all(folder, left);
  return answer.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::vector<variant_runs::outcome> variant_runs::run(const std::vector<std::size_t>& which, std::chrono::milliseconds limit) {
  std::vector<outcome> out(which.size());
  std::size_t begun = 0;
  pool_.time_limit(limit);
  pool_.next = [&]() -> std::optional<std::uint64_t> {
    if (begun == which.size()) return std::nullopt;
    return which[begun++];
  };
  std::size_t ended = 0;
  pool_.done = [&](const piece_outcome& o) {
    show_progress(++ended, which.size());
    for (std::size_t i = 0; i < which.size(); ++i) {
      if (which[i] == o.id) out[i] = read_outcome(o);
    }
  };
  pool_.run();
  return out;
}

}  // namespace hcasim
