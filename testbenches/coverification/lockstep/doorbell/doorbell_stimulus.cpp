#include "testbenches/coverification/lockstep/doorbell/doorbell_stimulus.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "testbenches/coverification/lockstep/doorbell/doorbell_software.h"
#include "tlm/rtl/stall_source.h"

namespace hcasim::lockstep {
namespace {

// Makes bursts with which the FIFO overflows, and quiet times in which the FIFO empties.
class doorbell_generator : doorbell_software {
 public:
  explicit doorbell_generator(const options& o) : doorbell_software(o) {}
  item_stream all() {
    item_stream s;
    s.reserve(o_.requests);
    for (std::uint32_t q = 1; q <= qps_; ++q)
      s.push_back(pack_qp(names_.of_qp(q), record_of(q), first_index(q), record_fails(q)));
    while (s.size() < o_.requests) {
      // At the end, no later doorbell makes up for a lost one.
      last_ = random() && s.size() + (o_.storms ? 600 : 300) >= o_.requests;
      very_last_ = last_ && !o_.storms && s.size() + 50 >= o_.requests;
      bulk_ = o_.storms && random() && !last_ && s.size() >= o_.requests / 2;
      if (random() && !o_.storms) meet_a_long_stall(s.size() + 1);
      s.push_back(next());
    }
    s.resize(o_.requests);
    return s;
  }

 private:
  enum class pace : std::uint8_t { flood, busy, sparse };  // streams with equal cycles

  [[nodiscard]] bool floods() const { return o_.how == mode::full && o_.storms; }
  item next() {
    write_fields f;
    f.page = static_cast<std::uint16_t>(r_.below(HCA_UAR_COUNT));
    if (moves_ && met_.empty() && !o_.storms) return of_moved_record(f);
    if (!random()) return next_exact(f);
    if (!met_.empty()) {
      f = met_.front();
      met_.pop_front();
      return pack(f);
    }
    if (aside_ > 0) return of_a_crowd_aside(f);
    if (behind_ > 0) return of_those_behind(f);
    next_phase();
    if (!o_.storms && !last_ && r_.chance(0.004)) lose_twice(static_cast<std::uint32_t>(r_.below(4)));
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
      write(f, very_last_ ? mixes::completions : last_ ? mixes::of_qps : flood_ && !o_.storms ? mixes::without_queues : *mix_);
    }
    return pack(f);
  }
  // Returns the gap in bursts: doorbells come faster than they leave. Under heavy stalls the RTL's queue of leaving doorbells
  // would fill, and the RTL alone would merge more of the doorbells behind.
  [[nodiscard]] std::uint64_t burst_gap() const { return crawls() ? 8 : 2; }
  [[nodiscard]] bool crawls() const { return o_.stall > 0.5 && !o_.storms; }
  void next_phase() {
    if (left_-- > 0) return;
    moves_ = true;
    if (flood_ && !o_.storms) aside_ = 4 * crowd_of_cqs;
    storm_ = !storm_;
    flood_ = storm_ && (o_.storms ? r_.chance(0.3) : ++storm_turn_ % floods_apart == 1);
    few_ = r_.chance(crawls() ? 0.05 : 0.3) ? 2 : 0;
    paired_ = few_ > 0 && r_.chance(0.7);
    if (paired_) names_.next_pair(pair_);
    if (flood_) names_.next_queues();
    left_ = !flood_ ? r_.below(storm_ ? 150 : 60) : o_.storms ? r_.below(500) : 2 * fifo_depth + 20 + r_.below(140);
  }
  // Moves a record to an address with one bit. The QP then loses a doorbell, so that the record is read.
  item of_moved_record(write_fields& f) {
    const std::uint32_t bit = move_turn_ % 64;
    const std::uint32_t q = names_.at_address(bit);
    if (!std::exchange(moved_, !moved_))
      return pack_qp(names_.of_qp(q), std::uint64_t{1} << bit, first_index(q), record_fails(q));
    moves_ = false;
    ++move_turn_;
    broken(f, names_.of_qp(q));
    f.gap += static_cast<std::uint32_t>(std::exchange(rest_, 0));
    make_room(f);
    return pack(f);
  }
  // Rings each CQ and EQ twice at the end of a flood, so that one doorbell of each finds a full FIFO. More doorbells wait aside
  // than there is room for, and few writes wait behind them.
  item of_a_crowd_aside(write_fields& f) {
    const std::uint32_t n = 2 * crowd_of_cqs - 1 - --aside_ / 2;  // twins first, queues without floods last
    completion(f, n % 2 != 0, n / 2);
    if (aside_ == 0) rest_ = 500;
    return pack(f);
  }

