#include "models/adapter/hca/hca_memories.h"

#include <algorithm>

#include "firmware/abi/context.h"
#include "firmware/abi/mrc.h"
#include "models/adapter/atc/atc_memories.h"
#include "models/adapter/completion/completion_memories.h"
#include "models/adapter/context_cache/context_cache_memories.h"
#include "models/adapter/device_memory/device_memory_memories.h"
#include "models/adapter/dma_engine/dma_engine_memories.h"
#include "models/adapter/doorbell/doorbell_memories.h"
#include "models/adapter/page_walker/page_walker_memories.h"
#include "models/adapter/port/port_memories.h"
#include "models/adapter/processing_units/processing_units_memories.h"
#include "models/adapter/requester/requester_memories.h"
#include "models/adapter/responder/responder_memories.h"
#include "models/adapter/send_queue/send_queue_memories.h"
#include "tlm/icm_code.h"

namespace hcasim {
namespace {

// Returns the bits of the integrity code over so many bytes, which has a part for each 32-bit word.
std::uint64_t code_bits(icm_check check, std::uint64_t bytes) {
  constexpr std::uint64_t of_word[] = {0, 4, 7};  // none, parity of each byte, secded
  return bytes / sizeof(std::uint32_t) * of_word[static_cast<std::size_t>(check)];
}

}  // namespace

void memories(const hca_config& c, std::uint64_t lanes, std::uint64_t receive_buffer, memory_list& m) {
  const std::uint64_t mtu = c.port.mtu;
  const command_unit_config& limits = c.command_unit;
  const auto cache = [&](std::string_view name, const context_cache_config& of, std::uint64_t bytes,
                         std::uint64_t log_entries) {
    m.within(name, [&] { memories(of, bytes, code_bits(c.icm.check, bytes), log_entries, m); });
  };
  m.within("doorbell", [&] { memories(c.doorbell, std::max(limits.log_qps, limits.log_cqs), m); });
  m.within("send_queue", [&] { memories(c.send_queue, limits.log_qps, m); });
  m.within("processing_units", [&] { memories(c.processing_units, limits.log_qps, mtu, m); });
  m.within("requester", [&] { memories(c.requester, mtu, m); });
  m.within("responder", [&] { memories(c.responder, mtu, m); });
  m.within("page_walker",
           [&] { memories(c.page_walker, limits.log_mrs, code_bits(c.icm.check, sizeof(hca_pte)), limits.max_levels, m); });
  m.within("dma_engine", [&] { memories(c.dma_engine, c.icm, m); });
  m.within("device_memory", [&] { memories(c.device_memory, m); });
  m.within("completion", [&] { memories(c.completion, m); });
  m.within("port", [&] { memories(c.port, lanes, receive_buffer, m); });
  if (c.port.count > 1) m.within("port2", [&] { memories(c.port, lanes, receive_buffer, m); });
  cache("qpc_cache", c.qpc_cache, sizeof(hca_qpc), limits.log_qps);
  cache("cqc_cache", c.cqc_cache, sizeof(hca_cqc), limits.log_cqs);
  cache("mrc_cache", c.mrc_cache, sizeof(hca_mrc), limits.log_mrs);
  cache("extent_cache", c.extent_cache, sizeof(hca_extent) * HCA_EXTENTS_PER_LINE, bits_for(limits.max_segments));
  m.within("atc", [&] { memories(c.atc, m); });
}

}  // namespace hcasim
