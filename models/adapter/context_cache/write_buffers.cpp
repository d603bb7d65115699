#include "models/adapter/context_cache/write_buffers.h"

namespace hcasim {

write_buffers::entry* write_buffers::evict(std::size_t slot) {
  ++counters_.evictions;
  cache_lines& lines = parts_.lines;
  if (lines.life(slot) == line_life::clean) return nullptr;
  const bool ruined = lines.life(slot) == line_life::ruined;
  const entry_part part = lines.changed(slot, ruined);
  if (part.bytes == 0) return nullptr;
  entry& e = pool_.get();
  e.write.ruined = ruined;
  e.index = lines.index_of(slot);
  e.part = part;
  const std::byte* const from = lines.bytes_of(slot) + part.offset;
  e.bytes.assign(from, from + part.bytes);
  writing_.push_back(&e);
  return &e;
}

process write_buffers::write(entry& e, ps t) {
  co_await parts_.icm.write(e.write, e.index, e.part, e.bytes.data(), t);
  counters_.write_failures += e.write.failed;
  if (e.write.failed) parts_.second.forget(e.index);
  std::erase(writing_, &e);
  buffers_.give();
  const fifo<pending_request> list = e.waiting.take();
  pool_.put(e);
  parts_.pending.settle_all(list);
  parts_.pending.on_end();
}

write_buffers::entry* write_buffers::of(std::uint32_t index) const {
  for (entry* e : writing_) {
    if (e->index == index) return e;
  }
  return nullptr;
}

}  // namespace hcasim
