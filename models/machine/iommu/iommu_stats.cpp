#include "models/machine/iommu/iommu.h"

namespace hcasim {

void iommu::describe() {
  static constexpr const char* kinds[fault_log::kinds] = {"none",  "context", "not_mapped", "not_writable",
                                                          "table", "crosses", "ats",        "timeout"};
  stats_.add("bursts", "1", "reads and writes of devices", bursts_);
  stats_.add("hits", "1", "bursts whose translation the IOTLB had", hits_);
  stats_.add("passed", "1", "bursts of requesters whose addresses are physical", passed_);
  stats_.add("walks", "1", "walks begun", walks_begun_);
  stats_.add("merged", "1", "bursts that joined the walk of the same page", merged_);
  for (unsigned level = 0; level < IOMMU_LEVELS; ++level) {
    stats_.add("reads_level_" + std::to_string(level), "1", "reads of table entries of this level (0: 4 KiB pages)",
               reads_[level]);
  }
  stats_.add("contexts_read", "1", "context entries read", contexts_read_);
  stats_.add("order_waits", "1", "bursts and messages that waited for a write before them", order_waits_);
  stats_.add("evictions", "1", "IOTLB entries that made room", evictions_);
  stats_.add("dropped_entries", "1", "IOTLB entries and nodes forgotten by invalidations", dropped_);
  stats_.add("poisoned_walks", "1", "walks under way in an invalidated range", poisoned_);
  stats_.add("invalidations", "1", "ranges and contexts that software had forgotten", invalidations_);
  stats_.add("commands", "1", "commands executed", commands_);
  stats_.add("translation_requests", "1", "translation requests of devices", translation_requests_);
  stats_.add("translated", "1", "bursts of addresses that the device had translated", translated_);
  stats_.add("device_invalidations", "1", "ranges that devices were told to forget", device_invalidations_.begun);
  stats_.add("timeouts", "1", "of those, given up", device_invalidations_.timeouts);
  stats_.add("page_requests", "1", "page requests put into the queue", page_requests_.requests);
  stats_.add("page_overflows", "1", "page requests that found no room, or no queue", page_requests_.overflows);
  stats_.add("page_responses", "1", "groups of page requests answered, those without software's help included",
             page_requests_.responses);
  stats_.add("faults", "1", "bursts refused", fault_log_.faults);
  for (unsigned k = 1; k < fault_log::kinds; ++k) {
    stats_.add(std::string("faults_") + kinds[k], "1", std::string("bursts refused: ") + kinds[k], fault_log_.of_kind[k]);
  }
  stats_.add("walk_time", "ps", "from a walk's start to its end", walk_time_);
  stats_.add("wait_time", "ps", "of bursts and messages: from their arrival until they go on", wait_time_);
  stats_.add("invalidation_time", "ps", "wait for the bursts before an invalidation", invalidation_time_);
  stats_.add("device_invalidation_time", "ps", "from telling a device until it was done", device_invalidations_.time);
  stats_.add("tags_asked", "1", "invalidations that devices are working on", device_invalidations_.asked, "tags");
  stats_.add("pages_queued", "1", "page requests that software has not taken", page_requests_.queued, "pages");
  stats_.add("walkers_busy", "1", "walks in progress", walkers_busy_, "walkers");
  stats_.add("waiting", "1", "bursts and messages held", waiting_);
  stats_.busy_time("port_busy", "time the look-up port was busy", port_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("address", 64, address_probe_);
  signals_.add("hit", 1, hit_probe_);
  signals_.add("walkers", 10, walkers_probe_);
  signals_.add("walk_level", 3, level_probe_, {"none", "leaf", "level_1", "level_2", "level_3"});
  signals_.add("waiting", 16, waiting_probe_);
  signals_.add("fault", 3, fault_log_.shown, {kinds, kinds + fault_log::kinds});
  signals_.add("ats", 2, kind_probe_, {"none", "request", "translated", "message"});
  signals_.add("tags", 6, device_invalidations_.shown);
  signals_.add("pages", 16, page_requests_.shown);
}

}  // namespace hcasim
