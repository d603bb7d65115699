#include "testbenches/checks/system_laws/traffic.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "testbenches/kit/world.h"
#include "testbenches/traffic/engine.h"

namespace hcasim::metamorphic {
namespace {

std::size_t middle_begin(std::size_t messages) {
  return messages * 3 / 10;
}
std::size_t middle_end(std::size_t messages) {
  return messages * 3 / 4;
}

std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

// The messages of one QP.
class named_messages final : public traffic::producer {
 public:
  named_messages(const traffic_options& o, std::uint64_t qp)
      : o_(o), qp_(qp), limit_(o.messages / o.qps + (qp < o.messages % o.qps ? 1 : 0)) {}

  bool next(traffic::message& m) override {
    if (number_ == limit_) return false;
    m.operation = o_.mix[(number_ + qp_) % o_.mix.size()];
    m.size = is_sized(m.operation) ? static_cast<std::uint32_t>(o_.bytes) : own_bytes(m.operation);
    const std::uint64_t name = number_++ * o_.qps + qp_;
    m.region = static_cast<std::uint32_t>((o_.anywhere ? mixed(name + 1) : name) % o_.regions);
    m.offset = o_.page_by_page ? name * 4096 % o_.region_bytes()
                               : (o_.anywhere ? mixed(name + 7) : qp_) % (o_.region / std::max(m.size, 1U)) * m.size;
    return true;
  }

 private:
  const traffic_options& o_;
  std::uint64_t qp_;
  std::uint64_t limit_;
  std::uint64_t number_ = 0;
};

traffic::plan plan_of(const hcasim::system& s, const traffic_options& o) {
  traffic::plan p;
  p.hosts = s.nodes();
  for (const node_config& n : s.config().nodes) p.gpus.push_back(n.peer.empty() ? std::nullopt : std::optional<std::size_t>(0));
  p.measure = never;
  p.grid = o.grid;
  p.reversed = o.renumbered;
  for (const flow& f : o.flows) {
    traffic::planned_flow& planned = p.flows.emplace_back();
    planned.options = o;
    for (const op what : o.mix) planned.options.weights[static_cast<std::size_t>(what)] = 1;
    // Addresses decide whether counters share a lock, so the counters of one region lie in contiguous pages.
    if (o.has(op::fetch_add)) planned.options.page = 2_MiB;
    planned.options.region = o.region_bytes();
    // Staggered begins: among equals, chance would decide who is first.
    planned.options.start = ps(o.grid.count() / 10'000'000 * static_cast<std::int64_t>(p.flows.size() - 1));
    planned.name = "flow" + std::to_string(p.flows.size());
    planned.pairs = {{f.from, f.to}};
    planned.longest = o.bytes;
  }
  return p;
}

class watched_traffic final : public traffic::companion {
 public:
  watched_traffic(hcasim::system& s, const traffic_options& o, const std::function<void(ps)>& measuring)
      : o_(o),
        total_(o.messages * o.flows.size()),
        measuring_(measuring),
        engine_(s, plan_of(s, o), 1, {[this](const std::string&) { measuring_(now()); }, {}}) {
    engine_.accompany(*this);
    result_.completions.reserve(total_);
  }

  traffic_result run() {
    engine_.start();
    run_simulation();
    for (const traffic::flow_record& r : engine_.records()) problem(r.failure());
    if (!engine_.finished()) problem("the run came to a stand: nothing is left to happen");
    return std::move(result_);
  }

 private:
  void problem(const std::string& text) {
    if (result_.problem.empty()) result_.problem = text;
  }

  void opened(std::size_t /*host*/, kit::process_context& p) override {
    for (std::uint32_t i = 0; i < o_.idle_regions; ++i) p.allocate(4096);
    for (std::uint32_t i = 0; i < o_.idle_windows; ++i)
      kit::made(kit::ibv_alloc_mw(p.c, p.pd, i % 2 ? kit::IBV_MW_TYPE_2 : kit::IBV_MW_TYPE_1));
    for (std::uint32_t i = 0; i < o_.idle_qps; ++i) p.create_qp();
  }

  void made(std::size_t host, kit::process_context& p) override {
    for (std::size_t f = 0; f < o_.flows.size(); ++f) {
      if (o_.flows[f].from != host) continue;
      for (const kit::region& r : engine_.buffers_of(f).at(host)) p.fill(r.addr, o_.bytes, 1);
    }
  }

  std::unique_ptr<traffic::producer> messages(std::size_t /*flow*/, std::size_t qp) override {
    return std::make_unique<named_messages>(o_, qp);
  }

