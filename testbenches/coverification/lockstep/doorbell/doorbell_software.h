// Software's writes in the doorbell unit's streams, one at a time: doorbells of each kind, and other writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "firmware/abi/registers.h"
#include "firmware/abi/wqe.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_mix.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_names.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_stimulus.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

// Returns the number of QPs: as many as the tables of the RTL hold, so that the RTL never stalls software. Storms have more.
inline constexpr std::uint32_t qps_of(const options& o) {
  return o.storms && o.how == mode::random ? 120 : 60;
}
inline constexpr std::uint32_t cqs_of(const options& o) {
  return o.storms && o.how == mode::random ? 12 : 7;
}
inline constexpr std::uint32_t crowd_of_cqs = 9;  // CQs, and as many EQs: more than the RTL lets wait aside

class doorbell_software {
 protected:
  explicit doorbell_software(const options& o)
      : o_(o), r_(o.seed, "doorbells"), qps_(qps_of(o)), cqs_(cqs_of(o)), names_(qps_ + crowd_strangers) {
    for (std::uint32_t q = 0; q <= qps_; ++q) sq_.push_back(first_index(q));
    rq_ = sq_;
    for (std::uint32_t n = 0; n < 2 * std::max(cqs_, crowd_of_cqs); ++n)
      ci_.push_back(static_cast<std::uint32_t>(r_.next()) | (n % 2 ? 0xffff0000 : 0));
  }
  [[nodiscard]] bool random() const { return o_.how == mode::random; }
  std::uint32_t qp() {
    if (only_ == 0 && paired_) return pair_[r_.below(2)];
    while (only_ == 0) {
      const auto q = static_cast<std::uint32_t>(1 + r_.below(few_ > 0 ? few_ : r_.chance(0.3) ? 6 : qps_));
      if (doorbell_names::safe(q)) return q;
    }
    return only_;
  }
  std::uint32_t any_qp() {
    only_ = few_ = 0;
    const bool paired = std::exchange(paired_, false);
    const std::uint32_t q = qp();
    paired_ = paired;
    return q;
  }
  // Returns the UAR page of a QP.
  static std::uint16_t page_of(std::uint32_t qpn) {
    return static_cast<std::uint16_t>((qpn & 0xffffff) * 0x9e37U % HCA_UAR_COUNT);
  }
  // Makes a write, its kind by its share.
  void write(write_fields& f, const mix& m) {
    if (again_ != 0) return ring_again(f);
    double x = r_.unit();
    const auto chosen = [&x](double share) { return (x -= share) < 0; };
    if (chosen(m.bad)) return bad(f);
    if (chosen(m.broken)) return broken(f);
    if (chosen(m.blueflame)) return blueflame(f);
    if (chosen(m.send)) return queue_of_qp(f, true);
    if (chosen(m.receive)) return queue_of_qp(f, false);
    completion(f, chosen(m.event));
  }
  // Rings a QP while its record is asked for or read.
  void ring_again(write_fields& f) {
    const std::uint32_t only = std::exchange(only_, std::exchange(again_, 0));
    f.gap = static_cast<std::uint16_t>(r_.below(4));
    queue_of_qp(f, r_.chance(0.5));
    only_ = only;
  }
  void queue_of_qp(write_fields& f, bool send) {
    const std::uint32_t q = qp();
    std::uint32_t& index = (send ? sq_ : rq_)[q];
    f.kind = send ? write_kind::sq : write_kind::rq;
    f.number = names_.of_qp(q);
    f.page = page_of(f.number);
    f.offset = send ? HCA_UAR_SQ : HCA_UAR_RQ;
    // Two threads of software may ring the older doorbell last, or the same one twice.
    const bool late = !last_ && index != first_index(q) && r_.chance(only_ > 0 ? 0.4 : random() ? 0.03 : 0.15);
    if (!late) index = (index + 1 + static_cast<std::uint32_t>(jump())) & 0xffff;
    f.value = late ? (index - static_cast<std::uint32_t>(r_.below(r_.chance(0.5) ? 4 : 40))) & 0xffff : index;
  }
  // Returns how many more WQEs software has posted at once. Some numbers change one high bit of the index.
  std::uint64_t jump() {
    if (++jump_turn_ % 64 != 0) return r_.below(40);
    return (std::uint64_t{1} << jump_turn_ / 64 * 7 % 15) - 1;
  }
  void completion(write_fields& f, bool eq) {
    completion(f, eq, static_cast<std::uint32_t>(r_.below(few_ > 0 && !random() ? few_ : cqs_)));
  }
  void completion(write_fields& f, bool eq, std::uint32_t n) {
    f.kind = eq ? write_kind::eq : write_kind::cq;
    f.offset = eq ? HCA_UAR_EQ : HCA_UAR_CQ;
    f.value = ci_[2 * n + eq] += 1 + static_cast<std::uint32_t>(r_.below(1 << 12));
    const std::uint32_t name = names_.of_queue(n);
    f.page = eq ? std::uint16_t{0} : page_of(name);
    f.number = name | static_cast<std::uint32_t>(r_.below(r_.chance(0.1) ? 256 : 3)) << 24;
  }
  void blueflame(write_fields& f) {
    const std::uint32_t q = qp();
    f.kind = write_kind::blueflame;
    f.number = names_.of_qp(q);
    const unsigned most = r_.chance(0.1) ? HCA_WQE_MAX_BLOCKS : random() || alone_ ? 4 : full_of_lines_ ? 1 : 2;
    f.blocks = static_cast<std::uint8_t>(bulk_ ? 4 : 1 + r_.below(most));
    if (!random() && !alone_ && f.blocks > 2) f.blocks = static_cast<std::uint8_t>(std::max<unsigned>(f.blocks, 5));
    f.bytes = std::min<std::uint32_t>(
        HCA_BF_BYTES, f.blocks * HCA_WQE_BLOCK + (r_.chance(0.2) ? static_cast<std::uint32_t>(r_.below(200)) : 0));
    f.page = page_of(f.number);
    f.offset = buffer();
    f.value = sq_[q] = (sq_[q] + f.blocks) & 0xffff;
  }
  std::uint16_t buffer() { return static_cast<std::uint16_t>(HCA_UAR_BF + r_.below(HCA_BF_BUFFERS) * HCA_BF_BYTES); }
  void broken(write_fields& f) {
    const std::uint32_t q = r_.chance(0.5)   ? qp()
                            : r_.chance(0.3) ? qp_without_record
                            : r_.chance(0.3) ? 28
                                             : qps_ + 1 + static_cast<std::uint32_t>(r_.below(3));
    broken(f, names_.of_qp(q));
    if (random() && q <= qps_ && doorbell_names::safe(q) && r_.chance(0.5)) again_ = q;
    if (r_.chance(0.2)) {
      f.number = r_.chance(0.3) ? 0 : f.number | 1U << (24 + r_.below(8));
      if (r_.chance(0.5)) f.blocks = static_cast<std::uint8_t>(1 + r_.below(f.bytes / HCA_WQE_BLOCK));
      f.page = page_of(f.number);
    }
  }
  void broken(write_fields& f, std::uint32_t qpn) {
    f.kind = write_kind::broken_blueflame;
    f.number = qpn;
    f.bytes = HCA_WQE_BLOCK * (1 + static_cast<std::uint32_t>(r_.below(r_.chance(0.8) ? 4 : 16)));
    f.blocks = static_cast<std::uint8_t>(r_.chance(0.4)   ? 0
                                         : r_.chance(0.5) ? f.bytes / HCA_WQE_BLOCK + 1
                                                          : 17 + r_.below(239));
    f.page = page_of(f.number);
    f.offset = buffer();
    f.value = static_cast<std::uint32_t>(r_.below(0x10000));
  }
  // Makes a write without meaning. Half of these writes have a single mistake in a doorbell.
  void bad(write_fields& f) {
    ++bit_turn_;
    switch (r_.below(10)) {
      case 9:
        any_bell(f);
        f.offset ^= static_cast<std::uint16_t>(1U << (bit_turn_ % 10 < 3 ? bit_turn_ % 10 : bit_turn_ % 10 + 2));
        break;
      case 0:
        any_bell(f);
        f.bytes = static_cast<std::uint32_t>(r_.chance(0.5) ? 1 + r_.below(16) : sizeof(hca_doorbell) | 1U << bit_turn_ % 12);
        f.bytes += f.bytes == sizeof(hca_doorbell);
        break;
      case 1:
        any_bell(f);
        f.offset = static_cast<std::uint16_t>(f.offset + 1 + r_.below(7));
        break;
      case 2:
        any_bell(f);
        f.offset = static_cast<std::uint16_t>(f.offset + 32 * (1 + r_.below(60)));
        break;
      case 3:
        queue_of_qp(f, r_.chance(0.5));
        f.number = r_.chance(0.3) ? 0 : f.number | 1U << (24 + r_.below(8));
        break;
      case 4:  // a WQE beside the start of a BlueFlame buffer
        f.number = names_.of_qp(qp());
        f.offset = static_cast<std::uint16_t>(r_.chance(0.5) ? HCA_UAR_BF + (1U << bit_turn_ % 10)
                                                             : r_.below(HCA_UAR_BF / HCA_BF_BYTES) * HCA_BF_BYTES);
        f.blocks = static_cast<std::uint8_t>(1 + r_.below(4));
        f.bytes = f.blocks * HCA_WQE_BLOCK;
        break;
      case 5:
        f.number = names_.of_qp(qp());
        f.offset = static_cast<std::uint16_t>(8 * (4 + r_.below(200)));
        break;
      case 6:
      case 7:
        f.number = names_.of_qp(qp());
        f.page = static_cast<std::uint16_t>(f.page % (HCA_UAR_COUNT - 2));  // the write ends in the UAR pages
        f.offset = r_.chance(0.5) ? buffer() : std::uint16_t{0};
        f.blocks = HCA_WQE_MAX_BLOCKS;
        f.bytes = static_cast<std::uint32_t>(HCA_BF_BYTES + 1 + r_.below(r_.chance(0.3) ? 4 : 7000));
        break;
      default:
        f.number = names_.of_qp(qp());
        f.value = static_cast<std::uint32_t>(r_.next());
        f.offset = HCA_UAR_BF;
        f.bytes = static_cast<std::uint32_t>(16 + r_.below(48));
        break;
    }
    f.kind = write_kind::bad;
  }
  void any_bell(write_fields& f) {
    if (r_.chance(0.5)) {
      queue_of_qp(f, r_.chance(0.5));
    } else {
      completion(f, r_.chance(0.5));
    }
  }

  static constexpr std::uint32_t crowd_strangers = 12;  // QPs that were never declared
  static constexpr std::uint32_t most_lines = std::uint32_t{HCA_BF_BYTES} / HCA_WQE_BLOCK;

  const options& o_;
  random_stream r_;
  const std::uint32_t qps_, cqs_;
  doorbell_names names_;
  std::vector<std::uint32_t> sq_, rq_, ci_;
  std::uint32_t few_ = 0;   // QPs in use; 0 = all
  std::uint32_t only_ = 0;  // QP in use; 0 = others, too
  bool paired_ = false;     // two QPs in use, whose QPNs differ in one bit
  std::uint32_t pair_[2] = {};
  std::uint32_t again_ = 0;  // the QP that lost a doorbell and is rung at once; 0 = none
  bool bulk_ = false;        // mostly WQEs
  bool last_ = false;        // the flood at the end
  bool alone_ = false;       // the write finds an idle unit
  // The store of lines is full: a line comes each cycle, and a line is taken in four.
  bool full_of_lines_ = false;

 private:
  std::uint32_t jump_turn_ = 0, bit_turn_ = 0;
};

}  // namespace hcasim::lockstep
