// Records the doorbell unit: every write into a UAR page, and the addresses of its QPs' doorbell records. Only the beginning of
// a WQE matters to the unit, so the replay has other bytes behind the beginning.
#include <algorithm>
#include <cstring>
#include <map>

#include "firmware/abi/context.h"
#include "firmware/abi/registers.h"
#include "firmware/abi/wqe.h"
#include "models/adapter/doorbell/doorbell_front.h"
#include "models/adapter/doorbell/doorbell_rules.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_stimulus.h"
#include "testbenches/coverification/lockstep/unit_recorder.h"

namespace hcasim::lockstep {
namespace {

class doorbell_recorder final : public unit_recorder, private bar_monitor {
 public:
  doorbell_recorder(const std::string& unit, const std::string& file, const hca_config& c, std::uint64_t seed)
      : unit_recorder(unit, file, "doorbell", c.clock, seed) {}

  void start_of_simulation() override {
    tap_sockets<context_request>(
        contexts_, [&](const auto& s) { return unit_of(s) == unit() && std::string_view(s.basename()) == "qpc"; }, *this);
    for (initiator_socket<doorbell_ring>* s : sockets_of<doorbell_ring>()) {
      if (unit_of(*s) != unit() || std::string_view(s->basename()) != "send") continue;
      dynamic_cast<doorbell_front&>(*s->get_parent_object()).observe_bar(this);
      found();
    }
  }

  void came(const context_request& p, unsigned) {
    const auto* const qp = p.failed ? nullptr : reinterpret_cast<const hca_qpc*>(p.entry);
    qps_[p.index] = qp && qp->state != HCA_QP_RESET ? qp->record : 0;
  }

 private:
  void uar_written(std::uint64_t address, const std::byte* data, std::uint64_t bytes, ps t) override {
    const auto offset = static_cast<std::uint32_t>(address % HCA_UAR_PAGE);
    const doorbell_rules::meaning w = doorbell_rules::decode(offset, bytes);
    write_fields f;
    f.kind = write_kind::bad;
    f.page = static_cast<std::uint16_t>(address / HCA_UAR_PAGE);
    f.offset = static_cast<std::uint16_t>(offset);
    f.bytes = static_cast<std::uint32_t>(bytes);
    hca_doorbell d{};
    std::memcpy(&d, data, std::min<std::size_t>(sizeof d, bytes));
    f.number = d.number;
    f.value = d.value;
    if (w.what == doorbell_rules::target::bell) {
      const bool of_qp = w.kind == bell::send || w.kind == bell::receive;
      if (of_qp) f.value &= 0xffff;
      constexpr write_kind kinds[] = {write_kind::sq, write_kind::rq, write_kind::cq, write_kind::eq};
      if (!of_qp || (d.number != 0 && d.number >> 24 == 0)) f.kind = kinds[static_cast<std::size_t>(w.kind)];
      if (of_qp) qps_.try_emplace(d.number & 0xffffff, std::uint64_t{d.number} << 6 | std::uint64_t{1} << 40);
    } else if (w.what == doorbell_rules::target::blueflame) {
      const doorbell_rules::blueflame b = doorbell_rules::decode_blueflame(data, bytes);
      hca_wqe_control c{};
      std::memcpy(&c, data, sizeof c);
      f.kind = b.whole ? write_kind::blueflame : write_kind::broken_blueflame;
      f.blocks = c.blocks;
      f.number = c.qpn;
      f.value = (c.index + c.blocks) & 0xffff;
      if (b.plausible) qps_.try_emplace(b.qpn, std::uint64_t{b.qpn} << 6 | std::uint64_t{1} << 40);
    }
    open(this, pack(f), t);
    answer(this, t);
  }
  item_stream preface() override {
    item_stream all;
    all.reserve(qps_.size());
    for (const auto& [qpn, record] : qps_) all.push_back(pack_qp(qpn, record, 0, false));
    return all;
  }

  std::map<std::uint32_t, std::uint64_t> qps_;  // record addresses; a QP without a lookup has any address
  std::vector<std::unique_ptr<answer_tap<context_request, doorbell_recorder>>> contexts_;

  template <class P, class R>
  friend class answer_tap;
};

}  // namespace

std::unique_ptr<stream_recorder> record_doorbell(const std::string& unit, const std::string& file, const hca_config& c,
                                                 std::uint64_t seed) {
  return std::make_unique<doorbell_recorder>(unit, file, c, seed);
}

}  // namespace hcasim::lockstep
