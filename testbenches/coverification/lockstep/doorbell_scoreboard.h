// The promises to software about the doorbells that the unit passes on: none is lost or comes twice, the indices of a QP never
// run backwards nor ahead of software, a WQE has the bytes of its write, an arming is passed on.
//
// A doorbell that the unit had not taken yet when a record told it of a newer one comes after that, with its older index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "firmware/abi/registers.h"
#include "testbenches/coverification/lockstep/doorbell_stimulus.h"
#include "tlm/work.h"

namespace hcasim::lockstep {

// The WQE of a BlueFlame write; a broken one claims more blocks than were written, none, or an impossible QP.
std::vector<std::byte> wqe_of(const write_fields& f);

class doorbell_scoreboard {
 public:
  struct rung {
    bell kind = bell::send;
    std::uint32_t number = 0;
    std::uint32_t value = 0;
    std::vector<std::byte> wqe;
  };
  struct verdict {
    std::string problem;      // empty = none
    std::uint64_t place = 0;  // item that it is about
    struct item {
      std::uint64_t number;
      bool dropped;
    };
    std::vector<item> answered;  // that it is as new as
  };

  void declared(std::uint32_t qpn, std::uint16_t first) { qps_[qpn].first = first; }
  // Software writes; `place`: among the writes that were offered. Whether it is the newest of its queue.
  bool written(std::uint64_t number, bell kind, const write_fields& f, std::uint64_t place);
  // The doorbell of this item was dropped: it is answered when its QP's record has been read, or by a later one.
  void dropped(std::uint64_t number);
  // A record was read, or could not be; the unit has taken so many writes.
  void told(std::uint32_t qpn, const hca_qp_record& record, bool failed, std::uint64_t taken);
  // Takes the RTL's count of records: so many by now, with so many doorbells out of it.
  void records_taken(std::uint64_t n, std::uint64_t doorbells);
  const verdict& passed(const rung& r);
  // After the run.
  [[nodiscard]] std::string never_passed() const;

  static std::uint64_t key(bell kind, std::uint32_t number) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | (number & 0xffffff);
  }

 private:
  struct waiting {
    std::uint64_t number;
    std::uint32_t value;
    bool dropped = false;
  };
  struct doorbell_write {
    std::uint32_t value;
    std::uint64_t place;
    bool late;  // software had written a newer one before
  };
  struct sample {
    hca_qp_record record;
    std::uint64_t taken;
  };
  struct qp {
    std::uint16_t first = 0;
    std::deque<sample> samples;
  };
  // A queue that is rung: what was written and not passed on yet, oldest first, and the newest that was passed on.
  struct queue_state {
    std::deque<waiting> open;
    std::uint32_t newest_written = 0;
    std::uint32_t passed = 0;
    bool written = false;
    bool any_passed = false;
    bool armed = false;
    std::deque<doorbell_write> recent;
    std::unordered_map<std::uint32_t, std::int64_t>
        causes;  // by value: writes of it and records with it that were not passed on
  };

  // An index of a record that was taken overtakes all that waits, but not what is on its way: `at` most doorbells come before.
  struct due_index {
    std::uint64_t queue;
    std::uint32_t index;
    std::uint64_t at;
  };
  struct record_sent {
    std::uint32_t qpn;
    hca_qp_record record;
    bool failed;
  };
  static constexpr std::uint64_t on_way = 16 + 1 + 2;  // to ring, held, and of the record itself

  [[nodiscard]] std::string overdue(std::uint64_t by) const;
  [[nodiscard]] std::string wrong_with(const queue_state& q, const rung& r) const;
  [[nodiscard]] bool on_its_way(const queue_state& q, const rung& r) const;
  [[nodiscard]] std::uint32_t first_of(std::uint32_t qpn) const {
    const auto known = qps_.find(qpn);
    return known == qps_.end() ? 0 : known->second.first;
  }

  std::unordered_map<std::uint64_t, std::uint64_t> queue_of_;  // of items that are open; looked up only, as is the next
  std::unordered_map<std::uint32_t, qp> qps_;
  std::map<std::uint64_t, queue_state> queues_;
  std::deque<record_sent> sent_;  // and not taken yet
  std::uint64_t records_taken_ = 0;
  std::deque<due_index> due_;
  std::uint64_t rings_ = 0;
  verdict verdict_;
};

}  // namespace hcasim::lockstep
