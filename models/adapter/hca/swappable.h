// Units that exist as a model and as RTL: one of the two is made, and its sockets are met under the same names.
//
// The knob `implementation` (tlm/rtl/registry.h) names RTL behind the shell of the unit, whatever its source. The units
// completion and dma_engine have no shell here: a replacement brings its own sockets.
#pragma once

#include <memory>
#include <string>

#include "models/adapter/completion/completion_boundary.h"
#include "models/adapter/context_cache/context_cache.h"
#include "models/adapter/context_cache/rtl/context_cache_rtl.h"
#include "models/adapter/dma_engine/dma_engine_boundary.h"
#include "models/adapter/doorbell/doorbell.h"
#include "models/adapter/doorbell/rtl/doorbell_rtl.h"
#include "models/adapter/key_check/key_check.h"
#include "models/adapter/key_check/rtl/key_check_rtl.h"
#include "models/adapter/memory_port/memory_port_config.h"
#include "models/adapter/memory_port/memory_port_rtl.h"
#include "models/adapter/page_walker/page_walker.h"
#include "models/adapter/page_walker/rtl/page_walker_rtl.h"
#include "tlm/rtl/registry.h"

namespace hcasim {

// Holds whichever was made; `pick` takes the same member of either.
template <class Model, class Rtl>
class model_or_rtl {
 public:
  // The unit that testbenches ask for statistics and signals.
  operator const unit&() const {
    return model_ ? static_cast<const unit&>(*model_) : *rtl_;
  }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const unit& as_unit() const { return *this; }

  model_or_rtl(std::unique_ptr<Model> m, std::unique_ptr<Rtl> r, const rtl_knobs& how)
      : model_(std::move(m)), rtl_(std::move(r)), how_(how) {}
  model_or_rtl(const model_or_rtl&) = delete;
  model_or_rtl& operator=(const model_or_rtl&) = delete;
  ~model_or_rtl() {
    if (rtl_) rtl::write_coverage(rtl_->design(), how_, rtl_->name());
  }

 protected:
  template <class M>
  M& pick(M Model::*of_model, M Rtl::*of_rtl) {
    return model_ ? (*model_).*of_model : (*rtl_).*of_rtl;
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Rtl> rtl_;

 private:
  const rtl_knobs how_;
};

// Their constructors throw std::invalid_argument as rtl::choose does, and as the shells do. `in`: the adapter.
class doorbell_unit : public model_or_rtl<doorbell, doorbell_rtl> {
 public:
  doorbell_unit(const sc_core::sc_object& in, const char* name, const doorbell_config& config, const clock_domain& clock);

  tlm_utils::simple_target_socket<doorbell_front, 64>& bar = front().bar;
  target_socket<doorbell_control>& control = front().control;
  initiator_socket<doorbell_ring>& send = front().send;
  initiator_socket<doorbell_ring>& receive = front().receive;
  initiator_socket<doorbell_ring>& completion = front().completion;
  initiator_socket<register_access>& command = front().command;
  initiator_socket<register_access>& msix = front().msix;
  initiator_socket<register_access>& device_memory = front().device_memory;
  initiator_socket<context_request>& qpc = front().qpc;
  initiator_socket<dma_request>& dma = front().dma;

 private:
  doorbell_front& front() { return model_ ? static_cast<doorbell_front&>(*model_) : *rtl_; }
};

class key_check_unit : public model_or_rtl<key_check, key_check_rtl> {
 public:
  key_check_unit(const sc_core::sc_object& in, const char* name, const key_check_config& config, const clock_domain& clock);
  [[nodiscard]] std::uint64_t references() const { return model_ ? model_->references() : rtl_->references(); }

  target_socket<key_request>& local = pick(&key_check::local, &key_check_rtl::local);
  target_socket<key_request>& remote = pick(&key_check::remote, &key_check_rtl::remote);
  target_socket<key_request>& control = pick(&key_check::control, &key_check_rtl::control);
  target_socket<key_request>& windows = pick(&key_check::windows, &key_check_rtl::windows);
  initiator_socket<context_request>& mrc = pick(&key_check::mrc, &key_check_rtl::mrc);
  initiator_socket<context_request>& extent = pick(&key_check::extent, &key_check_rtl::extent);
};

class context_cache_unit : public model_or_rtl<context_cache, context_cache_rtl> {
 public:
  context_cache_unit(const sc_core::sc_object& in_adapter, const char* name, const context_cache_config& config,
                     const clock_domain& clock, std::uint32_t entry_bytes, unsigned clients, const cell_protection& protection);
  [[nodiscard]] std::uint64_t pinned() const { return model_ ? model_->pinned() : rtl_->pinned(); }

  std::deque<target_socket<context_request>>& in = pick(&context_cache::in, &context_cache_rtl::in);
  initiator_socket<dma_request>& dma = pick(&context_cache::dma, &context_cache_rtl::dma);
};

class page_walker_unit : public model_or_rtl<page_walker, page_walker_rtl> {
 public:
  page_walker_unit(const sc_core::sc_object& in_adapter, const char* name, const page_walker_config& config,
                   const clock_domain& clock, unsigned clients, const cell_protection& protection);

  std::deque<target_socket<translate_request>>& in = pick(&page_walker::in, &page_walker_rtl::in);
  initiator_socket<dma_request>& dma = pick(&page_walker::dma, &page_walker_rtl::dma);
};

// Between the page walker and the DMA engine: nothing, or RTL.
class walker_dma_bridge_unit {
 public:
  walker_dma_bridge_unit(const sc_core::sc_object& in_adapter, const char* name, const memory_port_config& config,
                         const clock_domain& clock);
  ~walker_dma_bridge_unit();
  walker_dma_bridge_unit(const walker_dma_bridge_unit&) = delete;
  walker_dma_bridge_unit& operator=(const walker_dma_bridge_unit&) = delete;

  void put_between(initiator_socket<dma_request>& from, target_socket<dma_request>& to);

 private:
  std::unique_ptr<memory_port_rtl> port_;
  rtl_knobs how_;
};

class completion_unit : public completion_boundary {
 public:
  completion_unit(const sc_core::sc_object& in_adapter, const char* name, const completion_config& config,
                  const clock_domain& clock, unsigned reporters);
  operator const unit&() const { return *made; }  // NOLINT(google-explicit-constructor)
};

class dma_engine_unit : public dma_engine_boundary {
 public:
  dma_engine_unit(const sc_core::sc_object& in_adapter, const char* name, const dma_engine_config& config,
                  const clock_domain& clock, unsigned clients, std::uint16_t requester, const icm_guard& guard);
  operator const unit&() const { return *made; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const statistics& stats() const { return made->stats(); }
};

}  // namespace hcasim
