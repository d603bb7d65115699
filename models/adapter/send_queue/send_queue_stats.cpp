#include "models/adapter/send_queue/send_queue.h"

#include "tlm/wqe.h"

namespace hcasim {

void send_queue::describe() {
  stats_.add("doorbells", "1", "SQ doorbells that told of new work", doorbells_);
  stats_.add("wqes", "1", "WQEs handed to the requester", wqes_);
  stats_.add("blueflame", "1", "WQEs taken from BlueFlame, without a fetch", blueflame_);
  stats_.add("early", "1", "WQEs taken from BlueFlame while older ones of their QP were fetched, or its context was read",
             early_);
  stats_.add("evicted", "1", "outstanding WQEs that made room in the cache", evicted_);
  stats_.add("refetched", "1", "WQEs fetched again for a response", refetched_);
  stats_.add("fetches", "1", "DMA reads of WQEs", fetches_);
  stats_.add("fetched", "B", "bytes of WQEs fetched", fetched_bytes_);
  stats_.add("fence_stalls", "1", "times a fence held a WQE back", fence_stalls_);
  stats_.add("read_depth_stalls", "1", "times the READ depth held a WQE back", read_depth_stalls_);
  stats_.add("depth_stalls", "1", "times the number of outstanding WQEs held a WQE back", depth_stalls_);
  stats_.add("local_fence_stalls", "1", "times a LOCAL_INV waited for earlier WQEs", local_fence_stalls_);
  stats_.add("changes", "1", "BIND, LOCAL_INV and FAST_REG handed to window_unit", changes_);
  stats_.add("drains", "1", "times a QP in SQD had completed all begun work", drains_);
  stats_.add("bad_wqes", "1", "WQEs whose size, index or QPN does not fit their place in the ring", bad_wqes_);
  stats_.add("ready", "1", "QPs that wait for a turn", ready_level_);
  stats_.add("units_busy", "1", "turns in progress", units_busy_);
  stats_.busy_time("scheduler_busy", "time the scheduler was starting turns", scheduler_);
  stats_.busy_time("issuer_busy", "time WQEs were being handed on", issuer_);
  stats_.busy_time("cache_busy", "share of `wqe_cache` in use, times the time", cache_);
  stats_.add("cache", "1", "64 B blocks of WQEs held", cache_level_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("qpn", 24, qpn_probe_);
  signals_.add("index", 16, index_probe_);
  signals_.add("opcode", 8, opcode_probe_, {wqe_opcode_names.begin(), wqe_opcode_names.end()});
  signals_.add("ready", 16, ready_probe_);
  signals_.add("cache", 20, cache_probe_);
  signals_.add("blocked", 3, blocked_probe_, {"none", "depth", "fence", "read_depth", "local_fence"});
}

}  // namespace hcasim
