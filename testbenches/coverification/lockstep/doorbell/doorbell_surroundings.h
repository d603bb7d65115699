// The surroundings of one side of the doorbell unit: software, contexts and records, and the units behind.
//
// The doorbells that reach these units depend on the ones overtaken. So an item is answered by the first doorbell that is at
// least as new. The scoreboards judge that no doorbell is lost.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>

#include "firmware/abi/context.h"
#include "models/adapter/doorbell/doorbell_rules.h"
#include "testbenches/coverification/lockstep/benches.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_scoreboard.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_stimulus.h"
#include "testbenches/coverification/lockstep/doorbell/recovery_scoreboard.h"
#include "testbenches/coverification/lockstep/stall_adaptor.h"
#include "tlm/access.h"
#include "tlm/base/pool.h"
#include "tlm/base/random.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/work.h"

namespace hcasim::lockstep {

// Returns the options of the shell. Random streams also have long stalls of what leaves.
inline rtl::shell_options doorbell_shell_of(const options& o) {
  rtl::shell_options shell = shell_of(o);
  if (o.how == mode::random && !o.storms && o.stall > 0)
    shell.long_stalls = {{"ring", long_stall_of_doorbells}, {"ring_line", long_stall_of_lines}};
  return shell;
}

class doorbell_surroundings : public unit {
 public:
  tlm_utils::simple_initiator_socket<doorbell_surroundings, 64> mmio{"mmio"};
  initiator_socket<doorbell_control> firmware{"firmware"};
  target_socket<context_request> qpc{"qpc"};
  target_socket<dma_request> dma{"dma"};
  target_socket<doorbell_ring> send{"send"};
  target_socket<doorbell_ring> receive{"receive"};
  target_socket<doorbell_ring> completion{"completion"};
  std::deque<target_socket<register_access>> registers;

  doorbell_surroundings(const sc_core::sc_module_name& name, const item_stream& stream, const options& o,
                        const clock_domain& clock, comparison& c, side s)
      : unit(name),
        stream_(stream),
        random_(o.how == mode::random),
        single_(o.how == mode::single),
        seed_(o.seed),
        clock_(clock),
        comparison_(c),
        side_(s),
        offered_(stream.size()),
        asked_before_(&next_),
        writes_(queue_, clock, stalls_of(o, s, "wr", next_), this,
                [](void* self, held_write& w, unsigned) { static_cast<doorbell_surroundings*>(self)->let_in(w); }),
        rings_(
            queue_, clock, stalls_of(o, s, "ring", next_), this,
            [](void* self, pending& p, unsigned) { static_cast<doorbell_surroundings*>(self)->passed_on(p); },
            [](const pending& p) { return rtl::of_queue(p.number, static_cast<std::uint64_t>(p.kind)); }),
        line_stalls_(stalls_of(o, s, "ring_line", next_)) {
    mmio.register_nb_transport_bw(this, &doorbell_surroundings::backward);
    qpc.on<&doorbell_surroundings::find_context>(this);
    dma.on<&doorbell_surroundings::read_record>(this);
    send.on<&doorbell_surroundings::rung>(this);
    receive.on<&doorbell_surroundings::rung>(this);
    completion.on<&doorbell_surroundings::rung>(this);
    for (const char* n : {"command", "msix", "device_memory"})
      registers.emplace_back(n).on<&doorbell_surroundings::access>(this);
  }
  // Watches the RTL's streams of writes, of records and of doorbells.
  void watch(const std::deque<rtl::stream>& streams) {
    for (const rtl::stream& s : streams) {
      if (s.name() == "wr") taken_by_rtl_ = &s;
      if (s.name() == "rec_rsp") records_of_rtl_ = &s;
      if (s.name() == "ring") rings_of_rtl_ = &s;
    }
  }
  // Watches how many doorbells a model has dropped, merged and laid aside, and how many broken writes have come.
  void watch(const unit& model) {
    for (const statistic& s : model.stats().all()) {
      for (const auto& [name, what] : {std::pair{"dropped", fate::dropped},
                                       {"blueflame_bad", fate::dropped},
                                       {"coalesced", fate::merged},
                                       {"aside", fate::aside}}) {
        if (s.name == name) counted_by_model_.push_back({what, std::get<const counter*>(s.value), 0});
      }
    }
  }
  // Notes the fate of a write. The record of the QP is read after a dropped doorbell or a broken write.
  void decided(std::uint64_t write, leaving_scoreboard::fate what) {
    const std::uint64_t number = offered_items_[write - 1];
    const write_fields f = unpack_write(stream_[number]);
    judge_.decided(number, bell_of(f.kind), f.number, what);
    if (what != fate::dropped) return;
    if (f.number != 0 && f.number <= doorbell_rules::number_mask) judged(recovery_.lost(f.number, now()), number);
  }
  void asks_for(std::uint32_t qpn) { judged(recovery_.asks_for(qpn, now()), 0); }
  // Returns the problem that the end of the run shows; empty = none.
  [[nodiscard]] std::string leak_check() {
    if (records_of_rtl_) judge_.records_taken(records_of_rtl_->transfers(), rings_of_rtl_->transfers());
    const std::string never = recovery_.left();
    return never.empty() ? judge_.never_passed() : never;
  }
  void start_of_simulation() override {
    for (const item& i : stream_) {
      const write_fields f = unpack_write(i);
      if (rings_qp(f.kind) && f.number <= 0xffffff && owned_.insert(f.number).second) begin(false, f.number, f.page);
      const std::uint32_t cqn = f.number & 0xffffff;
      if (f.kind == write_kind::cq && owned_cqs_.insert(cqn).second) begin(true, cqn, f.page);
    }
    arm(clock_.cycles(1));
  }

