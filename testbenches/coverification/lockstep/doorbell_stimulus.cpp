#include "testbenches/coverification/lockstep/doorbell_stimulus.h"

#include <algorithm>
#include <utility>
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
constexpr std::uint32_t crowd_of_cqs = 9;  // of these and as many EQs more than wait aside in the RTL
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
// Returns where the indices of a QP begin: those of every second one soon wrap around.
std::uint16_t first_index(std::uint32_t number) {
  return number % 2 ? 0xff00 : 0;
}

// Kinds of software's writes, as shares of all; the rest rings CQs.
struct mix {
  double bad, broken, blueflame, send, receive, event;
};
constexpr mix usual{0.02, 0.02, 0.08, 0.38, 0.25, 0.05};
constexpr mix sends{0.01, 0.02, 0.1, 0.8, 0.03, 0.01};
constexpr mix receives{0.01, 0.02, 0.02, 0.05, 0.85, 0.01};
constexpr mix completions{0.01, 0.02, 0.02, 0.1, 0.05, 0.3};
constexpr mix wqes{0.02, 0.05, 0.7, 0.15, 0.03, 0.01};
constexpr mix lost{0.02, 0.15, 0.3, 0.25, 0.2, 0.01};    // of a broken write the record is read
constexpr mix aside{0.1, 0.03, 0.02, 0.08, 0.08, 0.25};  // of what waits aside, while and after it does
constexpr mix of_one_qp{0.01, 0.08, 0.06, 0.3, 0.54, 0};
// A flood of QPs alone fills the table of those that were dropped: queues that wait aside stop software before.
constexpr mix of_qps{0, 0, 0, 0.29, 0.71, 0};
// A doorbell that waits aside while a flood goes on, on one side and not on the other, is late by all of it.
constexpr mix without_queues{0.02, 0.03, 0.1, 0.5, 0.35, 0};

// Bursts that overflow the FIFO, and quiet times in which it empties.
class doorbell_generator {
 public:
  explicit doorbell_generator(const options& o) : o_(o), r_(o.seed, "doorbells"), qps_(qps_of(o)), cqs_(cqs_of(o)) {
    for (std::uint32_t q = 0; q <= qps_; ++q) sq_.push_back(first_index(q));
    rq_ = sq_;
    for (std::uint32_t n = 0; n < 2 * std::max(cqs_, crowd_of_cqs); ++n)
      ci_.push_back(static_cast<std::uint32_t>(r_.next()) | (n % 2 ? 0xffff0000 : 0));
  }
  item_stream all() {
    item_stream s;
    s.reserve(o_.requests);
    for (std::uint32_t q = 1; q <= qps_; ++q) s.push_back(pack_qp(name_of(q), record_of(q), first_index(q), record_fails(q)));
    while (s.size() < o_.requests) {
      // No later doorbell makes good a loss at the end.
      last_ = random() && s.size() + (o_.storms ? 600 : 300) >= o_.requests;
      very_last_ = last_ && !o_.storms && s.size() + 50 >= o_.requests;
      bulk_ = o_.storms && random() && !last_ && s.size() >= o_.requests / 2;
      s.push_back(next());
    }
    s.resize(o_.requests);
    return s;
  }

 private:
  enum class pace : std::uint8_t { flood, busy, sparse };  // of streams whose cycles must be equal

