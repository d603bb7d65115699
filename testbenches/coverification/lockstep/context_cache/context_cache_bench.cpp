#include <string>

#include "models/adapter/context_cache/context_cache.h"
#include "models/adapter/context_cache/rtl/context_cache_rtl.h"
#include "rtl/context_cache_covered.h"
#include "rtl/context_cache_design.h"
#include "rtl/context_cache_faulty.h"
#include "rtl/qpc_cache_design.h"
#include "rtl/qpc_cache_faulty.h"
#include "testbenches/coverification/lockstep/bench_of.h"
#include "testbenches/coverification/lockstep/context_cache/context_cache_entries.h"
#include "testbenches/coverification/lockstep/context_cache/context_cache_issuer.h"
#include "testbenches/coverification/lockstep/stall_adaptor.h"

namespace hcasim::lockstep {
namespace {

template <std::uint32_t entry_bytes>
class issuer_of final : public context_issuer {
 public:
  issuer_of(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
            comparison& c, side s)
      : context_issuer(name, stream, o, clock, c, s, entry_bytes) {}
};

// Entries of one size.
template <std::uint32_t entry_bytes>
class context_cache_bench final : public bench_of<context_cache, context_cache_rtl, issuer_of<entry_bytes>> {
  using surroundings = issuer_of<entry_bytes>;

 public:
  context_cache_bench(const char* name, rtl::design_factory plain, rtl::design_factory faulty, rtl::design_factory covered)
      : context_cache_bench::bench_of(name, plain, faulty, covered) {}
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_contexts(o, entry_bytes); }
  void declare(coverage& c) const override {
    for (const char* p : context_issuer::names) c[p] = 0;
    for (const char* p : {"failed_beyond", "failed_read", "reads", "writes", "drop_that_waited"}) c[p] = 0;
  }

 private:
  void describe(const item_stream&, comparison& c) override {
    c.describe = [this](std::uint64_t number, const comparison::answer& a) { return entries_.describe(number, a); };
  }
  std::unique_ptr<context_cache> make_model(const char* name, const options& o) override {
    if (o.rtl) listen(model_side);
    return std::make_unique<context_cache>(name, context_cache_config(), this->clock(), entry_bytes, 1);
  }
  std::unique_ptr<context_cache_rtl> make_rtl(const char* name, const options& o, rtl::design_factory design,
                                              const rtl::shell_options& shell) override {
    if (o.model) listen(rtl_side);
    return std::make_unique<context_cache_rtl>(name, context_cache_config(), this->clock(), 1, design, shell, entry_bytes);
  }
  void join_by_stalls(surroundings& i, context_cache& m, const rtl::shell_options& shell) override {
    requests_ = std::make_unique<stall_adaptor<context_request>>("requests", 1, this->clock(), shell, "req", "rsp", "rel");
    transfers_ = std::make_unique<stall_adaptor<dma_request>>("transfers", 1, this->clock(), shell, "rd_req", "rd_rsp", "",
                                                              [](const dma_request& r) { return rtl::of_address(r.address); });
    transfers_->split("wr_req", "wr_rsp", shell, [](const dma_request& d) { return d.op == dma_op::write; });
    i.out.bind(requests_->in[0]);
    requests_->out[0].bind(m.in[0]);
    m.dma.bind(transfers_->in[0]);
    transfers_->out[0].bind(i.memory.in);
  }
  void join(surroundings& i, context_cache_rtl& r) override {
    i.out.bind(r.in[0]);
    r.dma.bind(i.memory.in);
  }
  // Compares the bytes of the entries when both sides run.
  void listen(side s) {
    this->around(s)->on_entry = [this, s](std::uint64_t n, const std::byte* entry) { entries_.answered(s, n, entry); };
  }

  context_entries entries_{entry_bytes};
  std::unique_ptr<stall_adaptor<context_request>> requests_;
  std::unique_ptr<stall_adaptor<dma_request>> transfers_;
};

}  // namespace

std::unique_ptr<bench> make_context_cache_bench() {
  return std::make_unique<context_cache_bench<64>>("context_cache", rtl::make_context_cache_design,
                                                   rtl::make_context_cache_faulty, rtl::make_context_cache_covered);
}
std::unique_ptr<bench> make_qpc_cache_bench() {
  return std::make_unique<context_cache_bench<256>>("qpc_cache", rtl::make_qpc_cache_design, rtl::make_qpc_cache_faulty,
                                                    nullptr);
}

}  // namespace hcasim::lockstep