  [[nodiscard]] const std::uint64_t& progress() const { return next_; }
  void publish(coverage& c) const {
    for (std::size_t i = 0; i < std::size(names); ++i) {
      if (const auto found = c.find(names[i]); found != c.end()) found->second += written_[i];
    }
    c["with_wqe"] += with_wqe_;
    c["records_read"] += records_read_;
    c["no_record"] += no_record_;
    c["covered_by_a_newer_one"] += merged_;
  }
  static constexpr const char* names[] = {"sq", "rq", "cq", "eq", "blueflame", "broken_blueflame", "bad"};

 private:
  // A write and a doorbell on their way through a stalled stream.
  struct held_write {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  struct pending : doorbell_scoreboard::rung {
    std::uint64_t lines_out = 0;  // cycle
  };
  using fate = leaving_scoreboard::fate;
  struct counted {
    fate what;
    const counter* now;
    std::uint64_t before;
  };
  struct qp {
    bool declared = false;
    bool fails = false;
    std::uint64_t address = 0;
    hca_qp_record record{};
  };
  struct job {
    doorbell_surroundings* self;
    context_request* context;
    dma_request* read;
    std::uint32_t qpn = 0;
    hca_qp_record record{};
  };
  void declare(const item& i) {
    const auto qpn = static_cast<std::uint32_t>(i[2]);
    qp& q = qps_[qpn];
    q.address = i[1];
    if (q.address != 0) at_[q.address] = qpn;
    if (std::exchange(q.declared, true)) return;  // the record has moved
    const auto first = static_cast<std::uint16_t>(i[2] >> 32);
    judge_.declared(qpn, first);
    q.fails = i[2] >> 48 & 1;
    q.record.sq_pi = q.record.rq_pi = first;
  }
  void begin(bool of_cq, std::uint32_t number, std::uint32_t page) {
    doorbell_control c;
    c.of_cq = of_cq;
    c.open = true;
    c.number = number;
    c.uar = page;
    ps t{0};
    firmware.access(c, t);
  }
  [[nodiscard]] std::uint64_t offered_writes() const { return taken_by_rtl_ ? taken_by_rtl_->pushed() : offered_to_model_; }
  [[nodiscard]] std::uint64_t taken_writes() const { return taken_by_rtl_ ? taken_by_rtl_->transfers() : taken_by_model_; }
  // Returns the stalls of a channel. The RTL's streams stall by themselves.
  static rtl::stall_source stalls_of(const options& o, side s, const char* channel, const std::uint64_t& progress) {
    if (s == rtl_side) return {};
    rtl::shell_options shell = doorbell_shell_of(o);
    shell.progress = &progress;
    return rtl::stalls_of(shell, channel);
  }
  void arm(ps t) {
    if (next_ >= stream_.size()) return;
    queue_.at(std::max(t, now()), {[](void* self) { static_cast<doorbell_surroundings*>(self)->step(); }, this});
  }
  void step() {
    if (next_ >= stream_.size() || comparison_.failed()) return;
    const std::uint64_t number = next_++;
    write(number, unpack_write(stream_[number]));
    if (!single_) arm(clock_.cycles(std::floor(clock_.cycles_in(now()) + 0.001) + 1 + gap()));
  }
  [[nodiscard]] double gap() const { return next_ < stream_.size() ? unpack_write(stream_[next_]).gap : 0; }
  void go_on() { arm(clock_.cycles(std::floor(clock_.cycles_in(now()) + 0.001) + 20 + gap())); }