  [[nodiscard]] bool random() const { return o_.how == mode::random; }
  [[nodiscard]] bool floods() const { return o_.how == mode::full && o_.storms; }
  // QPs whose record cannot be read lose what is dropped: they are rung only when nothing can be.
  static bool safe(std::uint32_t number) { return number % 31 != 30 && number % 29 != 28; }
  std::uint32_t qp() {
    while (only_ == 0) {
      const auto q = static_cast<std::uint32_t>(1 + r_.below(few_ > 0 ? few_ : r_.chance(0.3) ? 6 : qps_));
      if (safe(q)) return q;
    }
    return only_;
  }
  std::uint32_t any_qp() {
    only_ = few_ = 0;
    return qp();
  }
  // A QP is rung through a page of its own.
  static std::uint16_t page_of(std::uint32_t qpn) {
    return static_cast<std::uint16_t>((qpn & 0xffffff) * 0x9e37U % HCA_UAR_COUNT);
  }
  item next() {
    write_fields f;
    f.page = static_cast<std::uint16_t>(r_.below(HCA_UAR_COUNT));
    if (!random()) return next_exact(f);
    if (aside_ > 0) return of_a_crowd_aside(f);
    if (behind_ > 0) return of_those_behind(f);
    next_phase();
    if (!storm_ && !o_.storms && !bulk_ && !last_ && r_.chance(0.03)) {
      behind_ = 8;
      return of_those_behind(f);
    }
    f.gap = static_cast<std::uint16_t>(bulk_             ? 16 + r_.below(8)
                                       : flood_ || last_ ? 0
                                                         : r_.below(storm_ ? burst_gap() : most_gap_));
    f.gap = static_cast<std::uint16_t>(f.gap + std::exchange(rest_, 0));
    if (bulk_ && r_.chance(0.9)) {
      blueflame(f);
    } else {
      write(f, very_last_ ? completions : last_ ? of_qps : flood_ && !o_.storms ? without_queues : *mix_);
    }
    return pack(f);
  }
  // In bursts doorbells come faster than they leave, but not faster than stalls let them out of the RTL: what waits there and
  // not in the model is merged.
  [[nodiscard]] std::uint64_t burst_gap() const { return o_.stall > 0.5 && !o_.storms ? 6 : 2; }
  // One of them, by its share.
  void write(write_fields& f, const mix& m) {
    double x = r_.unit();
    const auto chosen = [&x](double share) { return (x -= share) < 0; };
    if (chosen(m.bad)) return bad(f);
    if (chosen(m.broken)) return broken(f);
    if (chosen(m.blueflame)) return blueflame(f);
    if (chosen(m.send)) return queue_of_qp(f, true);
    if (chosen(m.receive)) return queue_of_qp(f, false);
    completion(f, chosen(m.event));
  }
  void queue_of_qp(write_fields& f, bool send) {
    const std::uint32_t q = qp();
    std::uint32_t& index = (send ? sq_ : rq_)[q];
    f.kind = send ? write_kind::sq : write_kind::rq;
    f.number = name_of(q);
    f.page = page_of(f.number);
    f.offset = send ? HCA_UAR_SQ : HCA_UAR_RQ;
    // Two threads of software: the older doorbell comes last, or one comes twice.
    const bool late = !last_ && index != first_index(q) && r_.chance(only_ > 0 ? 0.4 : random() ? 0.03 : 0.15);
    if (!late) index = (index + 1 + static_cast<std::uint32_t>(r_.below(40))) & 0xffff;
    f.value = late ? (index - static_cast<std::uint32_t>(r_.below(r_.chance(0.5) ? 4 : 40))) & 0xffff : index;
  }
  void completion(write_fields& f, bool eq) {
    completion(f, eq, static_cast<std::uint32_t>(r_.below(few_ > 0 && !random() ? few_ : cqs_)));
  }
  void completion(write_fields& f, bool eq, std::uint32_t n) {
    f.kind = eq ? write_kind::eq : write_kind::cq;
    f.offset = eq ? HCA_UAR_EQ : HCA_UAR_CQ;
    f.value = ci_[2 * n + eq] += 1 + static_cast<std::uint32_t>(r_.below(1 << 12));
    f.page = eq ? std::uint16_t{0} : page_of(name_of(n + 1));
    f.number = name_of(n + 1) | static_cast<std::uint32_t>(r_.below(r_.chance(0.1) ? 256 : 3)) << 24;
  }
  void next_phase() {
    if (left_-- > 0) return;
    if (flood_ && !o_.storms) aside_ = 4 * crowd_of_cqs;
    storm_ = !storm_;
    flood_ = storm_ && r_.chance(o_.storms ? 0.3 : 0.02);
    few_ = r_.chance(0.3) ? 2 : 0;
    left_ = r_.below(!flood_ ? storm_ ? 150 : 60 : o_.storms ? 500 : 300);
  }
  // At the end of a flood each CQ and EQ is rung twice: once in a cycle in which the FIFO is full. More of them wait aside than
  // there is room for, and few writes wait behind.
  item of_a_crowd_aside(write_fields& f) {
    const std::uint32_t n = 2 * crowd_of_cqs - 1 - --aside_ / 2;  // those that floods do not ring come last
    completion(f, n % 2 != 0, n / 2);
    if (aside_ == 0) rest_ = 500;
    return pack(f);
  }

