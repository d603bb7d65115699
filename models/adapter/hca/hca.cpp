#include "models/adapter/hca/hca.h"

#include <bit>
#include <stdexcept>

namespace hcasim {
namespace {

// Numbers of a shared unit's target sockets, by client.
namespace dma_client {
enum : unsigned { send_queue, requester, responder, completion, doorbell, command_unit, walker, qpc, cqc, mrc, extent, count };
}
namespace qpc_client {
enum : unsigned { doorbell, send_queue, requester, responder, command_unit, window_unit, count };
}
namespace walker_client {
enum : unsigned { send_queue, requester, responder, completion, command_unit, window_unit, count };
}
namespace report_client {
enum : unsigned { requester, responder, command_unit, send_queue, count };
}
namespace port_client {
enum : unsigned { requester, responder, count };
}
namespace context_client {
enum : unsigned { user, command_unit, count };
}
namespace protection_client {  // of MRCs and extents
enum : unsigned { key_check, command_unit, window_unit, count };
}

std::uint16_t lid_of(const hca_config& c) {
  return static_cast<std::uint16_t>(c.port.lid);
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
  l.lid = lid_of(config);
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
            (c.key_byte == key_byte_policy::random ? std::uint32_t{FW_RANDOM_KEY_BYTES} : 0U);
  l.key_seed = c.key_seed;
  return l;
}

hca::hca(const sc_core::sc_module_name& name, const hca_config& config, packet_pool& packets)
    : sc_module(name),
      clock_(config.clock),
      doorbell(*this, "doorbell", config.doorbell, clock_),
      send_queue("send_queue", config.send_queue, clock_),
      requester("requester", config.requester, clock_, packets, lid_of(config), config.processing_units.units != 0),
      responder("responder", config.responder, clock_, packets, lid_of(config), config.processing_units.units != 0),
      key_check(*this, "key_check", config.key_check, clock_),
      window_unit("window_unit", config.window_unit, clock_, config.key_check.window_type2),
      page_walker(*this, "page_walker", config.page_walker, clock_, walker_client::count, cells_of(config, icm_entry::pte)),
      walker_dma_bridge(*this, "walker_dma_bridge", config.walker_dma_bridge, clock_),
      dma_engine(*this, "dma_engine", config.dma_engine, clock_, dma_client::count, HCA_REQUESTER,
                 icm_guard(config.icm, mtu_shift_of(config))),
      device_memory("device_memory", config.device_memory, clock_),
      completion(*this, "completion", config.completion, clock_, report_client::count),
      command_unit("command_unit", config.command_unit, limits_of(config)),
      port("port", config.port, clock_, port_client::count, packets),
      qpc_cache(*this, "qpc_cache", config.qpc_cache, clock_, sizeof(hca_qpc), qpc_client::count,
                cells_of(config, icm_entry::qpc)),
      cqc_cache(*this, "cqc_cache", config.cqc_cache, clock_, sizeof(hca_cqc), context_client::count,
                cells_of(config, icm_entry::cqc)),
      mrc_cache(*this, "mrc_cache", config.mrc_cache, clock_, sizeof(hca_mrc), protection_client::count,
                cells_of(config, icm_entry::mrc)),
      extent_cache(*this, "extent_cache", config.extent_cache, clock_, sizeof(hca_extent) * HCA_EXTENTS_PER_LINE,
                   protection_client::count, cells_of(config, icm_entry::extent)) {
  if (config.atc.enabled) atc = &add<hcasim::atc>("atc", config.atc, clock_, HCA_REQUESTER, config.icm.check);
  if (config.processing_units.units != 0) {
    processing_units = &add<hcasim::processing_units>("processing_units", config.processing_units, clock_);
    requester.steps.bind(processing_units->requester);
    responder.steps.bind(processing_units->responder);
  }
  doorbell.send.bind(send_queue.bells);
  doorbell.receive.bind(responder.bells);
  doorbell.completion.bind(completion.bells);
  doorbell.command.bind(command_unit.registers);
  doorbell.msix.bind(completion.msix);
  doorbell.device_memory.bind(device_memory.window);
  doorbell.qpc.bind(qpc_cache.in[qpc_client::doorbell]);
  doorbell.dma.bind(dma_engine.in[dma_client::doorbell]);

  send_queue.qpc.bind(qpc_cache.in[qpc_client::send_queue]);
  send_queue.walker.bind(page_walker.in[walker_client::send_queue]);
  send_queue.dma.bind(dma_engine.in[dma_client::send_queue]);
  send_queue.work.bind(requester.work);
  send_queue.windows.bind(window_unit.local);
  send_queue.reports.bind(completion.reports[report_client::send_queue]);

  requester.qpc.bind(qpc_cache.in[qpc_client::requester]);
  requester.keys.bind(key_check.local);
  requester.walker.bind(page_walker.in[walker_client::requester]);
  requester.dma.bind(dma_engine.in[dma_client::requester]);
  requester.reports.bind(completion.reports[report_client::requester]);
  requester.egress.bind(port.egress[port_client::requester]);
  requester.peer_out.bind(responder.peer);
  requester.queue_out.bind(send_queue.peer);
  requester.refetch.bind(send_queue.again);

  responder.qpc.bind(qpc_cache.in[qpc_client::responder]);
  responder.keys.bind(key_check.remote);
  responder.walker.bind(page_walker.in[walker_client::responder]);
  responder.dma.bind(dma_engine.in[dma_client::responder]);
  responder.windows.bind(window_unit.remote);
  responder.reports.bind(completion.reports[report_client::responder]);
  responder.egress.bind(port.egress[port_client::responder]);
  responder.peer_out.bind(requester.peer);

  key_check.mrc.bind(mrc_cache.in[protection_client::key_check]);
  key_check.extent.bind(extent_cache.in[protection_client::key_check]);

  window_unit.mrc.bind(mrc_cache.in[protection_client::window_unit]);
  window_unit.extent.bind(extent_cache.in[protection_client::window_unit]);
  window_unit.qpc.bind(qpc_cache.in[qpc_client::window_unit]);
  window_unit.keys.bind(key_check.windows);
  window_unit.walker.bind(page_walker.in[walker_client::window_unit]);

  dma_engine.local.bind(device_memory.dma);
  walker_dma_bridge.put_between(page_walker.dma, dma_engine.in[dma_client::walker]);

  completion.cqc.bind(cqc_cache.in[context_client::user]);
  completion.walker.bind(page_walker.in[walker_client::completion]);
  completion.dma.bind(dma_engine.in[dma_client::completion]);

  command_unit.dma.bind(dma_engine.in[dma_client::command_unit]);
  command_unit.icm.bind(dma_engine.areas);
  command_unit.qpc.bind(qpc_cache.in[qpc_client::command_unit]);
  command_unit.cqc.bind(cqc_cache.in[context_client::command_unit]);
  command_unit.mrc.bind(mrc_cache.in[protection_client::command_unit]);
  command_unit.extent.bind(extent_cache.in[protection_client::command_unit]);
  command_unit.keys.bind(key_check.control);
  command_unit.windows.bind(window_unit.control);
  command_unit.walker.bind(page_walker.in[walker_client::command_unit]);
  command_unit.doorbell.bind(doorbell.control);
  command_unit.send_queue.bind(send_queue.control);
  command_unit.requester.bind(requester.control);
  command_unit.responder.bind(responder.control);
  command_unit.completion.bind(completion.control);
  command_unit.requester_pages.bind(requester.pages);
  command_unit.responder_pages.bind(responder.pages);
  command_unit.reports.bind(completion.reports[report_client::command_unit]);

  qpc_cache.dma.bind(dma_engine.in[dma_client::qpc]);
  cqc_cache.dma.bind(dma_engine.in[dma_client::cqc]);
  mrc_cache.dma.bind(dma_engine.in[dma_client::mrc]);
  extent_cache.dma.bind(dma_engine.in[dma_client::extent]);

  port.requester.bind(requester.packets);
  port.responder.bind(responder.packets);
}

void hca::reset() {
  if (atc) atc->reset();
  command_unit.reset();
}

}  // namespace hcasim