  void completed(cpu& c, std::size_t flow, std::size_t qp, std::uint64_t number) override {
    const std::size_t n = result_.completions.size();
    // Another thread may complete a message while this one lets the kernel catch up.
    const bool begins = n >= middle_begin(total_) && !std::exchange(middle_begun_, true);
    const bool ends = !begins && n >= middle_end(total_) && !std::exchange(middle_ended_, true);
    if (begins || ends) {
      c.sync();
      measuring_(c.time());
    }
    result_.completions.push_back(
        {c.time() - engine_.begin(), static_cast<std::uint32_t>(flow * o_.qps + qp), static_cast<std::uint32_t>(number)});
  }

  // The measured time ends when the last answers are under way no more, and before objects are destroyed.
  void ended(std::size_t host, kit::process_context& p, traffic::flow_memory& memory) override {
    p.c.spend(o_.grid / 5000);
    p.c.sync();
    if (!std::exchange(over_, true)) measuring_(now());
    for (std::size_t f = 0; f < o_.flows.size(); ++f) {
      if (o_.flows[f].to == host) look(f, host, p, memory);
    }
  }

  void closed(std::size_t /*host*/, bool clean) override {
    if (!clean) problem("something was in use when the process ended");
  }
  void failed(const std::string& why) override { result_.refused = why; }

  // Adds the bytes of a flow's target to the hash.
  void look(std::size_t flow, std::size_t host, kit::process_context& p, traffic::flow_memory& memory) {
    std::uint64_t hash = 0xcbf29ce484222325ULL + flow;
    std::uint64_t counted = 0;
    const auto add = [&hash](const std::vector<std::uint8_t>& bytes) {
      for (const std::uint8_t b : bytes) hash = (hash ^ b) * 0x100000001b3ULL;
    };
    for (const kit::region& r : engine_.regions_of(flow).at(host)) {
      const auto bytes = memory.bytes(p, o_.memory, r.addr, r.length);
      for (std::size_t i = 0; o_.has(op::fetch_add) && i < bytes.size(); i += 8) {
        for (unsigned b = 0; b < 8; ++b) counted += std::uint64_t{bytes[i + b]} << (8 * b);
      }
      add(bytes);
    }
    // A GRH names the sender of the last datagram; it is no part of the message.
    const auto& receivers = engine_.receivers_of(flow);
    if (const auto r = receivers.find(host); r != receivers.end()) {
      const std::uint64_t header = o_.service == traffic::transport::ud ? HCA_GRH_BYTES : 0;
      add(memory.bytes(p, o_.memory, r->second.buffer.addr + header, o_.bytes));
    }
    result_.bytes += mixed(hash);  // independent of the order of the targets
    const bool only_adds = o_.mix.size() == 1 && o_.has(op::fetch_add);
    if (only_adds && counted != o_.messages) problem("the counters do not add up to the atomics");
  }

  const traffic_options& o_;
  std::size_t total_;
  std::function<void(ps)> measuring_;
  bool middle_begun_ = false;
  bool middle_ended_ = false;
  bool over_ = false;
  traffic::engine engine_;
  traffic_result result_;
};

}  // namespace

bool traffic_options::has(op what) const {
  return std::find(mix.begin(), mix.end(), what) != mix.end();
}

traffic_result run_traffic(hcasim::system& s, const traffic_options& o, const std::function<void(ps)>& measuring) {
  // The programs are left to the end of the host's process when the run is broken off.
  return (new watched_traffic(s, o, measuring))->run();  // NOLINT(cppcoreguidelines-owning-memory)
}

double middle_rate(const traffic_result& r) {
  std::vector<double> t;
  t.reserve(r.completions.size());
  for (const completed_message& m : r.completions) t.push_back(static_cast<double>(m.at.count()));
  std::sort(t.begin(), t.end());
  const std::size_t first = middle_begin(t.size());
  const std::size_t n = middle_end(t.size()) - first;
  if (n < 2) return 0;
  const double mean_t =
      std::accumulate(t.begin() + static_cast<std::ptrdiff_t>(first), t.begin() + static_cast<std::ptrdiff_t>(first + n), 0.0) /
      static_cast<double>(n);
  const double mean_i = static_cast<double>(n - 1) / 2;
  double both = 0;
  double square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double dt = t[first + i] - mean_t;
    both += dt * (static_cast<double>(i) - mean_i);
    square += dt * dt;
  }
  return square > 0 ? both / square * 1e12 : 0;
}

}  // namespace hcasim::metamorphic