  // A WQE that an idle unit has let through is long in coming: it takes more lines than it has, or others come before. Behind
  // it wait doorbells of two QPs, and what their records tell of.
  item of_those_behind(write_fields& f) {
    const std::uint32_t before = 8 - behind_--;
    const std::uint32_t few = few_;
    if (before == 0) {
      lost_[0] = any_qp();
      lost_[1] = any_qp();
      crowded_ = r_.chance(0.05);
    }
    f.gap = static_cast<std::uint16_t>(before == 0 ? 250 : r_.below(4));
    only_ = lost_[before / 3 % 2];
    if (before == (crowded_ ? 2 : 0)) {
      only_ = any_qp();
      blueflame(f);
      f.bytes = HCA_WQE_BLOCK * (crowded_ ? f.blocks : most_lines);
    } else if (crowded_ ? before < 2 : before % 3 == 2) {
      broken(f, name_of(only_));
      f.blocks = 0;
      f.bytes = HCA_WQE_BLOCK * (crowded_ ? most_lines : 1);
    } else {
      queue_of_qp(f, r_.chance(0.6));
    }
    only_ = 0;
    few_ = few;
    return pack(f);
  }

  // Streams whose cycles must be equal: floods, pipelines that are full, and doorbells that find the unit idle while records
  // are read. WQEs of more than two blocks come after a long time: the RTL passes on a line in a cycle, a doorbell in two.
  item next_exact(write_fields& f) {
    begins_ = left_ == 0;
    if (begins_) next_pace();
    --left_;
    if (crowd_lines_ > 0) return of_a_crowd(f);
    f.gap = gap_of_pace();
    alone_ = o_.how == mode::single || (pace_ != pace::flood && r_.chance(0.02));
    if (alone_ && o_.how == mode::full) f.gap = static_cast<std::uint16_t>(300 + r_.below(100));
    if (begins_ && r_.chance(0.2)) rest_ += 50 + r_.below(400);
    f.gap = static_cast<std::uint16_t>(f.gap + std::exchange(rest_, 0));
    write(f, pace_ == pace::flood && left_ < 16 ? aside : *mix_);
    make_room(f);
    return pack(f);
  }
  std::uint16_t gap_of_pace() {
    switch (pace_) {
      case pace::flood:
        return 0;
      case pace::sparse:
        return static_cast<std::uint16_t>(r_.below(most_gap_));
      default:
        if (only_ > 0 && r_.chance(0.6)) return 0;
        return static_cast<std::uint16_t>(r_.chance(0.7) ? 1 : 1 + r_.below(8));
    }
  }
  void next_pace() {
    const pace before = pace_;
    pace_ = floods() && before != pace::flood && r_.chance(0.6) ? pace::flood : r_.chance(0.4) ? pace::busy : pace::sparse;
    few_ = r_.chance(0.6) ? static_cast<std::uint32_t>(1 + r_.below(pace_ == pace::flood ? 7 : 3)) : 0;
    most_gap_ = r_.chance(0.5) ? 12 : 40;
    static constexpr const mix* mixes[] = {&usual, &sends, &receives, &completions, &wqes};
    mix_ = pace_ != pace::flood && r_.chance(0.6) ? &lost : mixes[r_.below(std::size(mixes))];
    if (before == pace::flood && r_.chance(0.6)) {
      pace_ = pace::sparse;
      most_gap_ = 3 + r_.below(6);
      mix_ = &aside;
    }
    only_ = pace_ == pace::busy && r_.chance(0.6) ? any_qp() : 0;
    if (only_ > 0) mix_ = &of_one_qp;
    left_ = pace_ == pace::flood ? 130 + r_.below(200) : 20 + r_.below(60);
    if (!floods() || !r_.chance(0.08)) return;
    crowd_lines_ = r_.chance(0.5) ? 1 : most_lines;
    left_ = crowd_lines_ == 1 ? qps_ + crowd_strangers : 24;
  }
  // More broken writes than there is room for: of QPs whose record is to be read, or with more lines than come meanwhile. The
  // RTL takes the last ones later, of which nothing is heard: nothing was to be recovered before, and long after it nothing
  // comes.
  item of_a_crowd(write_fields& f) {
    if (begins_) f.gap = 20'000;
    f.kind = write_kind::broken_blueflame;
    f.number = name_of(static_cast<std::uint32_t>(left_ + 1));
    f.page = page_of(f.number);
    f.offset = buffer();
    const std::uint32_t lines = crowd_lines_ == 1 ? 1 : crowd_lines_ - static_cast<std::uint32_t>(r_.below(6));
    f.bytes = lines * HCA_WQE_BLOCK;
    at_ += f.gap + 1;
    lines_come_ = std::max(lines_come_, at_) + lines;
    if (left_ == 0) {
      crowd_lines_ = 0;
      rest_ = 4'000;
    }
    return pack(f);
  }
  // Lines come one a cycle, of writes that are not taken too. A write while those of 16 have not come is late, in the RTL
  // alone.
  void make_room(write_fields& f) {
    at_ += f.gap + 1;
    if (f.kind != write_kind::blueflame && f.kind != write_kind::broken_blueflame) return;
    const std::uint64_t lines = (f.bytes + HCA_WQE_BLOCK - 1) / HCA_WQE_BLOCK;
    if (const std::uint64_t free = at_ + 12; lines_come_ > free) {
      f.gap = static_cast<std::uint16_t>(f.gap + lines_come_ - free);
      at_ += lines_come_ - free;
    }
    lines_come_ = std::max(lines_come_, at_) + lines;
  }