  // The cycle decides which doorbells find the FIFO full. Under stalls, a doorbell dropped by one side is a race.
  void answer(std::uint64_t number, bool dropped = false) {
    ++answered_;
    comparison_.answered(side_, number, {}, offered_[number], now(), dropped && random_);
    if (single_ && answered_ == next_) go_on();
  }
  void judged(const std::string& wrong, std::uint64_t number) {
    if (!wrong.empty()) problem(wrong, number);
  }
  void problem(const std::string& what, std::uint64_t number) {
    comparison_.problem(std::string(side_ == rtl_side ? "rtl: " : "model: ") + what, number);
  }

  void write(std::uint64_t number, const write_fields& f) {
    offered_[number] = now();
    comparison_.offered(side_, number);
    ++written_[static_cast<std::size_t>(f.kind)];
    if (f.kind == write_kind::qp) {
      declare(stream_[number]);
      return answer(number);
    }
    const bool wqe = f.kind == write_kind::blueflame || f.kind == write_kind::broken_blueflame || f.blocks > 0;
    bytes_ = wqe ? wqe_of(f) : std::vector<std::byte>(f.bytes);
    if (!wqe) {
      // The upper half of an index has no meaning.
      const bool index = f.kind == write_kind::sq || f.kind == write_kind::rq;
      const hca_doorbell d{f.number, index ? f.value | (f.value * 0x9e3779b1U & 0xffff0000) : f.value};
      std::memcpy(bytes_.data(), &d, std::min<std::size_t>(sizeof d, f.bytes));
    }
    const bool valid = f.kind != write_kind::bad && f.kind != write_kind::broken_blueflame;
    if (valid) {
      const bell kind = bell_of(f.kind);
      const bool newest = judge_.written(number, kind, f, offered_writes());
      // The same is true of a record's indices.
      const std::uint32_t index = f.value | (f.value * 0x9e3779b1U & 0xffff0000);
      if (kind == bell::send && newest) qps_[f.number].record.sq_pi = index;
      if (kind == bell::receive && newest) qps_[f.number].record.rq_pi = index;
    }
    held_write& w = held_.get();
    w.address = HCA_BAR_UAR + std::uint64_t{f.page} * HCA_UAR_PAGE + f.offset;
    w.bytes = bytes_;
    offered_items_.push_back(number);
    if (side_ == rtl_side) {
      access_bar(w);
    } else {
      ++offered_to_model_;
      writes_.push(w, 0, now());
    }
    if (!valid) answer(number);  // a broken write has no doorbell of its own
  }

  // Hands a write to the model after the model's own work of the same time, as the RTL does inside a cycle.
  void let_in(held_write& w) {
    let_in_.push_back(&w);
    queue_.last({[](void* self) { static_cast<doorbell_surroundings*>(self)->write_now(); }, this});
  }
  void write_now() {
    while (!let_in_.empty()) {
      held_write& w = *let_in_.front();
      let_in_.pop_front();
      ++taken_by_model_;
      access_bar(w);
      for (counted& c : counted_by_model_) {
        if (std::exchange(c.before, c.now->value()) != c.now->value()) decided(taken_by_model_, c.what);
      }
    }
  }
  void access_bar(held_write& w) {
    set_access(gp_, tlm::TLM_WRITE_COMMAND, w.address, w.bytes.data(), w.bytes.size());
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    mmio->nb_transport_fw(gp_, phase, delay);
    held_.put(w);
  }

