// Records a context cache: every drop, change of the area and read of memory, and every fetch. A fetch has the time for which
// its entry was held, and the bytes written into it. A take is a drop: bytes written before the give are read again.
#include <cstring>

#include "firmware/abi/context.h"
#include "testbenches/coverification/lockstep/context_cache/context_cache_stimulus.h"
#include "testbenches/coverification/lockstep/unit_recorder.h"
#include "tlm/context.h"

namespace hcasim::lockstep {
namespace {

std::size_t entry_bytes_of(const std::string& unit) {
  return unit.ends_with(".qpc_cache") ? sizeof(hca_qpc) : item_bytes;
}

class context_recorder final : public unit_recorder {
 public:
  context_recorder(const std::string& unit, const std::string& file, const hca_config& c, std::uint64_t seed)
      : unit_recorder(unit, file, entry_bytes_of(unit) == item_bytes ? "context_cache" : "qpc_cache", c.clock, seed),
        entry_bytes_(entry_bytes_of(unit)) {}

  void start_of_simulation() override {
    // A unit that uses the mrc_cache has a socket `mrc`, and so on.
    const std::string name = unit().substr(unit().rfind('.') + 1);
    const std::string socket = name.substr(0, name.find("_cache"));
    tap_sockets<context_request>(
        requests_, [&](const auto& s) { return unit_of(s).starts_with(adapter()) && s.basename() == socket; }, *this);
    tap_sockets<dma_request>(
        transfers_, [&](const auto& s) { return unit_of(s) == unit(); }, *this);
    if (!transfers_.empty()) found();
  }

  void begins(const context_request& p, ps t) {
    if (p.op == context_op::give) return;
    open(&p,
         p.op == context_op::set_area
             ? make_item(context_item::set_area, 0, 0, p.area_entries, 0, p.area_base)
             : make_item(p.op == context_op::fetch ? context_item::fetch : context_item::drop, 0, 0, p.index, 0),
         t);
  }
  void answered(const context_request& p, ps t) { answer(&p, t, p.op == context_op::fetch && !p.failed); }
  void gives_back(const context_request& p, ps t) {
    const bool changed = p.dirty && p.entry;
    if (changed) precede(&p, behind_first_line(p.entry));
    item* const fetched = give_back(&p, t);
    if (!fetched || !changed) return;
    item& i = *fetched;
    i[0] = (i[0] & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(context_item::put);
    std::memcpy(&i[2], p.entry, item_bytes);
  }
  void came(const dma_request& p, unsigned) {
    item_stream there = p.failed ? item_stream() : behind_first_line(p.data);
    there.push_back(memory_item(static_cast<std::uint8_t>(context_item::set_read), p));
    if (p.op == dma_op::read) {
      read(p.address, there);
    } else if (!p.failed) {
      wrote(p.address, there);
    }
  }

 private:
  [[nodiscard]] item_stream behind_first_line(const std::byte* bytes) const {
    item_stream lines;
    for (std::size_t line = 1; line < entry_bytes_ / item_bytes; ++line) {
      item& i = lines.emplace_back(item{static_cast<std::uint64_t>(context_item::more) | std::uint64_t{line} << 48});
      std::memcpy(&i[2], bytes + line * item_bytes, item_bytes);
    }
    return lines;
  }

  const std::size_t entry_bytes_;
  std::vector<std::unique_ptr<request_tap<context_request, context_recorder>>> requests_;
  std::vector<std::unique_ptr<answer_tap<dma_request, context_recorder>>> transfers_;
};

}  // namespace

std::unique_ptr<stream_recorder> record_context_cache(const std::string& unit, const std::string& file, const hca_config& c,
                                                      std::uint64_t seed) {
  return std::make_unique<context_recorder>(unit, file, c, seed);
}

}  // namespace hcasim::lockstep