  // So many WQEs that no room is left for their lines: they come one a cycle and are taken in four.
  [[nodiscard]] bool full_of_lines() const { return pace_ == pace::flood && mix_ == &wqes; }
  void blueflame(write_fields& f) {
    const std::uint32_t q = qp();
    f.kind = write_kind::blueflame;
    f.number = name_of(q);
    const unsigned most = r_.chance(0.1) ? HCA_WQE_MAX_BLOCKS : random() || alone_ ? 4 : full_of_lines() ? 1 : 2;
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
    broken(f, name_of(r_.chance(0.5)   ? qp()
                      : r_.chance(0.3) ? 30
                      : r_.chance(0.3) ? 28
                                       : qps_ + 1 + static_cast<std::uint32_t>(r_.below(3))));
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
  // Half of them are doorbells but for one thing.
  void bad(write_fields& f) {
    switch (r_.below(9)) {
      case 0:
        any_bell(f);
        f.bytes = static_cast<std::uint32_t>(1 + r_.below(16));
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
      case 4:  // a WQE that begins where no BlueFlame buffer does
        f.number = name_of(qp());
        f.offset =
            static_cast<std::uint16_t>(r_.chance(0.5) ? HCA_UAR_BF + 64 : r_.below(HCA_UAR_BF / HCA_BF_BYTES) * HCA_BF_BYTES);
        f.blocks = static_cast<std::uint8_t>(1 + r_.below(4));
        f.bytes = f.blocks * HCA_WQE_BLOCK;
        break;
      case 5:
        f.number = name_of(qp());
        f.offset = static_cast<std::uint16_t>(8 * (4 + r_.below(200)));
        break;
      case 6:
      case 7:
        f.number = name_of(qp());
        f.page = static_cast<std::uint16_t>(f.page % (HCA_UAR_COUNT - 2));  // it ends in the UAR pages
        f.offset = r_.chance(0.5) ? buffer() : std::uint16_t{0};
        f.blocks = HCA_WQE_MAX_BLOCKS;
        f.bytes = static_cast<std::uint32_t>(HCA_BF_BYTES + 1 + r_.below(r_.chance(0.3) ? 4 : 7000));
        break;
      default:
        f.number = name_of(qp());
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
  std::vector<std::uint32_t> sq_, rq_, ci_;
  std::uint64_t left_ = 0;  // of this phase
  std::uint32_t few_ = 0;   // of so many QPs; 0 = of any
  std::uint32_t only_ = 0;  // of this QP; 0 = of others
  std::uint64_t most_gap_ = 60;
  std::uint64_t rest_ = 0;  // before the next write
  const mix* mix_ = &usual;
  // random
  bool storm_ = true;
  bool flood_ = false;      // more than the FIFO and what waits aside can take
  bool bulk_ = false;       // WQEs
  bool last_ = false;       // a flood
  bool very_last_ = false;  // and what waits aside at its end
  std::uint32_t aside_ = 0;
  std::uint32_t behind_ = 0;  // so many writes of those that wait behind a WQE are to come
  std::uint32_t lost_[2] = {};
  bool crowded_ = false;
  // the others
  pace pace_ = pace::busy;
  bool begins_ = false;
  bool alone_ = false;             // the unit is idle when it comes
  std::uint32_t crowd_lines_ = 0;  // of each write of a crowd; 0 = there is none
  std::uint64_t at_ = 0;           // cycle
  std::uint64_t lines_come_ = 0;   // until then
};

}  // namespace

item_stream generate_doorbells(const options& o) {
  return doorbell_generator(o).all();
}

}  // namespace hcasim::lockstep
