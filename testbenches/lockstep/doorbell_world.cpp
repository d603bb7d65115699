#include "testbenches/lockstep/doorbell_world.h"

#include <algorithm>
#include <vector>

#include "firmware/abi/registers.h"
#include "firmware/abi/wqe.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {
namespace {

// QPs and CQs have numbers; their QPNs and CQNs lie anywhere. As many as the tables of the RTL hold, so that it never stalls
// software; more of them with storms.
constexpr std::uint32_t qps_of(const options& o) {
  return o.storms && o.how == mode::random ? 120 : 60;
}
constexpr std::uint32_t cqs_of(const options& o) {
  return o.storms && o.how == mode::random ? 12 : 7;
}
constexpr std::uint32_t name_of(std::uint32_t number) {
  return number == 1 ? 0xffffff : number * 0x9e3779U & 0xffffff;
}
// A QP is not declared, is in reset, or has a record that cannot be read: nothing is recovered then. Records need not be
// aligned.
std::uint64_t record_of(std::uint32_t number) {
  return number % 31 == 30 ? 0 : number * 0x9e3779b97f4a7c15U;
}
bool record_fails(std::uint32_t number) {
  return number % 29 == 28;
}
// Where the indices of a QP begin: those of every second one soon wrap around.
std::uint16_t first_index(std::uint32_t number) {
  return number % 2 ? 0xff00 : 0;
}

// Bursts that overflow the FIFO, and quiet times in which it empties.
class doorbell_generator {
 public:
  explicit doorbell_generator(const options& o) : o_(o), r_(o.seed, "doorbells"), qps_(qps_of(o)), cqs_(cqs_of(o)) {
    for (std::uint32_t q = 0; q <= qps_; ++q) sq_.push_back(first_index(q));
    rq_ = sq_;
    for (std::uint32_t n = 0; n < 2 * cqs_; ++n)
      ci_.push_back(static_cast<std::uint32_t>(r_.next()) | (n % 2 ? 0xffff0000 : 0));
  }
  item_stream all() {
    item_stream s;
    s.reserve(o_.requests);
    for (std::uint32_t q = 1; q <= qps_; ++q) s.push_back(pack_qp(name_of(q), record_of(q), first_index(q), record_fails(q)));
    while (s.size() < o_.requests) {
      // What is lost at the end, no later doorbell makes good.
      last_ = o_.how == mode::random && s.size() + (o_.storms ? 600 : 300) >= o_.requests;
      bulk_ = o_.storms && o_.how == mode::random && !last_ && s.size() >= o_.requests / 2;
      s.push_back(next());
    }
    s.resize(o_.requests);
    return s;
  }

