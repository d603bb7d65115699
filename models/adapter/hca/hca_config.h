// All knobs of one adapter.
#pragma once

#include "firmware/abi/registers.h"
#include "models/adapter/atc/atc_config.h"
#include "models/adapter/command_unit/command_unit_config.h"
#include "models/adapter/completion/completion_config.h"
#include "models/adapter/context_cache/context_cache_config.h"
#include "models/adapter/device_memory/device_memory_config.h"
#include "models/adapter/dma_engine/dma_engine_config.h"
#include "models/adapter/dma_engine/icm_config.h"
#include "models/adapter/doorbell/doorbell_config.h"
#include "models/adapter/key_check/key_check_config.h"
#include "models/adapter/memory_port/memory_port_config.h"
#include "models/adapter/page_walker/page_walker_config.h"
#include "models/adapter/port/port_config.h"
#include "models/adapter/processing_units/processing_units_config.h"
#include "models/adapter/requester/requester_config.h"
#include "models/adapter/responder/responder_config.h"
#include "models/adapter/send_queue/send_queue_config.h"
#include "models/adapter/window_unit/window_unit_config.h"

namespace hcasim {

struct hca_config {
  frequency clock{400e6};
  doorbell_config doorbell;
  send_queue_config send_queue;
  processing_units_config processing_units;
  requester_config requester;
  responder_config responder;
  key_check_config key_check;
  window_unit_config window_unit;
  page_walker_config page_walker;
  memory_port_config walker_dma_bridge;
  dma_engine_config dma_engine;
  device_memory_config device_memory;
  completion_config completion;
  command_unit_config command_unit;
  port_config port;
  context_cache_config qpc_cache;
  context_cache_config cqc_cache;
  context_cache_config mrc_cache;
  context_cache_config extent_cache;
  icm_config icm;
  atc_config atc;
  std::uint16_t requester_id = HCA_REQUESTER;  // on PCIe; the system gives it

  void knobs(knob_visitor& k) {
    k.clock("clock", clock, {1e6}, {1e10}, "core clock of every unit of the adapter");
    k.group("doorbell", doorbell, "UAR pages and the doorbell FIFO");
    k.group("send_queue", send_queue, "QP scheduling and WQE fetch");
    k.group("processing_units", processing_units, "a pool that both roles of all QPs share");
    k.group("requester", requester, "segmentation, acknowledges, retransmission");
    k.group("responder", responder, "inbound requests");
    k.group("key_check", key_check, "the protection pipeline");
    k.group("window_unit", window_unit, "memory windows, invalidation, fast registration");
    k.group("page_walker", page_walker, "translation");
    k.group("walker_dma_bridge", walker_dma_bridge, "RTL between the page walker and the DMA engine");
    k.group("dma_engine", dma_engine, "bursts to PCIe");
    k.group("device_memory", device_memory, "memory on the adapter");
    k.group("completion", completion, "CQEs, EQEs, interrupts");
    k.group("command_unit", command_unit, "command queue and control firmware");
    k.group("port", port, "packets to and from the link, of each port");
    k.group("qpc_cache", qpc_cache, "queue pair contexts, 256 B each");
    k.group("cqc_cache", cqc_cache, "completion queue contexts, 64 B each");
    k.group("mrc_cache", mrc_cache, "memory region contexts, 64 B each");
    k.group("extent_cache", extent_cache, "extents of address spaces and elements, 64 B lines");
    k.group("icm", icm, "contexts and tables in host memory");
    k.group("atc", atc, "its own cache of the IOMMU's translations");
  }
};

}  // namespace hcasim
