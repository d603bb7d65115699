#include "testbenches/scenarios/dma_bench.h"

#include <array>
#include <deque>
#include <vector>

#include "testbenches/scenarios/dma_machine.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t cache_line = 64;

// Issues commands, each worker one after the other.
class dma_issuer : public unit {
 public:
  initiator_socket<dma_request> out{"out"};
  sc_core::sc_event done;

  dma_issuer(const sc_core::sc_module_name& n, const dma_bench_options& o, std::uint64_t seed)
      : unit(n), o_(o), random_(seed, "dma_bench"), bytes_(o.size) {}

  void start(std::uint64_t base) {
    base_ = base;
    running_ = o_.outstanding;
    for (std::uint32_t i = 0; i < o_.outstanding; ++i) worker(workers_.emplace_back());
  }
  [[nodiscard]] bool refused() const { return refused_; }
  [[nodiscard]] double mean_latency() const { return latency_ / o_.commands; }
  [[nodiscard]] double goodput() const {
    return 8.0 * static_cast<double>(o_.size) * (o_.commands - 1) / to_seconds(last_ - first_);
  }

 private:
  struct command {
    dma_request first;
    dma_request second;
    bool written = true;  // the first of a pair has been answered
  };

  [[nodiscard]] std::uint64_t place() {
    const std::uint64_t slot = align_up(o_.size, cache_line);
    const std::uint64_t slots = std::max<std::uint64_t>(o_.window / slot, 1);
    return base_ + (o_.random ? random_.below(slots) : issued_ % slots) * slot;
  }
  void fill(dma_request& r, dma_op op, std::uint64_t address) {
    r.op = op;
    r.bytes = static_cast<std::uint32_t>(o_.size);
    r.address = address;
    r.data = bytes_.data();
    r.failed = false;
  }
  void begin_write(command& c) {
    c.written = false;
    c.first.context = &c;
    c.first.on_response = [](void* self, transaction&, ps) { static_cast<command*>(self)->written = true; };
    ps t = now();
    if (out.send(c.first, t) == tlm::TLM_COMPLETED) c.written = true;
  }
  // The read of a pair is issued with its write, which PCIe keeps in front.
  process worker(command& c) {
    const std::uint64_t all = std::uint64_t{o_.warm_up} + o_.commands;
    while (issued_ < all) {
      const std::uint64_t address = place();
      const bool counts = issued_++ >= o_.warm_up;
      const ps begin = now();
      ps t = begin;
      const bool reads = o_.command == dma_command::read;
      fill(c.first, reads ? dma_op::read : dma_op::write, address);
      if (o_.command == dma_command::write_read) {
        fill(c.second, dma_op::read, address);
        begin_write(c);
        co_await out.request(c.second, t);
        refused_ = refused_ || c.second.failed;
      } else {
        co_await out.request(c.first, t);
        refused_ = refused_ || c.first.failed;
      }
      if (counts) count(begin, t);
      if (o_.outstanding == 1) co_await queue_.until(t + 100_ns);
      while (!c.written) co_await queue_.until(now() + 10_ns);
    }
    if (--running_ == 0) done.notify();
  }
  void count(ps begin, ps t) {
    if (counted_++ == 0) {
      first_ = t;
      if (o_.parts.begins) o_.parts.begins("");
    }
    last_ = std::max(last_, t);
    latency_ += to_ns(t - begin);
    if (counted_ == o_.commands && o_.parts.ends) o_.parts.ends();
  }

  dma_bench_options o_;
  random_stream random_;
  std::vector<std::byte> bytes_;
  std::deque<command> workers_;
  std::uint64_t base_ = 0;
  std::uint64_t issued_ = 0;
  std::uint64_t counted_ = 0;
  std::uint32_t running_ = 0;
  bool refused_ = false;
  double latency_ = 0;
  ps first_{0};
  ps last_{0};
};

}  // namespace

struct dma_bench::parts : dma_machine {
  parts(const node_config& n, const dma_bench_options& options, std::uint64_t seed)
      : dma_machine(n, seed), o(options), issuer("issuer", options, seed), translated(n.iommu.enabled) {
    issuer.out.bind(dma.in[0]);
    host.run("measure", [this](cpu& c) { run(c); });
  }

  // Returns the window's address, as the adapter writes it; 0 = there is none.
  std::uint64_t open_window(cpu& c) {
    if (!translated) return physical_base;
    if (map.open(c) != 0) return 0;
    std::vector<virtual_memory::frame_run> frames;
    if (memory.pin(memory.allocate(o.window), o.window, true, frames) != 0) return 0;
    return map.map(c, frames, true);
  }

  void run(cpu& c) {
    const std::uint64_t base = open_window(c);
    if (base == 0) {
      r.problem = "the window cannot be opened: the IOMMU does not answer, or there is no memory";
      return;
    }
    c.sync();
    issuer.start(base);
    sc_core::wait(issuer.done);
    if (issuer.refused()) r.problem = "a command was refused";
    r.latency_ns = issuer.mean_latency();
    r.goodput = issuer.goodput();
    r.ok = r.problem.empty();
  }

  dma_bench_options o;
  dma_issuer issuer;
  bool translated;
  dma_bench_outcome r;
};

dma_bench::dma_bench(const system_config& config, const dma_bench_options& o, std::uint64_t seed) {
  parts_ = std::make_unique<parts>(config.nodes.front(), o, seed);
}

dma_bench::~dma_bench() = default;

const dma_bench_outcome& dma_bench::outcome() const {
  if (!parts_->r.ok && parts_->r.problem.empty()) parts_->r.problem = "the commands did not come to their end";
  return parts_->r;
}

}  // namespace hcasim::kit
