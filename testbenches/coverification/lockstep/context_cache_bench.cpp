#include <optional>
#include <string>

#include "models/adapter/context_cache/context_cache.h"
#include "models/adapter/context_cache/rtl/context_cache_rtl.h"
#include "rtl/context_cache_design.h"
#include "rtl/context_cache_faulty.h"
#include "rtl/qpc_cache_design.h"
#include "rtl/qpc_cache_faulty.h"
#include "testbenches/coverification/lockstep/benches.h"
#include "testbenches/coverification/lockstep/context_cache_entries.h"
#include "testbenches/coverification/lockstep/context_cache_issuer.h"
#include "testbenches/coverification/lockstep/stall_adaptor.h"

namespace hcasim::lockstep {
namespace {

// The RTL with entries of one size.
struct context_form {
  const char* name;
  std::uint32_t entry_bytes;
  rtl::design_factory plain;
  rtl::design_factory faulty;
};

class context_cache_bench final : public bench {
 public:
  explicit context_cache_bench(const context_form& form) : form_(form) {}
  [[nodiscard]] const char* name() const override { return form_.name; }
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_contexts(o, form_.entry_bytes); }
  [[nodiscard]] unsigned faults() const override { return form_.faulty(0)->mutants(); }
  void declare(coverage& c) const override {
    for (const char* p : context_issuer::names) c[p] = 0;
    for (const char* p : {"failed_beyond", "failed_read", "reads", "writes", "drop_that_waited"}) c[p] = 0;
  }
  void elaborate(const item_stream& stream, const options& o, comparison& c) override {
    const clock_domain clock(frequency{400e6});
    const context_cache_config config;
    entries_.emplace(form_.entry_bytes);
    c.describe = [this](std::uint64_t number, const comparison::answer& a) { return entries_->describe(number, a); };
    rtl::shell_options shell = shell_of(o);
    if (o.model) {
      model_memory_ = std::make_unique<context_memory>("model_memory", o, clock, form_.entry_bytes);
      model_memory_->on_access = [&c, this](const dma_request& r) {
        count_access(c, model_side, r);
        model_issuer_->accessed(r);
      };
      model_issuer_ = std::make_unique<context_issuer>("model_issuer", stream, o, clock, c, model_side, *model_memory_);
      listen(*model_issuer_, o, model_side);
      shell.progress = &model_issuer_->progress();
      model_ = std::make_unique<context_cache>("model", config, clock, form_.entry_bytes, 1);
      requests_ = std::make_unique<stall_adaptor<context_request>>("requests", 1, clock, shell, "req", "rsp", "rel");
      transfers_ =
          std::make_unique<stall_adaptor<dma_request>>("transfers", 1, clock, shell, "rd_req", "rd_rsp", "",
                                                       [](const dma_request& r) { return rtl::of_address(r.address); });
      transfers_->split("wr_req", "wr_rsp", shell, [](const dma_request& d) { return d.op == dma_op::write; });
      model_issuer_->out.bind(requests_->in[0]);
      requests_->out[0].bind(model_->in[0]);
      model_->dma.bind(transfers_->in[0]);
      transfers_->out[0].bind(model_memory_->in);
    }
    if (o.rtl) {
      rtl_memory_ = std::make_unique<context_memory>("rtl_memory", o, clock, form_.entry_bytes);
      rtl_memory_->on_access = [&c, this](const dma_request& r) {
        count_access(c, rtl_side, r);
        rtl_issuer_->accessed(r);
      };
      rtl_issuer_ = std::make_unique<context_issuer>("rtl_issuer", stream, o, clock, c, rtl_side, *rtl_memory_);
      listen(*rtl_issuer_, o, rtl_side);
      shell.progress = &rtl_issuer_->progress();
      rtl_ = std::make_unique<context_cache_rtl>("rtl", config, clock, 1, design_of(o, form_.plain, form_.faulty), shell,
                                                 form_.entry_bytes);
      set_fault(*rtl_, o);
      rtl_->on_violation = [&c](const std::string& what) { c.broke(what); };
      rtl_issuer_->out.bind(rtl_->in[0]);
      rtl_->dma.bind(rtl_memory_->in);
    }
  }
  [[nodiscard]] std::array<const unit*, sides> units() const override { return {model_.get(), rtl_.get()}; }
  void finish(const options& o, report& r) override {
    if (rtl_issuer_) rtl_issuer_->publish(r.covered);
    finish_rtl(rtl_.get(), o, r);
  }

 private:
  void listen(context_issuer& i, const options& o, side s) {
    if (o.model && o.rtl) i.on_entry = [this, s](std::uint64_t n, const std::byte* entry) { entries_->answered(s, n, entry); };
  }

  const context_form form_;
  std::optional<context_entries> entries_;
  std::unique_ptr<context_memory> model_memory_, rtl_memory_;
  std::unique_ptr<context_issuer> model_issuer_, rtl_issuer_;
  std::unique_ptr<context_cache> model_;
  std::unique_ptr<context_cache_rtl> rtl_;
  std::unique_ptr<stall_adaptor<context_request>> requests_;
  std::unique_ptr<stall_adaptor<dma_request>> transfers_;
};

}  // namespace

std::unique_ptr<bench> make_context_cache_bench() {
  return std::make_unique<context_cache_bench>(
      context_form{"context_cache", 64, rtl::make_context_cache_design, rtl::make_context_cache_faulty});
}
std::unique_ptr<bench> make_qpc_cache_bench() {
  return std::make_unique<context_cache_bench>(
      context_form{"qpc_cache", 256, rtl::make_qpc_cache_design, rtl::make_qpc_cache_faulty});
}

}  // namespace hcasim::lockstep