  tlm::tlm_sync_enum rung(doorbell_ring& r, tlm::tlm_phase phase, ps& t) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    // A model passes a doorbell on in the call, ahead of time.
    pending& p = pendings_.get();
    p = {{r.kind, r.number, r.value, {}}};
    p.wqe.assign(r.blueflame.data(), r.blueflame.data() + r.blueflame_bytes);
    if (!line_stalls_.open()) p.lines_out = lines_out(p.wqe, static_cast<std::uint64_t>(std::llround(clock_.cycles_in(t))));
    rings_.push(p, 0, t);
    return tlm::TLM_COMPLETED;
  }
  // Returns the cycle of the last line of a WQE whose doorbell the model passes on in cycle `c`. The lines are offered one a
  // cycle from the doorbell's turn on. Lines behind a stalled one follow in the cycles after it.
  std::uint64_t lines_out(const std::vector<std::byte>& wqe, std::uint64_t c) {
    constexpr std::uint64_t lead = 3;  // of the first line over its doorbell
    std::uint64_t at = c - lead;
    for (std::size_t i = 0; i < wqe.size(); i += HCA_WQE_BLOCK) {
      std::uint64_t first_bytes = 0;
      std::memcpy(&first_bytes, wqe.data() + i, sizeof first_bytes);
      const unsigned stall = line_stalls_.draw(rtl::of_line(first_bytes));
      if (i > 0) ++at;
      if (stall > 0 || at < lines_held_) {
        at = std::max(at, lines_held_) + stall;
        lines_held_ = at + 1;
      }
    }
    return at;
  }
  // Holds a doorbell until the lines of its WQE are out, and later doorbells behind it.
  void passed_on(pending& p) {
    behind_lines_.push_back(&p);
    pass_those_with_lines();
  }
  void pass_those_with_lines() {
    while (!behind_lines_.empty() && behind_lines_.front()->lines_out <= cycle()) {
      pending& p = *behind_lines_.front();
      behind_lines_.pop_front();
      passed(p);
      pendings_.put(p);
    }
    if (behind_lines_.empty()) return;
    queue_.at(clock_.cycles(static_cast<double>(behind_lines_.front()->lines_out)),
              {[](void* self) { static_cast<doorbell_surroundings*>(self)->pass_those_with_lines(); }, this});
  }
  void passed(const pending& r) {
    tell(r);
    if (records_of_rtl_) judge_.records_taken(records_of_rtl_->transfers(), rings_of_rtl_->transfers());
    const doorbell_scoreboard::verdict& v = judge_.passed(r);
    if (!v.problem.empty()) return problem(v.problem, v.place);
    with_wqe_ += !r.wqe.empty();
    for (std::size_t i = 0; i < v.answered.size(); ++i) {
      merged_ += i > 0;
      answer(v.answered[i].number, v.answered[i].dropped);
    }
  }

  void tell(const pending& r) {
    const std::uint64_t head[] = {r.value, r.number, cycle()};
    bytes_.resize(sizeof head);
    std::memcpy(bytes_.data(), head, sizeof head);
    bytes_.insert(bytes_.end(), r.wqe.begin(), r.wqe.end());
    comparison_.sent(side_, doorbell_scoreboard::key(r.kind, r.number), bytes_.data(), bytes_.size());
  }

  void asked(std::uint64_t what) {
    const std::uint64_t words[] = {what, cycle()};
    comparison_.sent(side_, ~std::uint64_t{0}, reinterpret_cast<const std::byte*>(words), sizeof words);
  }
  [[nodiscard]] std::uint64_t cycle() const { return static_cast<std::uint64_t>(std::llround(clock_.cycles_in(now()))); }
  // Returns the cycles to an answer. They follow from the address and its count of requests, so both sides are answered alike.
  // In streams with equal cycles, no two records wait behind one BlueFlame doorbell: the RTL asks for one after the other.
  double answer_time(std::uint64_t of, bool record) {
    random_stream r(seed_ + asked_before_.next(of), record ? "records" : "contexts");
    if (random_) return 1 + static_cast<double>(r.below(record ? (r.chance(0.3) ? 4 : 110) : r.chance(0.25) ? 180 : 12));
    return record ? 22 + static_cast<double>(r.below(r.chance(0.25) ? 300 : 12))
                  : 2 + static_cast<double>(r.below(r.chance(0.15) ? 200 : 8));
  }

