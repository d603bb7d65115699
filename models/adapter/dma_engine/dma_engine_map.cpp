// Requests for ICM whose place in host memory is not known. While an entry of the map is read, all later requests for ICM wait.
// Later requests of a source with a waiting request wait, too: requests of one source stay in their order.
#include <algorithm>

#include "firmware/abi/command.h"
#include "models/adapter/dma_engine/dma_engine.h"

namespace hcasim {

bool dma_engine::waits_for_map(dma_job& j) {
  const bool icm = j.entry != icm_entry::none;
  if (!unmapped_.empty()) return icm || unmapped_of_[static_cast<std::size_t>(j.request->source)] != 0;
  return icm && !icm_map_.find(j.request->address, j.bytes, j.frames);
}

void dma_engine::wait_for_map(dma_job& j) {
  const bool first = unmapped_.empty();
  unmapped_.push(j);
  ++unmapped_of_[static_cast<std::size_t>(j.request->source)];
  if (first && !read_map(j)) refuse_unmapped(false);
}

// Reads the entry of the first page of `j` that is not known. False = there is none: a reset has taken the map or the area
// away, or the request reaches beyond its area.
bool dma_engine::read_map(const dma_job& j) {
  const std::uint64_t at = unknown_page(j);
  if (!icm_map_.on() || guard_.entry_at(at) != j.entry) return false;
  map_life_ = icm_map_.life();
  map_read_.op = dma_op::read;
  map_read_.source = j.request->source;
  map_read_.operation = j.request->operation;
  map_read_.failed = false;
  map_read_.bytes = sizeof map_entry_;
  map_read_.address = icm_map_.entry_at(guard_.page_at(j.entry, at));
  map_read_.data = reinterpret_cast<std::byte*>(&map_entry_);
  dma_job& read = new_job(map_read_, now());
  note_reads(1);
  enqueue_read(read);
  pump();
  return true;
}

// Entries of an earlier map are of no use.
void dma_engine::on_map_entry() {
  dma_job& first = unmapped_.front();
  if (map_life_ != icm_map_.life()) {
    first.frames.clear();
  } else if (map_read_.failed || !icm_map_.learn(unknown_page(first), map_entry_, first.frames)) {
    refuse_unmapped(!map_read_.failed);
  }
  while (!unmapped_.empty()) {
    dma_job& j = unmapped_.front();
    if (j.entry == icm_entry::none || icm_map_.find(j.request->address, j.bytes, j.frames)) {
      leave_map();
      begin(j);
    } else if (read_map(j)) {
      return;
    } else {
      refuse_unmapped(false);
    }
  }
}

std::uint64_t dma_engine::unknown_page(const dma_job& j) {
  const std::uint64_t page = ((j.request->address >> HCA_ICM_PAGE_SHIFT) + j.frames.size()) << HCA_ICM_PAGE_SHIFT;
  return std::max(page, j.request->address);
}

// The first waiting request moves no byte.
void dma_engine::refuse_unmapped(bool damaged) {
  dma_job& j = unmapped_.front();
  j.request->failed = true;
  j.request->damaged = damaged;
  leave_map();
  finish(j, now());
}

void dma_engine::leave_map() {
  --unmapped_of_[static_cast<std::size_t>(unmapped_.pop().request->source)];
}

}  // namespace hcasim
