#include "models/adapter/context_cache/write_buffers.h"

namespace hcasim {

write_buffers::entry* write_buffers::evict(std::size_t slot) {
  ++counters_.evictions;
  if (lines_.life(slot) == line_life::clean) return nullptr;
  const bool ruined = lines_.life(slot) == line_life::ruined;
  const entry_part part = lines_.changed(slot, ruined);
  if (part.bytes == 0) return nullptr;
  entry& e = pool_.get();
  e.write.ruined = ruined;
  e.index = lines_.index_of(slot);
  e.part = part;
  const std::byte* const from = lines_.bytes_of(slot) + part.offset;
  e.bytes.assign(from, from + part.bytes);
  writing_.push_back(&e);
  return &e;
}

process write_buffers::write(entry& e, ps t) {
  co_await icm_.write(e.write, e.index, e.part, e.bytes.data(), t);
  counters_.write_failures += e.write.failed;
  std::erase(writing_, &e);
  buffers_.give();
  const fifo<pending_request> list = e.waiting.take();
  pool_.put(e);
  pending_.settle_all(list);
  pending_.on_end();
}

write_buffers::entry* write_buffers::of(std::uint32_t index) const {
  for (entry* e : writing_) {
    if (e->index == index) return e;
  }
  return nullptr;
}

}  // namespace hcasim
