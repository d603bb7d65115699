#include "testbenches/coverification/lockstep/page_walker/page_walker_reads.h"

#include <algorithm>

namespace hcasim::lockstep {

std::string line_reads::begins(const dma_request& r) {
  const std::uint64_t asker = r.operation - 1;
  constexpr unsigned whole_line = 64;
  if (r.bytes != whole_line || asker >= stream_.size()) return {};
  const translation m = map_in_words(stream_[asker]);
  const reading now_read{&r, asker, {m.index, m.table, (stream_[asker][1] - m.table_va) >> m.page_shift >> 3}};
  const auto twice = std::find_if(reading_.begin(), reading_.end(), [&](const reading& x) { return x.of == now_read.of; });
  std::string wrong;
  if (twice != reading_.end()) {
    const auto drop = drops_.find(m.index);
    const bool dropped = drop != drops_.end() && drop->second >= std::min(asked_[asker], asked_[twice->asker]);
    if (!dropped) wrong = "reads a line that it reads for item " + std::to_string(twice->asker) + " already";
  }
  reading_.push_back(now_read);
  return wrong;
}

void line_reads::ends(const dma_request& r) {
  std::erase_if(reading_, [&r](const reading& x) { return x.request == &r; });
}

}  // namespace hcasim::lockstep