 private:
  // QPs whose record cannot be read lose what is dropped: they are rung only when nothing can be.
  static bool safe(std::uint32_t number) { return number % 31 != 30 && number % 29 != 28; }
  std::uint32_t qp() {
    for (;;) {
      const auto q = static_cast<std::uint32_t>(1 + r_.below(few_ ? 2 : r_.chance(0.3) ? 6 : qps_));
      if (safe(q)) return q;
    }
  }
  // A QP is rung through a page of its own.
  static std::uint16_t page_of(std::uint32_t qpn) {
    return static_cast<std::uint16_t>((qpn & 0xffffff) * 0x9e37U % HCA_UAR_COUNT);
  }
  item next() {
    write_fields f;
    f.page = static_cast<std::uint16_t>(r_.below(HCA_UAR_COUNT));
    if (o_.how != mode::single) next_phase();
    if (o_.how == mode::random) {
      f.gap = static_cast<std::uint16_t>(bulk_ ? 16 + r_.below(8) : flood_ || last_ ? 0 : r_.below(storm_ ? 2 : 60));
    } else if (o_.how == mode::full) {
      f.gap = static_cast<std::uint16_t>(flood_ ? 0 : r_.chance(0.7) ? 1 : 1 + r_.below(8));
    }
    if (bulk_ && r_.chance(0.9)) return blueflame(f);
    // A flood of QPs alone fills the table of those that were dropped: queues that wait aside stop software before.
    const double x = last_ ? 0.4 + (o_.storms ? 0.35 : 0.6) * r_.unit() : r_.unit();
    if (x < 0.02 && o_.how != mode::full) return bad(f);
    if (x < 0.04 && o_.how == mode::random) return broken(f);
    if (x < (o_.how == mode::full ? 0.05 : 0.12)) return blueflame(f);
    if (x < 0.75) {
      const bool send = x < 0.5;
      const std::uint32_t q = qp();
      std::uint32_t& index = (send ? sq_ : rq_)[q];
      f.kind = send ? write_kind::sq : write_kind::rq;
      f.number = name_of(q);
      f.page = page_of(f.number);
      f.value = index = (index + 1 + static_cast<std::uint32_t>(r_.below(40))) & 0xffff;
      // Two threads of software: the older doorbell comes last.
      if (!last_ && r_.chance(0.03)) f.value = (index - 1 - static_cast<std::uint32_t>(r_.below(3))) & 0xffff;
      f.offset = send ? HCA_UAR_SQ : HCA_UAR_RQ;
    } else {
      const auto n = static_cast<std::uint32_t>(r_.below(cqs_));
      const bool eq = x < 0.8;
      f.kind = eq ? write_kind::eq : write_kind::cq;
      f.offset = eq ? HCA_UAR_EQ : HCA_UAR_CQ;
      f.value = ci_[eq * cqs_ + n] += 1 + static_cast<std::uint32_t>(r_.below(1 << 12));
      f.page = eq ? std::uint16_t{0} : page_of(name_of(n + 1));
      f.number = name_of(n + 1) | static_cast<std::uint32_t>(r_.below(r_.chance(0.1) ? 256 : 3)) << 24;
    }
    return pack(f);
  }
  void next_phase() {
    if (left_-- > 0) return;
    storm_ = !storm_;
    flood_ = storm_ && r_.chance(o_.storms ? 0.3 : o_.how == mode::full ? 0 : 0.02);
    few_ = r_.chance(0.3);
    left_ = r_.below(flood_ ? 500 : storm_ ? 150 : 60);
  }
  item blueflame(write_fields& f) {
    const std::uint32_t q = qp();
    f.kind = write_kind::blueflame;
    f.number = name_of(q);
    // The RTL passes on a line in a cycle, a doorbell in two: longer WQEs close to each other are late.
    const unsigned most = o_.how == mode::full ? 2 : o_.how == mode::random && r_.chance(0.1) ? 16 : 4;
    f.blocks = static_cast<std::uint8_t>(bulk_ ? 4 : 1 + r_.below(most));
    f.bytes = std::min<std::uint32_t>(
        HCA_BF_BYTES, f.blocks * HCA_WQE_BLOCK + (r_.chance(0.2) ? static_cast<std::uint32_t>(r_.below(200)) : 0));
    f.page = page_of(f.number);
    f.offset = buffer();
    f.value = sq_[q] = (sq_[q] + f.blocks) & 0xffff;
    return pack(f);
  }
  std::uint16_t buffer() { return static_cast<std::uint16_t>(HCA_UAR_BF + r_.below(HCA_BF_BUFFERS) * HCA_BF_BYTES); }
  item broken(write_fields& f) {
    f.kind = write_kind::broken_blueflame;
    f.number = name_of(r_.chance(0.5)   ? qp()
                       : r_.chance(0.3) ? 30
                       : r_.chance(0.3) ? 28
                                        : qps_ + 1 + static_cast<std::uint32_t>(r_.below(3)));
    f.bytes = HCA_WQE_BLOCK * (1 + static_cast<std::uint32_t>(r_.below(4)));
    f.blocks = static_cast<std::uint8_t>(r_.chance(0.4)   ? 0
                                         : r_.chance(0.5) ? f.bytes / HCA_WQE_BLOCK + 1
                                                          : 17 + r_.below(239));
    if (r_.chance(0.2)) f.number |= 1U << (24 + r_.below(8));
    f.page = page_of(f.number);
    f.offset = buffer();
    f.value = static_cast<std::uint32_t>(r_.below(0x10000));
    return pack(f);
  }
  item bad(write_fields& f) {
    f.kind = write_kind::bad;
    f.number = name_of(qp());
    f.value = static_cast<std::uint32_t>(r_.next());
    switch (r_.below(8)) {
      case 0:
        f.offset = static_cast<std::uint16_t>(8 * (4 + r_.below(200)));
        break;
      case 1:
        f.bytes = 4;
        break;
      case 2:
        f.number = 0;
        break;
      case 3:
        f.number |= 1U << (24 + r_.below(8));
        f.offset = HCA_UAR_RQ;
        break;
      case 4:  // a WQE that begins where no BlueFlame buffer does
        f.offset =
            static_cast<std::uint16_t>(r_.chance(0.5) ? HCA_UAR_BF + 64 : r_.below(HCA_UAR_BF / HCA_BF_BYTES) * HCA_BF_BYTES);
        f.blocks = static_cast<std::uint8_t>(1 + r_.below(4));
        f.bytes = f.blocks * HCA_WQE_BLOCK;
        break;
      case 5:
        f.offset = static_cast<std::uint16_t>((r_.chance(0.5) ? HCA_UAR_SQ : HCA_UAR_CQ) + 1 + r_.below(7));
        break;
      case 6:
        f.blocks = 16;
        f.bytes = static_cast<std::uint32_t>(HCA_BF_BYTES + 1 + r_.below(7000));
        break;
      default:
        f.offset = HCA_UAR_BF;
        f.bytes = 32;
        break;
    }
    return pack(f);
  }

  const options& o_;
  random_stream r_;
  const std::uint32_t qps_, cqs_;
  std::vector<std::uint32_t> sq_, rq_, ci_;
  bool storm_ = true;
  bool flood_ = false;  // more than the FIFO and what waits aside can take
  bool few_ = false;    // of two QPs
  bool bulk_ = false;   // WQEs
  bool last_ = false;   // a flood
  std::uint64_t left_ = 0;
};

}  // namespace

item_stream generate_doorbells(const options& o) {
  return doorbell_generator(o).all();
}

}  // namespace hcasim::lockstep