  tlm::tlm_sync_enum find_context(context_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    asked(r.index);
    if (side_ == rtl_side) asks_for(r.index);
    const auto known = qps_.find(r.index);
    r.failed = known == qps_.end() || !known->second.declared;
    context_ = {};
    context_.state = HCA_QP_RTS;
    context_.record = r.failed ? 0 : known->second.address;
    r.entry = r.failed ? nullptr : reinterpret_cast<std::byte*>(&context_);
    no_record_ += r.failed || context_.record == 0;
    later({this, &r, nullptr, 0, {}}, t + clock_.cycles(answer_time(r.index, false)));
    return tlm::TLM_ACCEPTED;
  }
  tlm::tlm_sync_enum read_record(dma_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    asked(r.address);
    // The read returns the present content. Doorbells may overtake the answer.
    const auto known = at_.find(r.address);
    if (known == at_.end()) {
      problem("a record is read where none is: " + std::to_string(r.address), 0);
      return tlm::TLM_ACCEPTED;
    }
    qp& q = qps_[known->second];
    r.failed = q.fails;
    ++records_read_;
    if (!r.failed) std::memcpy(r.data, &q.record, sizeof(hca_qp_record));
    later({this, nullptr, &r, known->second, q.record}, t + clock_.cycles(answer_time(r.address, true)));
    return tlm::TLM_ACCEPTED;
  }
  void later(const job& j, ps t) {
    job& kept = jobs_.get();
    kept = j;
    queue_.at(t, {[](void* context) {
                    const job done = *static_cast<job*>(context);
                    done.self->jobs_.put(*static_cast<job*>(context));
                    done.self->respond(done);
                  },
                  &kept});
  }
  void respond(const job& j) {
    if (j.context) return target_socket<context_request>::respond(*j.context, now());
    judge_.told(j.qpn, j.record, j.read->failed, taken_writes());
    target_socket<dma_request>::respond(*j.read, now());
  }
  tlm::tlm_sync_enum access(register_access&, tlm::tlm_phase, ps&) { return tlm::TLM_COMPLETED; }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) { return tlm::TLM_COMPLETED; }

  const item_stream& stream_;
  const bool random_, single_;
  const std::uint64_t seed_;
  const clock_domain clock_;
  comparison& comparison_;
  const side side_;
  std::vector<ps> offered_;
  std::unordered_map<std::uint32_t, qp> qps_;            // looked up only
  std::unordered_map<std::uint64_t, std::uint32_t> at_;  // address of a record, QPN
  rtl::recurrence asked_before_;
  doorbell_scoreboard judge_;
  recovery_scoreboard recovery_;
  tlm::tlm_generic_payload gp_;
  std::vector<std::byte> bytes_;
  hca_qpc context_{};
  const rtl::stream* taken_by_rtl_ = nullptr;
  const rtl::stream* records_of_rtl_ = nullptr;
  const rtl::stream* rings_of_rtl_ = nullptr;
  std::uint64_t offered_to_model_ = 0;
  std::uint64_t taken_by_model_ = 0;
  std::vector<counted> counted_by_model_;
  std::vector<std::uint64_t> offered_items_;  // by write
  pool<job> jobs_;
  pool<pending> pendings_;
  pool<held_write> held_;
  std::deque<held_write*> let_in_;
  stalled_channel<held_write> writes_;
  stalled_channel<pending> rings_;
  rtl::stall_source line_stalls_;
  std::uint64_t lines_held_ = 0;       // cycle until which lines wait behind a stalled one
  std::deque<pending*> behind_lines_;  // doorbells, some of whose lines are not out
  std::uint64_t next_ = 0;
  std::uint64_t answered_ = 0;
  std::set<std::uint32_t> owned_;
  std::set<std::uint32_t> owned_cqs_;
  std::uint64_t written_[8] = {};
  std::uint64_t with_wqe_ = 0, records_read_ = 0, no_record_ = 0, merged_ = 0;
};

}  // namespace hcasim::lockstep
