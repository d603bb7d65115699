#include "models/driver/usage.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/program/execution/testbench.h"

namespace hcasim {
namespace {

using namespace kit;

struct offer {
  address qp;
  std::uint64_t addr;
  std::uint32_t rkey;
};

struct barrier_state {
  out_of_band<address> to_target;
  out_of_band<offer> to_writer;
  out_of_band<int> done;
  std::uint64_t size = 0;
  ps without{0};  // from the post to the last completion
  ps with{0};
  double held = 0;  // times that the send queue kept a request back
  bool ok = false;
  hca_usage usage{};
};

// A large WRITE and a small one, with a BARRIER between them or without; 0 = a completion was not the expected one.
ps write_twice(process_context& p, ibv_qp* qp, const region& from, const offer& to, std::uint64_t size, bool barrier) {
  const ps begin = p.c.time();
  const auto write = [&](std::uint64_t id, std::uint64_t bytes) {
    return post(p.c, qp,
                {.id = id,
                 .sges = {{from.addr, static_cast<std::uint32_t>(bytes), from.mr->lkey}},
                 .remote = to.addr,
                 .rkey = to.rkey});
  };
  bool ok = write(1, size) == 0 && (!barrier || post(p.c, qp, {.opcode = IBV_WR_BARRIER, .id = 2}) == 0) && write(3, 8) == 0;
  for (const std::uint64_t id : {1, 2, 3}) {
    if (id == 2 && !barrier) continue;
    const auto wc = next_completion(p.c, p.cq);
    ok = ok && wc && wc->status == IBV_WC_SUCCESS && wc->wr_id == id;
    ok = ok && wc->opcode == (id == 2 ? IBV_WC_BARRIER : IBV_WC_RDMA_WRITE);
  }
  return ok ? p.c.time() - begin : 0_ps;
}

void writer(barrier_state& s, cpu& c, node& n) {
  process_context p(c, n);
  ibv_qp* qp = p.create_qp();
  s.to_target.send(c, p.address_of(qp));
  const offer to = s.to_writer.receive(c);
  if (p.connect(qp, to.qp) != 0) return;
  const region from = p.allocate(s.size);
  s.ok = write_twice(p, qp, from, to, s.size, false) != 0_ps;  // everything is cached from here on
  s.without = write_twice(p, qp, from, to, s.size, false);
  const double before = statistic_of(n.hca.send_queue, "local_fence_stalls");
  s.with = write_twice(p, qp, from, to, s.size, true);
  s.held = statistic_of(n.hca.send_queue, "local_fence_stalls") - before;
  s.ok = s.ok && hcax_query_usage(c, p.context, &s.usage) == 0;
  s.ok = s.ok && post(c, qp, {.opcode = IBV_WR_BARRIER, .sges = {{from.addr, 8, from.mr->lkey}}}) == EINVAL;
  s.done.send(c, 1);
}

void target(barrier_state& s, cpu& c, node& n) {
  process_context p(c, n);
  ibv_qp* qp = p.create_qp();
  const region there = p.allocate(s.size);
  if (p.connect(qp, s.to_target.receive(c)) != 0) return;
  s.to_writer.send(c, {p.address_of(qp), there.addr, there.mr->rkey});
  s.done.receive(c);
}

class barrier final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "barrier"; }
  [[nodiscard]] std::string_view summary() const override { return "a large and a small WRITE, with a BARRIER between them"; }
  void knobs(knob_visitor& k) override { k.bytes("size", size_, 8, 1 << 30, "of the large WRITE"); }
  void run(run_context& context) override {
    hcasim::system& system = context.build();
    auto& s = context.make<barrier_state>();
    s.size = size_;
    start_program(system, 0, "writer", [&s](cpu& c, node& n) { writer(s, c, n); });
    start_program(system, 1, "target", [&s](cpu& c, node& n) { target(s, c, n); });
    context.start();
    context.check(s.ok, "a call failed, or a barrier with data was taken");
    context.check(s.without != 0_ps && s.with != 0_ps, "a completion was not the expected one");
    context.check(s.with > s.without, "the barrier held nothing back");
    context.check(s.held > 0, "the send queue did not wait at the barrier");
    context.check(s.usage.qps == 1 && s.usage.keys == 1, "the adapter's count of what is in use is wrong");
    context.result().headline("without", to_ns(s.without), "ns", aim::low, "both WRITEs, one behind the other");
    context.result().headline("with", to_ns(s.with), "ns", aim::low, "the small one held back by a BARRIER");
  }

 private:
  std::uint64_t size_ = 64_KiB;
};

const testbench_registration<barrier> registers_barrier;

}  // namespace
}  // namespace hcasim