  // Delays the lines of a WQE that has passed an idle unit: the write is longer than the WQE, or other lines come first.
  // Meanwhile doorbells of two QPs wait, and their records are read.
  item of_those_behind(write_fields& f) {
    const std::uint32_t before = 8 - behind_--;
    const std::uint32_t few = few_;
    if (before == 0) {
      for (std::uint32_t& q : lost_) q = any_qp();
      alike_ = r_.chance(0.5);
      if (alike_) names_.next_pair(lost_);
      three_ = alike_ && r_.chance(0.4);
      one_ = alike_ && r_.chance(0.5);
      crowded_ = !three_ && r_.chance(0.05);
    }
    f.gap = static_cast<std::uint16_t>(before == 0 ? 250 : r_.below(4));
    only_ = lost_[before / 3 % 2];
    if (three_ && before < 3) {  // two records wait for a third one
      broken(f, names_.of_qp(before == 0 ? any_qp() : lost_[before - 1]));
    } else if (before == (crowded_ ? 2 : 0)) {
      only_ = alike_ ? lost_[r_.below(2)] : any_qp();
      blueflame(f);
      f.bytes = HCA_WQE_BLOCK * (crowded_ ? f.blocks : most_lines);
    } else if (crowded_ ? before < 2 : before % 3 == 2 && !three_ && !(one_ && before == 5)) {
      broken(f, names_.of_qp(only_));
      f.blocks = 0;
      f.bytes = HCA_WQE_BLOCK * (crowded_ ? most_lines : 1);
    } else {
      queue_of_qp(f, r_.chance(0.6));
    }
    only_ = 0;
    few_ = few;
    return pack(f);
  }

