// The least of everything: adapters in which every request waits for every other, over a cable that loses, damages, doubles and
// delays packets.
#pragma once

#include "models/system/system.h"

namespace hcasim::kit {

inline system_config minimal_config(system_config c, double loss) {
  for (node_config& n : c.nodes) {
    for (context_cache_config* cache : {&n.hca.qpc_cache, &n.hca.mrc_cache, &n.hca.cqc_cache, &n.hca.extent_cache}) {
      cache->sets = cache->ways = cache->fetches = cache->write_buffers = 1;
    }
    n.hca.requester.buffers = n.hca.responder.buffers = 1;
    n.hca.send_queue.units = 1;
    n.hca.dma_engine.read_tags = 1;
    n.hca.port.egress_packets = 1;
  }
  c.link.loss = c.link.corruption = c.link.duplication = c.link.delay = loss;
  return c;
}

}  // namespace hcasim::kit
