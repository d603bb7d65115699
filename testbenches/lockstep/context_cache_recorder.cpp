// Of a context cache with entries of 64 bytes: every fetch with how long its entry was held and what was written into it, every
// drop and change of the area, and what the cache read from memory.
#include <cstring>
#include <unordered_map>

#include "testbenches/lockstep/context_cache_world.h"
#include "testbenches/lockstep/unit_recorder.h"
#include "tlm/context.h"
#include "tlm/dma.h"

namespace hcasim::lockstep {
namespace {

constexpr std::size_t recorded_entry = 64;

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
    open_[&p] = begin(p.op == context_op::set_area
                          ? make_item(context_item::set_area, 0, 0, p.area_entries, 0, p.area_base)
                          : make_item(p.op == context_op::drop ? context_item::drop : context_item::fetch, 0, 0, p.index, 0),
                      t);
  }
  void answered(const context_request& p, ps t) {
    const auto found = open_.find(&p);
    if (found == open_.end()) return;
    answer(found->second, t);
    if (p.op != context_op::fetch || p.failed) open_.erase(found);
  }
  void gives_back(const context_request& p, ps t) {
    const auto found = open_.find(&p);
    if (found == open_.end()) return;
    entry& e = at(found->second);
    e.what[0] |= cycles(t - e.answered) << 24;
    if (p.dirty && p.entry) {
      e.what[0] = (e.what[0] & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(context_item::put);
      std::memcpy(&e.what[2], p.entry, recorded_entry);
    }
    open_.erase(found);
  }
  void came(const dma_request& p, unsigned) {
    item i{};
    i[0] = static_cast<std::uint64_t>(context_item::set_read) | std::uint64_t{p.failed} << 48;
    i[1] = p.address;
    if (!p.failed) std::memcpy(&i[2], p.data, std::min<std::size_t>(p.bytes, recorded_entry));
    if (p.op == dma_op::read) {
      read(p.address, i);
    } else if (!p.failed) {
      wrote(p.address, i);
    }
  }

 private:
  std::unordered_map<const context_request*, std::size_t> open_;  // looked up only
  std::vector<std::unique_ptr<request_tap<context_request, context_recorder>>> requests_;
  std::vector<std::unique_ptr<answer_tap<dma_request, context_recorder>>> transfers_;
};

}  // namespace

std::unique_ptr<stream_recorder> record_context_cache(const std::string& unit, const std::string& file, const hca_config& c,
                                                      std::uint64_t seed) {
  return std::make_unique<context_recorder>(unit, file, c, seed);
}

}  // namespace hcasim::lockstep