  // Makes streams with equal cycles: floods, full pipelines, and doorbells that find the unit idle while records are read. WQEs
  // of more than two blocks come after a long time: the RTL passes on a line in one cycle, and a doorbell in two.
  item next_exact(write_fields& f) {
    begins_ = left_ == 0 && met_.empty();
    if (begins_) next_pace();
    full_of_lines_ = pace_ == pace::flood && mix_ == &mixes::wqes;
    if (!met_.empty()) {
      f = met_.front();
      met_.pop_front();
      make_room(f);
      return pack(f);
    }
    --left_;
    if (crowd_lines_ > 0) return of_a_crowd(f);
    f.gap = gap_of_pace();
    alone_ = o_.how == mode::single || (pace_ != pace::flood && r_.chance(0.02));
    if (alone_ && o_.how == mode::full) f.gap = static_cast<std::uint16_t>(300 + r_.below(100));
    if (begins_ && r_.chance(0.2)) rest_ += 50 + r_.below(400);
    f.gap = static_cast<std::uint16_t>(f.gap + std::exchange(rest_, 0));
    if (pace_ == pace::flood && left_ < 4) {
      completion(f, left_ % 2 != 0, static_cast<std::uint32_t>(left_ / 2));  // two queues whose numbers differ in one bit
    } else {
      write(f, pace_ == pace::flood && left_ < 16 ? mixes::aside : *mix_);
    }
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
    moves_ = true;
    const pace before = pace_;
    pace_ = floods() && before != pace::flood && r_.chance(0.6) ? pace::flood : r_.chance(0.4) ? pace::busy : pace::sparse;
    few_ = r_.chance(0.6) ? static_cast<std::uint32_t>(1 + r_.below(pace_ == pace::flood ? 7 : 3)) : 0;
    most_gap_ = r_.chance(0.5) ? 12 : 40;
    static constexpr const mix* all[] = {&mixes::wqes, &mixes::sends, &mixes::receives, &mixes::completions, &mixes::usual};
    mix_ = pace_ == pace::flood ? all[flood_turn_++ % std::size(all)]
           : r_.chance(0.6)     ? &mixes::lost
                                : all[r_.below(std::size(all))];
    if (before == pace::flood && r_.chance(0.6)) {
      pace_ = pace::sparse;
      most_gap_ = 3 + r_.below(6);
      mix_ = &mixes::aside;
    }
    paired_ = pace_ != pace::flood && r_.chance(0.4);
    if (paired_) names_.next_pair(pair_);
    if (pace_ == pace::flood) names_.next_queues();
    only_ = pace_ == pace::busy && r_.chance(0.6) ? any_qp() : 0;
    if (only_ > 0) mix_ = &mixes::of_one_qp;
    left_ = pace_ == pace::flood ? 130 + r_.below(200) : 20 + r_.below(60);
    const std::uint32_t turn = floods() ? ++pace_turn_ % 16 : 0;
    if (turn == 4 || turn == 12) {
      crowd_lines_ = turn == 4 ? 1 : most_lines;
      left_ = crowd_lines_ == 1 ? qps_ + crowd_strangers : 24;
    } else if (turn == 6 || turn == 10) {
      fill_the_fifo();
      if (turn == 6)
        cancel_the_last();
      else
        ring_those_leaving();
    } else if (o_.how == mode::full) {
      meet_at_a_record();
    }
  }
  // Adds a write for which `make` is called with the QP as the only one; 0 = any.
  template <class Make>
  void add(std::uint32_t gap, std::uint32_t q, Make&& make) {
    write_fields& f = met_.emplace_back();
    f.page = static_cast<std::uint16_t>(r_.below(HCA_UAR_COUNT));
    f.gap = gap;
    const std::uint32_t only = std::exchange(only_, q);
    make(f);
    only_ = only;
  }
  // Fills the FIFO of an idle unit, in which every second write then finds room. Between them each queue rings and waits aside.
  void fill_the_fifo() {
    const auto receives = [&](std::uint32_t gap) { add(gap, any_safe(), [&](write_fields& f) { queue_of_qp(f, false); }); };
    receives(700 + static_cast<std::uint32_t>(std::exchange(rest_, 500)));
    for (std::uint32_t i = 0; i < 2 * fifo_depth; ++i) receives(0);
    for (std::uint32_t i = 0; i < 2 * cqs_; ++i) {
      ring_a_queue(0, i);
      receives(0);
    }
  }
  void ring_a_queue(std::uint32_t gap, std::uint32_t i) {
    add(gap, 0, [&](write_fields& f) { completion(f, i % 2 != 0, i / 2); });
  }
  // The last doorbells in the FIFO are of one QP, and its record cancels them while others wait aside.
  void cancel_the_last() {
    const std::uint32_t q = any_safe();
    for (std::uint32_t i = 0; i < 12; ++i) add(0, q, [&](write_fields& f) { queue_of_qp(f, false); });
  }
  // Rings queues in the cycles in which doorbells aside leave: two of the last ones, and then the one that leaves.
  void ring_those_leaving() {
    const std::uint32_t last = 2 * cqs_ - 1;
    ring_a_queue(2 * fifo_depth + 1, last);
    ring_a_queue(1, last - 1);
    ring_a_queue(1, 2);
  }
  // The record of a QP comes while older doorbells of it leave the FIFO, behind newer ones.
  void meet_older_ones() {
    const std::uint32_t q = any_safe();
    add(700, q, [&](write_fields& f) { broken(f, names_.of_qp(q)); });
    for (std::uint32_t i = 0; i < 24; ++i) {
      const std::uint32_t gap = i == 0 ? 4 : i < 4 ? 0 : 1;
      add(gap, q, [&](write_fields& f) {
        std::uint32_t& index = (i % 2 ? sq_ : rq_)[q];
        const std::uint32_t newest = i < 2 ? (index + 3) & 0xffff : index;
        queue_of_qp(f, i % 2 != 0);
        index = newest;
        f.value = i < 2 ? newest : (newest - 1) & 0xffff;
      });
    }
  }
  // A WQE is merged with a doorbell that leaves long before the WQE's lines are due. The next WQE finds an idle unit.
  void merge_a_wqe() {
    const std::uint32_t q = any_safe();
    add(700, any_safe(), [&](write_fields& f) { queue_of_qp(f, false); });
    add(0, any_safe(), [&](write_fields& f) { queue_of_qp(f, false); });
    add(0, q, [&](write_fields& f) { queue_of_qp(f, true); });
    for (const std::uint32_t blocks : {4U, 1U})
      add(blocks > 1 ? 0 : 100, q, [&](write_fields& f) { wqe_of_blocks(f, blocks); });
  }
  void wqe_of_blocks(write_fields& f, std::uint32_t blocks) {
    blueflame(f);
    sq_[only_] = f.value = (f.value - f.blocks + blocks) & 0xffff;
    f.blocks = static_cast<std::uint8_t>(blocks);
    f.bytes = HCA_WQE_BLOCK * blocks;
  }
  // Returns a QP whose lost doorbells are recovered.
  std::uint32_t any_safe() {
    const std::uint32_t few = few_, only = only_;
    const std::uint32_t q = any_qp();
    few_ = few;
    only_ = only;
    return q;
  }
  // Offers doorbells or WQEs behind one with a long stall, so that all queues on the way out fill up. `count`: number of the
  // next item. The unit is idle before, so both sides stall the same one. None of them merges, since more wait in the RTL's
  // FIFO.
  void meet_a_long_stall(std::uint64_t count) {
    const std::uint64_t place = count % rtl::stall_source::long_period;
    if (place != long_stall_of_doorbells && place != long_stall_of_lines) return;
    const std::deque<write_fields> others = std::exchange(met_, {});
    const bool wqes = place == long_stall_of_lines;
    for (std::uint32_t i = 0; i < 24; ++i) {
      const std::uint32_t blocks = i < 8 ? 2 : 1;
      const std::uint32_t gap = i == 0 ? 600 : wqes ? 4 * blocks : static_cast<std::uint32_t>(r_.below(3));
      add(gap, any_safe(), [&](write_fields& f) {
        if (wqes) {
          wqe_of_blocks(f, blocks);
        } else if (i % 3 == 2) {
          completion(f, r_.chance(0.5));
        } else {
          queue_of_qp(f, false);
        }
      });
    }
    met_.insert(met_.end(), others.begin(), others.end());
    rest_ += 400;
  }
  // Loses a second doorbell at about the cycle of the QP's turn.
  void lose_twice(std::uint32_t gap) {
    const std::uint32_t q = any_safe();
    const auto again = static_cast<std::uint32_t>(r_.below(10));
    for (const auto& [number, wait] : {std::pair{qp_without_record, gap}, {q, 0U}, {q, again}}) {
      write_fields& f = met_.emplace_back();
      f.gap = wait;
      broken(f, names_.of_qp(number));
    }
  }
  // The record of a QP is read while a doorbell of another one waits with its WQE, leaves the FIFO or passes at once. Their
  // names differ in one bit, and the other one's index is ahead.
  void meet_at_a_record() {
    constexpr std::uint32_t ways = 7, first_qp = 1;
    const std::uint32_t way = meet_turn_ % ways;
    std::uint32_t pair[2];
    names_.pair_of(meet_turn_++ / ways, pair);
    const bool send = way != 2 && way != 4;
    const std::vector<std::uint32_t>& index = send ? sq_ : rq_;
    if (static_cast<std::int16_t>(index[pair[0]] - index[pair[1]]) > 0) std::swap(pair[0], pair[1]);
    alone_ = false;
    const auto is_lost = [&](write_fields& f) { broken(f, names_.of_qp(only_)); };
    const auto rest = static_cast<std::uint32_t>(300 + r_.below(100));
    const auto held = [&](write_fields& f) {
      do blueflame(f);
      while (f.blocks > 2);
    };
    if (way == 5) {
      lose_twice(rest);
      // A held WQE leaves in the cycle in which the record of its own QP is asked for.
      const std::uint32_t own = any_safe();
      add(700, own, held);
      const std::uint32_t lines = (met_.back().bytes + HCA_WQE_BLOCK - 1) / HCA_WQE_BLOCK;
      add(4 * lines - 1, own, is_lost);
      meet_older_ones();
      merge_a_wqe();
    } else if (way == 6) {  // the other one waits behind a WQE, and its index is behind
      add(rest, pair[1], is_lost);
      add(static_cast<std::uint32_t>(16 + r_.below(6)), first_qp, held);
      met_.back().bytes = HCA_WQE_BLOCK * 5;
      add(0, pair[0], [&](write_fields& f) { queue_of_qp(f, send); });
    } else if (way == 0) {
      add(rest, pair[1], held);
      add(static_cast<std::uint32_t>(r_.below(3)), pair[0], is_lost);
    } else {
      add(rest, pair[0], is_lost);
      const auto soon = static_cast<std::uint32_t>(6 + r_.below(6));
      const bool queued = way < 3;
      if (queued) add(soon, first_qp, [&](write_fields& f) { queue_of_qp(f, !send); });
      add(queued ? 0 : soon, pair[1], [&](write_fields& f) { queue_of_qp(f, send); });
    }
    met_.front().gap += static_cast<std::uint32_t>(std::exchange(rest_, rest));  // the rest before comes first
  }
  // Makes more broken writes than there is room for, either in the table of dropped QPs or in the count of lines. The RTL takes
  // the last ones later. Nothing shows this delay: no record was due before, and no write follows for a long time.
  item of_a_crowd(write_fields& f) {
    if (begins_) f.gap = 20'000;
    f.kind = write_kind::broken_blueflame;
    f.number = names_.of_qp(static_cast<std::uint32_t>(left_ + 1));
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
  // Waits until the lines of earlier writes have come, one a cycle, whether their writes are taken or not. The RTL alone delays
  // a write behind 16 writes with missing lines.
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

  static constexpr std::uint32_t fifo_depth = 64;
  static constexpr std::uint32_t floods_apart = 40;  // storm phases

  std::uint64_t left_ = 0;  // writes of this phase
  std::uint32_t meet_turn_ = 0, flood_turn_ = 0, pace_turn_ = 0, storm_turn_ = 0;
  std::deque<write_fields> met_;
  std::uint32_t move_turn_ = 0;
  bool moves_ = false;  // a record moves next
  bool moved_ = false;
  std::uint64_t most_gap_ = 60;
  std::uint64_t rest_ = 0;  // cycles before the next write
  const mix* mix_ = &mixes::usual;
  // Random streams.
  bool storm_ = true;
  bool flood_ = false;      // more doorbells than fit in the FIFO and aside
  bool very_last_ = false;  // the flood's end, with doorbells aside
  std::uint32_t aside_ = 0;
  std::uint32_t behind_ = 0;  // writes behind a WQE that are still to come
  std::uint32_t lost_[2] = {};
  bool alike_ = false;  // QPNs that differ in one bit
  bool three_ = false;  // records that wait for a third one
  bool one_ = false;    // only the first QP loses a doorbell
  bool crowded_ = false;
  // Streams with equal cycles.
  pace pace_ = pace::busy;
  bool begins_ = false;
  std::uint32_t crowd_lines_ = 0;  // lines of each write of a crowd; 0 = no crowd
  std::uint64_t at_ = 0;           // cycle
  std::uint64_t lines_come_ = 0;   // cycle of the last line
};

}  // namespace

item_stream generate_doorbells(const options& o) {
  return doorbell_generator(o).all();
}

}  // namespace hcasim::lockstep
