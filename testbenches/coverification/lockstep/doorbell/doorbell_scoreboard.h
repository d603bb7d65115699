// Judges the doorbells that the unit passes on. The unit loses and repeats no doorbell. The indices of a QP never run backwards
// nor ahead of software. A WQE has the bytes of its write, and an arming is passed on.
//
// A record may tell of a newer doorbell than the unit has taken. The older doorbell then comes after the newer index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "firmware/abi/registers.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_stimulus.h"
#include "testbenches/coverification/lockstep/doorbell/leaving_scoreboard.h"
#include "tlm/work.h"

namespace hcasim::lockstep {

// Returns the WQE of a BlueFlame write. A broken one claims more blocks than were written, no block, or an impossible QP.
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
    std::uint64_t place = 0;  // item of the problem
    struct item {
      std::uint64_t number;
      bool dropped;
    };
    std::vector<item> answered;  // items up to the index of the doorbell
  };

  void declared(std::uint32_t qpn, std::uint16_t first) { qps_[qpn].first = first; }
  // Notes a write of software; `place`: number among the offered writes. Returns true if the write is the newest of its queue.
  bool written(std::uint64_t number, bell kind, const write_fields& f, std::uint64_t place);
  // Notes the fate of a write's doorbell. The record of the QP or a later doorbell answers a dropped doorbell.
  void decided(std::uint64_t number, bell kind, std::uint32_t of, leaving_scoreboard::fate what);
  // Notes a record that was read, or could not be read. `taken`: writes that the unit has taken.
  void told(std::uint32_t qpn, const hca_qp_record& record, bool failed, std::uint64_t taken);
  // Takes the RTL's counts of records taken and of doorbells passed on.
  void records_taken(std::uint64_t n, std::uint64_t doorbells);
  const verdict& passed(const rung& r);
  // Returns the first index of a record that was not rung by the end of the run; empty = none.
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
  // A queue with doorbells: the open ones, oldest first, and the newest index that was passed on.
  struct queue_state {
    std::deque<waiting> open;
    std::uint32_t newest_written = 0;
    std::uint32_t passed = 0;
    bool written = false;
    bool any_passed = false;
    bool armed = false;
    std::deque<doorbell_write> recent;
    std::unordered_map<std::uint32_t, std::int64_t> causes;  // writes and records with a value, minus its doorbells, by value
  };

  // An index of a taken record, which overtakes waiting doorbells. At most `at` doorbells leave before this index.
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

  std::unordered_map<std::uint64_t, std::uint64_t> queue_of_;  // by open item; looked up only
  std::unordered_map<std::uint32_t, qp> qps_;
  std::map<std::uint64_t, queue_state> queues_;
  std::deque<record_sent> sent_;  // not taken yet
  std::uint64_t records_taken_ = 0;
  std::deque<due_index> due_;
  std::uint64_t rings_ = 0;
  leaving_scoreboard leaving_;
  verdict verdict_;
};

}  // namespace hcasim::lockstep
