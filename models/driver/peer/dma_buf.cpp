#include "models/driver/peer/dma_buf.h"

#include <algorithm>
#include <cerrno>

namespace hcasim::driver::peer {

int dma_buf::move_notify(cpu& c) {
  for (importer* i : importers_) {
    if (!i->may_move()) {
      ++warnings_;
    } else if (const int error = i->invalidate_mappings(c)) {
      return error;
    }
  }
  return 0;
}

int dma_buf::revoke(cpu& c) {
  if (revoked_) return 0;
  if (std::any_of(importers_.begin(), importers_.end(), [](const importer* i) { return !i->may_revoke(); })) return EBUSY;
  for (importer* i : importers_) {
    if (const int error = i->revoke(c)) return error;
  }
  revoked_ = true;
  return 0;
}

void dma_buf::wait_for_fences(cpu& c) {
  const std::vector<std::shared_ptr<dma_fence>> all = fences_;
  for (const auto& f : all) f->wait(c);
  std::erase_if(fences_, [](const auto& f) { return f->signalled(); });
}

}  // namespace hcasim::driver::peer
