// The parts of the time of operations, for any testbench. Follows every send operation from its doorbell to its completion in
// host memory, and gives the mean of each kind as a waterfall. Monitors the sockets between the units.
//
// An operation's time is cut at each passage from one unit to the next (send queue, requester, port, wire, responder, and
// back). Within a unit it is cut at waits for a lookup or for PCIe. The parts of one operation add up to its time; so do their
// means. A request on the way belongs to the operation of its number (tlm/operation.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/program/results/measurement.h"
#include "testbenches/program/results/result.h"
#include "tlm/base/kernel.h"
#include "tlm/context.h"
#include "tlm/dma.h"
#include "tlm/packet.h"
#include "tlm/protection.h"
#include "tlm/translate.h"
#include "tlm/work.h"

namespace hcasim {

class operation_follower : public sc_core::sc_module {
 public:
  operation_follower();
  ~operation_follower() override;

  // Counts only operations of the measured parts, from the doorbell to the completion, if there are parts.
  void measured_by(const measurement& m) { measurement_ = &m; }
  // Returns one waterfall for each kind of successful operation, the most frequent first.
  [[nodiscard]] std::vector<waterfall> waterfalls() const;

 private:
  template <class P>
  class tap;
  // Places where an operation can be.
  enum part : std::uint8_t {
    send_queue,
    queue_context,
    queue_context_miss,
    wqe_table_hit,
    wqe_table,
    wqe,
    under_way,
    reads_under_way,
    fence,
    requester,
    no_page,
    context,
    context_miss,
    key,
    key_miss,
    walk,
    walk_miss,
    payload,
    port,
    wire,
    lost,
    not_ready,
    responder,
    far_context,
    far_context_miss,
    far_key,
    far_key_miss,
    far_walk,
    far_walk_miss,
    far_payload,
    far_port,
    wire_back,
    requester_answer,
    completion,
    cqe,
    parts
  };
  struct part_name {
    const char* unit;
    const char* kind;
  };
  static const std::array<part_name, parts> names;
  struct mark {
    ps at;
    part where;
  };
  struct wait {
    ps begin;
    ps end;
    part what;
  };
  struct operation {
    std::uint8_t opcode = 0;
    std::uint8_t transport = 0;
    bool fetches = false;
    bool fails = false;
    bool started = false;  // a packet of it has left
    bool sent = false;     // its last packet has left
    bool answered = false;
    bool reported = false;
    bool resting = false;        // until the receiver may be ready, or the page is there
    std::uint32_t last_psn = 0;  // PSN of its last request packet, as sent last
    std::uint64_t bytes = 0;
    std::vector<mark> marks;
    std::vector<wait> waits;
  };
  using operations = std::map<std::uint64_t, operation>;  // key: number
  // The doorbells and fetches of a send queue, for future operations.
  struct queue {
    struct ring {
      std::uint64_t last;  // number of the last block of the doorbell
      ps at;
    };
    std::vector<ring> rings;  // short: most queue pairs have few, and an empty deque has half a KiB
    std::vector<wait> fetches;
  };
  struct totals {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::array<ps, parts> time{};

    void add(const totals& o);
  };
  void end_of_elaboration() override;
  template <class P>
  void listen();

  void ring(const doorbell_ring& r, ps t);
  static part held_by(issue_block why);
  void begin_work(const work_request& w, ps t);
  void end_work(const work_request& w, ps t);
  void asked(std::uint64_t number, part what, ps begin, ps end);
  void passes(std::string_view unit, std::string_view socket, const packet& p, ps t);
  void leaves(operation& o, const packet& p, ps t);
  void comes_back(std::string_view unit, std::string_view socket, const packet& p, ps t);
  static void refused(operation& o, bool behind, std::string_view unit, std::string_view socket, ps t);
  void reported(const report& r, ps t);
  void written(const dma_request& d, ps begin, ps t);
  void finish(operations::iterator o, ps t);
  operation* find(std::uint64_t number);
  static constexpr std::size_t sides = 4;
  static std::size_t side_of(part p);

  operations live_;
  std::map<std::uint32_t, queue> queues_;  // key: operation_queue()
  std::vector<std::shared_ptr<void>> taps_;
  std::map<std::string, totals> kinds_;     // of the whole run
  std::map<std::string, totals> measured_;  // of its measured parts
  const measurement* measurement_ = nullptr;
};

}  // namespace hcasim
