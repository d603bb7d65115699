#include "models/driver/peer/attachment.h"

#include "models/driver/device/device.h"
#include "models/driver/objects/page_list.h"
#include "models/driver/objects/registration_rules.h"

namespace hcasim::driver::peer {

int attach(cpu& c, process& p, memory_region& mr, int pin_error, std::vector<hca_chunk>& out) {
  device& d = *p.device;
  if (!d.config().peer_memory || d.peers().empty() || mr.length == 0) return pin_error;
  int error = 0;
  umem* const u = d.peers().get(c, {p, mr.addr, mr.length, needs_writable(mr.access), pin_error}, error);
  if (!u) return error;
  mr.pinned_bytes = 0;
  mr.peer = std::make_shared<attachment>();
  mr.peer->memory = u;
  std::vector<virtual_memory::frame_run> runs;
  runs.reserve(u->host.size());
  for (const sg_entry& e : u->host) runs.push_back({e.dma_address, e.length});
  append_chunks(runs, align_down(d.config().max_segment, host_page), out);
  p.stats.chunks += out.size();
  return 0;
}

int activate(cpu& c, process& p, memory_region& mr) {
  attachment& a = *mr.peer;
  a.key = mr.key;
  return p.device->peers().activate_invalidation_notifier(
      c, *a.memory, [owner = &p, region = mr.peer.get()](cpu& thread) { return revoke_key(thread, *owner, *region); });
}

int revoke_key(cpu& c, process& p, attachment& a) {
  a.changing.lock(c);
  const int error = a.gone ? 0 : run(c, &p, {.code = HCA_CMD_REVOKE, .object = a.key}).error;
  a.changing.unlock();
  return error;
}

int deregister_key(cpu& c, process& p, attachment& a) {
  a.changing.lock(c);
  const int error = run(c, &p, {.code = HCA_CMD_DEREGISTER, .object = a.key}).error;
  a.gone = error == 0;
  a.changing.unlock();
  return error;
}

void detach(cpu& c, process& p, memory_region& mr) {
  if (mr.kind == region_kind::dma_buf) return detach_dma_buf(c, mr);
  if (!mr.peer || !mr.peer->memory) return;
  p.device->peers().put(c, *mr.peer->memory);
  mr.peer->memory = nullptr;
}

}  // namespace hcasim::driver::peer
