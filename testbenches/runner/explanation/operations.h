// Where the time of operations goes, whatever the testbench: follows every send operation from its doorbell to its completion
// in host memory, listening on the sockets between the units, and gives the mean of each kind as a waterfall.
//
// An operation's time is cut where it passes from one unit to the next (send queue, requester, port, wire, responder, and
// back); within these, where it waits for a look-up or for PCIe. The parts of one operation add up to its time; so do their
// means. What a request on the way belongs to is told by queue pair, PSN and buffer; a wait that cannot be told stays with the
// unit that waits.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testbenches/runner/results/result.h"
#include "tlm/base/kernel.h"
#include "tlm/context.h"
#include "tlm/control.h"
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

  // One for each kind of operation that completed well, those seen most often first.
  [[nodiscard]] std::vector<waterfall> waterfalls() const;

 private:
  template <class P>
  class tap;
  // Where an operation can be.
  enum part : std::uint8_t {
    send_queue,
    queue_context,
    queue_context_miss,
    wqe_table_hit,
    wqe_table,
    wqe,
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
    const work_request* work = nullptr;
    std::uint16_t index = 0;
    std::uint8_t opcode = 0;
    bool fetches = false;
    bool fails = false;
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::uint32_t pieces = 0;  // of its gather list
    std::uint32_t checks = 0;  // key checks before all packets have left
    bool started = false;
    std::uint32_t first_psn = 0;
    std::uint32_t request_psn = 0;  // of its last request packet
    std::uint32_t last_psn = 0;     // that an answer may have
    bool sent = false;
    bool arrived = false;
    bool answered = false;
    bool reported = false;
    bool resting = false;  // until the receiver may be ready, or the page is there
    std::vector<mark> marks;
    std::vector<wait> waits;
  };
  using held = std::shared_ptr<operation>;
  // A QP's send side.
  struct flow {
    bool known = false;
    std::uint8_t mtu_shift = 10;
    std::uint8_t transport = 0;
    std::uint64_t next = 0;
    std::deque<held> live;
    std::deque<std::pair<std::uint16_t, ps>> rings;  // the producer index that a doorbell wrote
    std::deque<wait> fetches;
  };
  struct adapter {
    std::string name;
    std::map<std::uint32_t, flow> flows;             // by QP
    std::map<std::uint64_t, std::uint32_t> to_peer;  // LID and QP of a peer: the QP here
    std::map<std::uint32_t, flow*> inbound;          // by QP: who sends to it
    held sending;                                    // on whose behalf the requester and the responder ask
    held serving;
    flow* fetching = nullptr;
  };
  struct totals {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::array<ps, parts> time{};
  };
  // A question to another unit.
  struct question {
    held of;
    flow* queue = nullptr;
    part at_once = parts;
    part later = parts;
  };

  void end_of_elaboration() override;
  template <class P>
  void listen();
  std::size_t adapter_of(const std::string& unit);

  // What a request of a unit is about; nothing when it cannot be told or is none of an operation.
  question ask(adapter& a, std::string_view unit, const context_request& r);
  question ask(adapter& a, std::string_view unit, const key_request& r);
  question ask(adapter& a, std::string_view unit, const translate_request& r);
  question ask(adapter& a, std::string_view unit, const dma_request& r);
  void answer(adapter& a, std::string_view unit, const context_request& r);
  static void keep(const question& q, ps begin, ps end, bool at_once);

  static void order(adapter& a, const control_request& c);
  void ring(adapter& a, const doorbell_ring& r, ps t);
  void begin_work(adapter& a, const work_request& w, ps t);
  void end_work(adapter& a, const work_request& w, ps t);
  void passes(adapter& a, std::string_view unit, std::string_view socket, const packet& p, ps t);
  void passes(flow& f, operation& o, std::string_view unit, std::string_view socket, const packet& p, ps t);
  void refused(operation& o, std::string_view unit, std::string_view socket, const packet& p, ps t);
  void page_missed(adapter& a, const report& r, ps t);
  void reported(adapter& a, const report& r, ps t);
  void written(adapter& a, const dma_request& d, ps begin, ps t);
  void finish(flow& f, std::size_t at, ps t);
  flow* flow_of(const packet& p);
  static constexpr std::size_t sides = 4;
  static std::size_t side_of(part p);
  static held find(const flow& f, bool (*wanted)(const operation&));

  std::deque<adapter> adapters_;
  std::map<std::uint16_t, adapter*> by_lid_;
  std::vector<std::shared_ptr<void>> taps_;
  std::map<std::string, totals> kinds_;
};

}  // namespace hcasim
