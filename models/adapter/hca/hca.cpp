#include "models/adapter/hca/hca.h"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <string_view>

#define HCASIM_UNIT_HEADERS
#include "models/adapter/hca/netlist.def"
#undef HCASIM_UNIT_HEADERS

namespace hcasim {
namespace {

// Sockets that are shared by clients, once for each of them.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): a row is both a name and a binding
constexpr std::string_view shared[] = {
#define HCASIM_NET(initiator, target)
#define HCASIM_CLIENT(initiator, targets) #targets,
#define HCASIM_BRIDGED(initiator, bridge, targets) #targets,
#define HCASIM_OPTIONAL(unit, initiator, target)
#include "models/adapter/hca/netlist.def"
};
// NOLINTEND(cppcoreguidelines-macro-usage)

// Returns how many clients the netlist gives to a shared unit.
consteval unsigned clients(std::string_view targets) {
  const auto found = std::ranges::count(shared, targets);
  if (found == 0) throw std::invalid_argument("no row of the netlist");
  return static_cast<unsigned>(found);
}

port_addresses ports_of(const hca_config& c) {
  return port_addresses(static_cast<std::uint16_t>(c.port.lid),
                        c.port.count > 1 ? static_cast<std::uint16_t>(c.port.second_lid) : std::uint16_t{0});
}

unsigned mtu_shift_of(const hca_config& c) {
  if (!std::has_single_bit(c.port.mtu)) throw std::invalid_argument("hca.port.mtu: must be a power of two, 256 B to 4 KiB");
  return static_cast<unsigned>(std::countr_zero(c.port.mtu));
}

cell_protection cells_of(const hca_config& c, icm_entry kind) {
  return {c.icm.check, kind, mtu_shift_of(c)};
}

}  // namespace

fw_limits hca::limits_of(const hca_config& config) {
  const command_unit_config& c = config.command_unit;
  fw_limits l{};
  l.log_qps = static_cast<std::uint8_t>(c.log_qps);
  l.log_cqs = static_cast<std::uint8_t>(c.log_cqs);
  l.log_mrs = static_cast<std::uint8_t>(c.log_mrs);
  l.max_levels = static_cast<std::uint8_t>(c.max_levels);
  l.queue_levels = static_cast<std::uint8_t>(c.queue_levels);
  l.page_shifts = 1U << 12 | (c.pages_64k ? 1U << 16 : 0) | (c.pages_2m ? 1U << 21 : 0) | (c.pages_1g ? 1U << 30 : 0);
  l.max_read_depth = c.max_read_depth;
  l.max_inline = c.max_inline;
  l.max_sge = c.max_sge;
  l.blueflame_bytes = static_cast<std::uint32_t>(config.doorbell.blueflame_max);
  const port_addresses ports = ports_of(config);
  l.lid = ports.lid(0);
  l.second_lid = ports.count() > 1 ? ports.lid(1) : std::uint16_t{0};
  l.mtu_shift = static_cast<std::uint8_t>(mtu_shift_of(config));
  l.max_eqs = config.completion.event_queues;
  l.max_spaces = c.max_spaces;
  l.max_segments = c.max_segments;
  l.max_extent_lines = c.max_segments;
  l.max_table_bytes = c.table_bytes;
  l.functions = c.functions;
  l.device_memory = static_cast<std::uint32_t>(config.device_memory.size & ~std::uint64_t{4095});
  l.flags = (config.key_check.window_type2 == window_association::qp ? std::uint32_t{FW_WINDOWS_2A} : 0U) |
            (config.key_check.orphan_windows ? std::uint32_t{FW_ORPHAN_WINDOWS} : 0U) |
            (c.tag_memory ? 0U : std::uint32_t{FW_NO_TAG_MEMORY}) | (c.on_demand ? std::uint32_t{FW_ON_DEMAND} : 0U) |
            (config.icm.map_sets != 0 ? std::uint32_t{FW_ICM_MAP} : 0U) |
            (c.key_byte == key_byte_policy::random ? std::uint32_t{FW_RANDOM_KEY_BYTES} : 0U);
  l.key_seed = c.key_seed;
  return l;
}

hca::hca(const sc_core::sc_module_name& name, const hca_config& config, packet_pool& packets)
    : sc_module(name),
      clock_(config.clock),
      doorbell(*this, "doorbell", config.doorbell, clock_),
      send_queue("send_queue", config.send_queue, clock_),
      requester("requester", config.requester, clock_, packets, ports_of(config), config.processing_units.units != 0),
      responder("responder", config.responder, clock_, packets, ports_of(config), config.processing_units.units != 0),
      key_check(*this, "key_check", config.key_check, clock_),
      window_unit("window_unit", config.window_unit, clock_, config.key_check.window_type2),
      page_walker(*this, "page_walker", config.page_walker, clock_, clients("page_walker.in"),
                  cells_of(config, icm_entry::pte)),
      walker_dma_bridge(config.walker_dma_bridge.implementation.name == "none"
                            ? nullptr
                            : std::make_unique<memory_port_unit>(*this, "walker_dma_bridge", config.walker_dma_bridge, clock_)),
      dma_engine(*this, "dma_engine", config.dma_engine, clock_, clients("dma_engine.in"), config.requester_id,
                 icm_guard(config.icm, mtu_shift_of(config))),
      device_memory("device_memory", config.device_memory, clock_),
      completion(*this, "completion", config.completion, clock_, clients("completion.reports")),
      command_unit("command_unit", config.command_unit, limits_of(config)),
      port("port", config.port, 0, clock_, clients("port.egress"), packets),
      qpc_cache(*this, "qpc_cache", config.qpc_cache, clock_, std::uint32_t{sizeof(hca_qpc)}, clients("qpc_cache.in"),
                cells_of(config, icm_entry::qpc)),
      cqc_cache(*this, "cqc_cache", config.cqc_cache, clock_, std::uint32_t{sizeof(hca_cqc)}, clients("cqc_cache.in"),
                cells_of(config, icm_entry::cqc)),
      mrc_cache(*this, "mrc_cache", config.mrc_cache, clock_, std::uint32_t{sizeof(hca_mrc)}, clients("mrc_cache.in"),
                cells_of(config, icm_entry::mrc)),
      extent_cache(*this, "extent_cache", config.extent_cache, clock_, std::uint32_t{sizeof(hca_extent) * HCA_EXTENTS_PER_LINE},
                   clients("extent_cache.in"), cells_of(config, icm_entry::extent)) {
  if (config.atc.enabled) atc = &add<hcasim::atc>("atc", config.atc, clock_, config.requester_id, config.icm.check);
  if (config.processing_units.units != 0) {
    processing_units = &add<hcasim::processing_units>("processing_units", config.processing_units, clock_);
  }
  if (requester.egress.size() > 1) {
    port2 = &add<hcasim::port>("port2", config.port, 1U, clock_, clients("port.egress"), packets);
  }
  if (config.icm.map_sets != 0 && config.dma_engine.implementation.name != "model") {
    throw std::invalid_argument("hca.icm.map_sets: the DMA engine's model alone has a map of ICM; set it to 0");
  }
  command_unit.on_rest([this] { light_ports(); });
  std::map<const void*, std::size_t> taken;
  const auto next = [&taken](auto& targets) -> auto& {
    return targets.at(taken[&targets]++);
  };
  const auto bridged = [](auto& initiator, auto& bridge, auto& target) {
    if (!bridge) return initiator.bind(target);
    initiator.bind(bridge->in);
    bridge->dma.bind(target);
  };
// NOLINTBEGIN(cppcoreguidelines-macro-usage): a row is both a name and a binding
#define HCASIM_NET(initiator, target) (initiator).bind(target);
#define HCASIM_CLIENT(initiator, targets) (initiator).bind(next(targets));
#define HCASIM_BRIDGED(initiator, bridge, targets) bridged(initiator, bridge, next(targets));
#define HCASIM_OPTIONAL(unit, initiator, target) \
  if (unit) (initiator).bind(target);
#include "models/adapter/hca/netlist.def"
  // NOLINTEND(cppcoreguidelines-macro-usage)
}

void hca::reset() {
  if (atc) atc->reset();
  command_unit.reset();
}

void hca::power(bool on) {
  powered_ = on;
  light_ports();
}

void hca::light_ports() {
  for (unsigned i = 0; i < ports(); ++i) {
    if (!powered_ || command_unit.at_rest()) port_at(i).power(powered_);
  }
}

}  // namespace hcasim
