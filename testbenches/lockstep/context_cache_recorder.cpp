// Of a context cache with entries of 64 bytes: every fetch with how long its entry was held and what was written into it, every
// drop and change of the area, and what the cache read from memory.
#include <cstring>

#include "testbenches/lockstep/context_cache_world.h"
#include "testbenches/lockstep/unit_recorder.h"
#include "tlm/context.h"

namespace hcasim::lockstep {
namespace {

constexpr std::size_t context_bytes = 64;

class context_recorder final : public unit_recorder {
 public:
  context_recorder(const std::string& unit, const std::string& file, const hca_config& c, std::uint64_t seed)
      : unit_recorder(unit, file, "context_cache", c.clock, seed) {}

  void start_of_simulation() override {
    // Those that use the mrc_cache have a socket `mrc`.
    const std::string name = unit().substr(unit().rfind('.') + 1);
    const std::string socket = name.substr(0, name.find("_cache"));
    tap_sockets<context_request>(
        requests_, [&](const auto& s) { return unit_of(s).starts_with(adapter()) && s.basename() == socket; }, *this);
    tap_sockets<dma_request>(
        transfers_, [&](const auto& s) { return unit_of(s) == unit(); }, *this);
    if (!transfers_.empty()) found();
  }

  void begins(const context_request& p, ps t) {
    open(&p,
         p.op == context_op::set_area
             ? make_item(context_item::set_area, 0, 0, p.area_entries, 0, p.area_base)
             : make_item(p.op == context_op::drop ? context_item::drop : context_item::fetch, 0, 0, p.index, 0),
         t);
  }
  void answered(const context_request& p, ps t) { answer(&p, t, p.op == context_op::fetch && !p.failed); }
  void gives_back(const context_request& p, ps t) {
    item* const fetched = give_back(&p, t);
    if (!fetched || !p.dirty || !p.entry) return;
    item& i = *fetched;
    i[0] = (i[0] & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(context_item::put);
    std::memcpy(&i[2], p.entry, context_bytes);
  }
  void came(const dma_request& p, unsigned) {
    const item i = memory_item(static_cast<std::uint8_t>(context_item::set_read), p);
    if (p.op == dma_op::read) {
      read(p.address, i);
    } else if (!p.failed) {
      wrote(p.address, i);
    }
  }

 private:
  std::vector<std::unique_ptr<request_tap<context_request, context_recorder>>> requests_;
  std::vector<std::unique_ptr<answer_tap<dma_request, context_recorder>>> transfers_;
};

}  // namespace

std::unique_ptr<stream_recorder> record_context_cache(const std::string& unit, const std::string& file, const hca_config& c,
                                                      std::uint64_t seed) {
  return std::make_unique<context_recorder>(unit, file, c, seed);
}

}  // namespace hcasim::lockstep
