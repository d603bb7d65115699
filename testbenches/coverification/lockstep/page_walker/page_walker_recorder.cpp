// Records page_walker: every walk and drop, and all entries read.
#include "testbenches/coverification/lockstep/page_walker/page_walker_item.h"
#include "testbenches/coverification/lockstep/unit_recorder.h"

namespace hcasim::lockstep {
namespace {

class walk_recorder final : public unit_recorder {
 public:
  walk_recorder(const std::string& unit, const std::string& file, const hca_config& c, std::uint64_t seed)
      : unit_recorder(unit, file, "page_walker", c.clock, seed) {}

  void start_of_simulation() override {
    tap_sockets<translate_request>(
        walks_, [&](const auto& s) { return unit_of(s).starts_with(adapter()); }, *this);
    tap_sockets<dma_request>(
        reads_, [&](const auto& s) { return unit_of(s) == unit(); }, *this);
    if (!reads_.empty()) found();
  }

  void begins(const translate_request& p, ps t) {
    item i{};
    const bool drop = p.op == translate_op::drop;
    i[0] = static_cast<std::uint64_t>(drop ? walk_item::drop : walk_item::walk) | std::uint64_t{p.write} << 24;
    i[1] = p.va;
    i[2] = drop ? p.last : 0;
    i[3] = drop ? 0 : p.length;
    put_map(i, p.map);
    open(&p, i, t);
  }
  void answered(const translate_request& p, ps t) { answer(&p, t); }
  void gives_back(const translate_request&, ps) {}
  void came(const dma_request& p, unsigned) {
    read(p.address, {memory_item(static_cast<std::uint8_t>(walk_item::set_read), p)});
  }

 private:
  std::vector<std::unique_ptr<request_tap<translate_request, walk_recorder>>> walks_;
  std::vector<std::unique_ptr<answer_tap<dma_request, walk_recorder>>> reads_;
};

}  // namespace

std::unique_ptr<stream_recorder> record_page_walker(const std::string& unit, const std::string& file, const hca_config& c,
                                                    std::uint64_t seed) {
  return std::make_unique<walk_recorder>(unit, file, c, seed);
}

}  // namespace hcasim::lockstep
