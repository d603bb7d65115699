#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

struct send_queue_config {
  std::uint32_t units = 4;
  double turn_interval = 4;
  double issue_interval = 4;
  std::uint32_t fetch_batch = 16;
  std::uint32_t wqe_cache = 4096;
  std::uint32_t max_outstanding = 64;
  bool early_blueflame = false;
  bool evict_outstanding = false;
  std::uint32_t refetches = 4;

  void knobs(knob_visitor& k) {
    k.count("units", units, 1, 256, "processing units: QPs served at once");
    k.cycles("turn_interval", turn_interval, 1, 1000, "between the starts of two turns of the scheduler");
    k.cycles("issue_interval", issue_interval, 1, 1000, "between two WQEs handed to the requester");
    k.count("fetch_batch", fetch_batch, 16, 64, "64 B blocks that one turn fetches at most (a WQE has up to 16)");
    k.count("wqe_cache", wqe_cache, 64, 1 << 20, "64 B blocks of WQEs that are fetched and not yet complete");
    k.flag("early_blueflame", early_blueflame, "a WQE that came by BlueFlame is kept while older ones of its QP are fetched");
    k.flag("evict_outstanding", evict_outstanding,
           "WQEs at the requester make room in a full cache, and are fetched again for responses with data");
    k.count("refetches", refetches, 1, 256, "WQEs fetched again at once");
    k.count("max_outstanding", max_outstanding, 1, 4096, "WQEs of one QP that the requester may hold");
  }
};

}  // namespace hcasim
