// Records key_check: every check, element and drain, how long a granted access held its reference, and the contexts and lines
// of extents that key_check read.
#include "testbenches/coverification/lockstep/key_check/key_check_stimulus.h"
#include "testbenches/coverification/lockstep/unit_recorder.h"
#include "tlm/context.h"
#include "tlm/protection.h"

namespace hcasim::lockstep {
namespace {

class key_recorder final : public unit_recorder {
 public:
  key_recorder(const std::string& unit, const std::string& file, const hca_config& c, std::uint64_t seed)
      // The bench takes the variants of the rules from its seed.
      : unit_recorder(unit, file, "key_check", c.clock,
                      seed * 4 + c.key_check.orphan_windows + 2 * (c.key_check.window_type2 == window_association::qp)) {}

  void start_of_simulation() override {
    tap_sockets<key_request>(
        keys_, [&](const auto& s) { return unit_of(s).starts_with(adapter()); }, *this);
    for (const key_item kind : {key_item::set_mrc, key_item::set_line}) {
      const std::string_view socket = kind == key_item::set_mrc ? "mrc" : "extent";
      tap_sockets<context_request>(
          contexts_, [&](const auto& s) { return unit_of(s) == unit() && s.basename() == socket; }, *this,
          static_cast<unsigned>(kind));
    }
    if (!contexts_.empty()) found();
  }

  void begins(const key_request& p, ps t) {
    key_fields f;
    f.kind = p.op == key_op::check ? key_item::check : p.op == key_op::element ? key_item::element : key_item::drain;
    f.remote = p.remote;
    f.privileged = p.privileged;
    f.key = p.key;
    f.rights = p.rights;
    f.pd = p.pd;
    f.qpn = p.qpn;
    f.generation = p.generation;
    f.function = p.function;
    f.va = p.va;
    f.length = p.length;
    open(&p, pack(f), t);
  }
  void answered(const key_request& p, ps t) { answer(&p, t, p.op == key_op::check && p.result == verdict::granted); }
  void gives_back(const key_request& p, ps t) { give_back(&p, t); }
  void came(const context_request& p, unsigned kind) {
    read(std::uint64_t{kind} << 32 | p.index,
         {pack_context(static_cast<key_item>(kind), p.index, p.failed, static_cast<std::uint32_t>(p.area_entries),
                       p.failed ? nullptr : p.entry)});
  }

 private:
  std::vector<std::unique_ptr<request_tap<key_request, key_recorder>>> keys_;
  std::vector<std::unique_ptr<answer_tap<context_request, key_recorder>>> contexts_;
};

}  // namespace

std::unique_ptr<stream_recorder> record_key_check(const std::string& unit, const std::string& file, const hca_config& c,
                                                  std::uint64_t seed) {
  return std::make_unique<key_recorder>(unit, file, c, seed);
}

}  // namespace hcasim::lockstep
