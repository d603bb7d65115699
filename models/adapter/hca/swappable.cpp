#include "models/adapter/hca/swappable.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "models/adapter/completion/completion.h"
#include "models/adapter/dma_engine/dma_engine.h"
#include "models/adapter/hca/completion_rtl.h"
#include "rtl/context_cache_design.h"
#include "rtl/doorbell_design.h"
#include "rtl/key_check_design.h"
#include "rtl/memory_port_design.h"
#include "rtl/page_walker_design.h"
#include "rtl/qpc_cache_design.h"

namespace hcasim {
namespace {

template <class Config>
rtl::chosen chosen_rtl(const sc_core::sc_object& in, const char* name, const char* kind, const Config& config,
                       rtl::design_factory own) {
  return rtl::choose(kind, std::string(in.name()) + "." + name, config.implementation, config.of_rtl, own,
                     rtl::knobs_of(config));
}

// The model, unless the knob asks for RTL.
template <class Model, class Config, class... More>
std::unique_ptr<Model> model_of(const sc_core::sc_object& in, const char* name, const Config& config, More&&... more) {
  if (!config.implementation.is_model()) return nullptr;
  if (config.of_rtl != rtl_knobs())
    throw std::invalid_argument(std::string(in.name()) + "." + name + ".rtl: has no effect on a model; set implementation");
  return std::make_unique<Model>(name, config, std::forward<More>(more)...);
}

template <class Rtl, class Config, class... More>
std::unique_ptr<Rtl> rtl_of(const sc_core::sc_object& in, const char* name, const char* kind, rtl::design_factory own,
                            const Config& config, More&&... more) {
  if (config.implementation.is_model()) return nullptr;
  const rtl::chosen c = chosen_rtl(in, name, kind, config, own);
  return std::make_unique<Rtl>(name, config, std::forward<More>(more)..., c.make, c.options);
}

// Its kind is its name.
template <class Config>
rtl::chosen chosen_any(const sc_core::sc_object& in, const char* name, const Config& config, rtl::design_factory own) {
  return rtl::choose_any(name, std::string(in.name()) + "." + name, config.implementation, config.of_rtl, own,
                         rtl::knobs_of(config));
}

template <class Maker>
Maker maker_of(const sc_core::sc_object& in, const char* name, const rtl::chosen& c) {
  const auto* const unit = dynamic_cast<const rtl::whole_unit_of<Maker>*>(c.whole);
  if (!unit)
    throw std::invalid_argument(std::string(in.name()) + "." + name + ".implementation: is made in another way than this unit");
  return unit->make;
}

completion_boundary completion_of(const sc_core::sc_object& in, const char* name, const completion_config& config,
                                  const clock_domain& clock, unsigned reporters) {
  if (config.implementation.is_model())
    return completion_boundary::of(model_of<completion>(in, name, config, clock, reporters));
  const rtl::chosen c = chosen_any(in, name, config, rtl::make_memory_port_design);
  if (!c.whole) return completion_rtl::make(name, config, clock, reporters, c);
  return maker_of<completion_maker>(in, name, c)(name, config, clock, reporters);
}

dma_engine_boundary dma_engine_of(const sc_core::sc_object& in, const char* name, const dma_engine_config& config,
                                  const clock_domain& clock, unsigned clients, std::uint16_t requester,
                                  const icm_guard& guard) {
  if (config.implementation.is_model())
    return dma_engine_boundary::of(model_of<dma_engine>(in, name, config, clock, clients, requester, guard));
  const rtl::chosen c = chosen_any(in, name, config, nullptr);
  if (!c.whole)
    throw std::invalid_argument(std::string(in.name()) + "." + name +
                                ".implementation: a design needs a shell, which this unit has not");
  return maker_of<dma_engine_maker>(in, name, c)(name, config, clock, clients, requester, guard);
}

// The kinds of caches differ in the width of their streams.
std::unique_ptr<context_cache_rtl> cache_of(const sc_core::sc_object& in, const char* name, const context_cache_config& config,
                                            const clock_domain& clock, std::uint32_t entry_bytes, unsigned clients) {
  if (config.implementation.is_model()) return nullptr;
  const bool of_qps = entry_bytes == context_cache_rtl::most_bytes;
  const rtl::chosen c = chosen_rtl(in, name, of_qps ? "qpc_cache" : "context_cache", config,
                                   of_qps ? rtl::make_qpc_cache_design : rtl::make_context_cache_design);
  return std::make_unique<context_cache_rtl>(name, config, clock, clients, c.make, c.options, entry_bytes);
}

}  // namespace

doorbell_unit::doorbell_unit(const sc_core::sc_object& in, const char* name, const doorbell_config& config,
                             const clock_domain& clock)
    : model_or_rtl(model_of<hcasim::doorbell>(in, name, config, clock),
                   rtl_of<doorbell_rtl>(in, name, "doorbell", rtl::make_doorbell_design, config, clock), config.of_rtl) {}

key_check_unit::key_check_unit(const sc_core::sc_object& in, const char* name, const key_check_config& config,
                               const clock_domain& clock)
    : model_or_rtl(model_of<key_check>(in, name, config, clock),
                   rtl_of<key_check_rtl>(in, name, "key_check", rtl::make_key_check_design, config, clock), config.of_rtl) {}

context_cache_unit::context_cache_unit(const sc_core::sc_object& in_adapter, const char* name,
                                       const context_cache_config& config, const clock_domain& clock, std::uint32_t entry_bytes,
                                       unsigned clients, const cell_protection& protection)
    : model_or_rtl(model_of<context_cache>(in_adapter, name, config, clock, entry_bytes, clients, protection),
                   cache_of(in_adapter, name, config, clock, entry_bytes, clients), config.of_rtl) {}

page_walker_unit::page_walker_unit(const sc_core::sc_object& in_adapter, const char* name, const page_walker_config& config,
                                   const clock_domain& clock, unsigned clients, const cell_protection& protection)
    : model_or_rtl(
          model_of<page_walker>(in_adapter, name, config, clock, clients, protection),
          rtl_of<page_walker_rtl>(in_adapter, name, "page_walker", rtl::make_page_walker_design, config, clock, clients),
          config.of_rtl) {}

walker_dma_bridge_unit::walker_dma_bridge_unit(const sc_core::sc_object& in_adapter, const char* name,
                                               const memory_port_config& config, const clock_domain& clock) {
  if (config.implementation.name == "none") return;
  const rtl::chosen c = chosen_rtl(in_adapter, name, "memory_port", config, rtl::make_memory_port_design);
  port_ = std::make_unique<memory_port_rtl>(name, clock, c.make, c.options);
  how_ = config.of_rtl;
}

walker_dma_bridge_unit::~walker_dma_bridge_unit() {
  if (port_) rtl::write_coverage(port_->design(), how_, port_->name());
}

void walker_dma_bridge_unit::put_between(initiator_socket<dma_request>& from, target_socket<dma_request>& to) {
  if (!port_) return from.bind(to);
  from.bind(port_->in);
  port_->dma.bind(to);
}

completion_unit::completion_unit(const sc_core::sc_object& in_adapter, const char* name, const completion_config& config,
                                 const clock_domain& clock, unsigned reporters)
    : completion_boundary(completion_of(in_adapter, name, config, clock, reporters)) {}

dma_engine_unit::dma_engine_unit(const sc_core::sc_object& in_adapter, const char* name, const dma_engine_config& config,
                                 const clock_domain& clock, unsigned clients, std::uint16_t requester, const icm_guard& guard)
    : dma_engine_boundary(dma_engine_of(in_adapter, name, config, clock, clients, requester, guard)) {}

}  // namespace hcasim
