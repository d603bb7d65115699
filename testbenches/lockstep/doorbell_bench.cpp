// The doorbell unit. What reaches the other units depends on who was overtaken, so an answer is not a doorbell but that nothing
// is lost: an item is answered by the first doorbell that is as new as it. What is passed on must be what software wrote:
// indices of a QP never run backwards nor ahead of software, a WQE has the bytes of its write, an arming is passed on.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include <tlm_utils/simple_initiator_socket.h>

#include "firmware/abi/context.h"
#include "models/doorbell/doorbell.h"
#include "models/doorbell/rtl/doorbell_rtl.h"
#include "rtl/doorbell_design.h"
#include "rtl/doorbell_faulty.h"
#include "testbenches/lockstep/benches.h"
#include "testbenches/lockstep/doorbell_world.h"
#include "testbenches/lockstep/shim.h"
#include "tlm/access.h"
#include "tlm/base/pool.h"

namespace hcasim::lockstep {
namespace {

int ahead(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b));
}
std::byte wqe_byte(std::uint32_t qpn, std::uint32_t value, std::size_t at) {
  return static_cast<std::byte>(qpn * 7 + value * 13 + at);
}
// The WQE of a BlueFlame write; a broken one claims more blocks than were written, none, or an impossible QP.
std::vector<std::byte> wqe_of(const write_fields& f) {
  std::vector<std::byte> w(f.bytes);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = wqe_byte(f.number, f.value, i);
  hca_wqe_control c{};
  std::memcpy(&c, w.data(), sizeof c);
  c.blocks = f.blocks;
  c.index = static_cast<std::uint16_t>(f.value - f.blocks);
  c.qpn = f.number;
  std::memcpy(w.data(), &c, sizeof c);
  return w;
}

// Everything around one side: software that writes, contexts and records, and the units that are rung.
class doorbell_world : public unit {
 public:
  tlm_utils::simple_initiator_socket<doorbell_world, 64> mmio{"mmio"};
  initiator_socket<control_request> firmware{"firmware"};
  target_socket<context_request> qpc{"qpc"};
  target_socket<dma_request> dma{"dma"};
  target_socket<doorbell_ring> send{"send"};
  target_socket<doorbell_ring> receive{"receive"};
  target_socket<doorbell_ring> completion{"completion"};
  std::deque<target_socket<register_access>> registers;

  doorbell_world(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
                 comparison& c, side s)
      : unit(name),
        stream_(stream),
        random_(o.how == mode::random),
        single_(o.how == mode::single),
        clock_(clock),
        comparison_(c),
        side_(s),
        offered_(stream.size()),
        writes_(queue_, clock, gate_of(o, s, "wr"), this,
                [](void* self, held_write& w, unsigned) { static_cast<doorbell_world*>(self)->let_in(w); }),
        rings_(queue_, clock, gate_of(o, s, "ring"), this,
               [](void* self, pending& p, unsigned) { static_cast<doorbell_world*>(self)->passed_on(p); }) {
    mmio.register_nb_transport_bw(this, &doorbell_world::backward);
    qpc.on<&doorbell_world::find_context>(this);
    dma.on<&doorbell_world::read_record>(this);
    send.on<&doorbell_world::rung>(this);
    receive.on<&doorbell_world::rung>(this);
    completion.on<&doorbell_world::rung>(this);
    for (const char* n : {"command", "msix", "device_memory"}) registers.emplace_back(n).on<&doorbell_world::access>(this);
    sc_core::sc_spawn_options spawn;
    spawn.spawn_method();
    spawn.set_sensitivity(&write_);
    spawn.dont_initialize();
    sc_core::sc_spawn([this] { write_now(); }, "write", &spawn);
  }
  // Of the RTL, the stream of writes.
  void watch(const rtl::stream& writes) { taken_by_rtl_ = &writes; }
  void start_of_simulation() override {
    for (const item& i : stream_) {
      const write_fields f = unpack_write(i);
      if (rings_qp(f.kind) && f.number <= 0xffffff && owned_.insert(f.number).second)
        begin(control_op::start, f.number, f.page);
      const std::uint32_t cqn = f.number & 0xffffff;
      if (f.kind == write_kind::cq && owned_cqs_.insert(cqn).second) begin(control_op::set_cq, cqn, f.page);
    }
    arm(clock_.cycles(1));
  }

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
  struct waiting {
    std::uint64_t number;
    std::uint32_t value;
  };
  struct doorbell_write {
    std::uint32_t value;
    std::uint64_t place;  // among the writes that were offered
    bool late;            // software had written a newer one before
  };
  // What a record held when it was read, and how many writes the unit had taken when it was told.
  struct sample {
    hca_qp_record record;
    std::uint64_t taken;
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
  };
  // A write and a doorbell on their way through a stalled stream.
  struct held_write {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  struct pending {
    bell kind = bell::send;
    std::uint32_t number = 0;
    std::uint32_t value = 0;
    std::vector<std::byte> wqe;
  };
  struct qp {
    bool declared = false;
    bool fails = false;
    std::uint16_t first = 0;
    std::uint64_t address = 0;
    hca_qp_record record{};
    std::deque<sample> samples;
  };
  struct job {
    doorbell_world* self;
    context_request* context;
    dma_request* read;
    qp* of = nullptr;
    hca_qp_record record{};
  };
  void declare(const item& i) {
    const auto qpn = static_cast<std::uint32_t>(i[2]);
    qp& q = qps_[qpn];
    q.declared = true;
    q.address = i[1];
    q.first = static_cast<std::uint16_t>(i[2] >> 32);
    q.fails = i[2] >> 48 & 1;
    q.record.sq_pi = q.record.rq_pi = q.first;
    if (q.address != 0) at_[q.address] = qpn;
  }
  void begin(control_op op, std::uint32_t number, std::uint32_t page) {
    control_request c;
    c.op = op;
    c.open = true;
    c.number = number;
    c.uar = page;
    ps t{0};
    firmware.access(c, t);
  }
  [[nodiscard]] std::uint32_t first_of(std::uint32_t qpn) const {
    const auto known = qps_.find(qpn);
    return known == qps_.end() ? 0 : known->second.first;
  }
  // A doorbell that the unit had not taken yet when the record told it of a newer one comes after that, with its older index.
  [[nodiscard]] bool on_its_way(const queue_state& q, const pending& r) const {
    const auto known = qps_.find(r.number);
    const auto write = std::find_if(q.recent.rbegin(), q.recent.rend(), [&](const auto& w) { return w.value == r.value; });
    if (known == qps_.end() || write == q.recent.rend()) return false;
    if (write->late) return true;
    const auto& samples = known->second.samples;
    return std::any_of(samples.begin(), samples.end(), [&](const sample& s) {
      const std::uint32_t index = r.kind == bell::send ? s.record.sq_pi : s.record.rq_pi;
      return q.passed == (index & 0xffff) && write->place >= s.taken;
    });
  }
  [[nodiscard]] std::uint64_t offered_writes() const { return taken_by_rtl_ ? taken_by_rtl_->pushed() : offered_to_model_; }
  [[nodiscard]] std::uint64_t taken_writes() const { return taken_by_rtl_ ? taken_by_rtl_->transfers() : taken_by_model_; }
  template <class T>
  static void keep(std::deque<T>& d, const T& newest) {
    d.push_back(newest);
    if (d.size() > 4096) d.pop_front();  // more than are ever on their way
  }
  // The RTL's streams stall by themselves.
  static rtl::gate gate_of(const options& o, side s, const char* channel) {
    const rtl::shell_options shell = shell_of(o);
    return s == rtl_side ? rtl::gate() : rtl::gate(shell.seed, channel, shell.stall, shell.storms);
  }
  void arm(ps t) {
    if (next_ >= stream_.size()) return;
    queue_.at(std::max(t, now()), {[](void* self) { static_cast<doorbell_world*>(self)->step(); }, this});
  }
  void step() {
    if (next_ >= stream_.size() || comparison_.failed()) return;
    const std::uint64_t number = next_++;
    write(number, unpack_write(stream_[number]));
    if (!single_) arm(clock_.cycles(std::floor(clock_.cycles_in(now()) + 0.001) + 1 + gap()));
  }
  [[nodiscard]] double gap() const { return next_ < stream_.size() ? unpack_write(stream_[next_]).gap : 0; }
  void go_on() { arm(clock_.cycles(std::floor(clock_.cycles_in(now()) + 0.001) + 20 + gap())); }

  static std::uint64_t key(bell kind, std::uint32_t number) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | (number & 0xffffff);
  }
  void answer(std::uint64_t number) {
    ++answered_;
    comparison_.answered(side_, number, {}, offered_[number], now());
    if (single_ && answered_ == next_) go_on();
  }
  void problem(const std::string& what, std::uint64_t number) {
    comparison_.problem(std::string(side_ == rtl_side ? "rtl: " : "model: ") + what, number);
  }

  void write(std::uint64_t number, const write_fields& f) {
    offered_[number] = now();
    ++written_[static_cast<std::size_t>(f.kind)];
    if (f.kind == write_kind::qp) {
      declare(stream_[number]);
      return answer(number);
    }
    const bool wqe = f.kind == write_kind::blueflame || f.kind == write_kind::broken_blueflame || f.blocks > 0;
    bytes_ = wqe ? wqe_of(f) : std::vector<std::byte>(f.bytes);
    if (!wqe) {
      const hca_doorbell d{f.number, f.value};
      std::memcpy(bytes_.data(), &d, std::min<std::size_t>(sizeof d, f.bytes));
    }
    const bool valid = f.kind != write_kind::bad && f.kind != write_kind::broken_blueflame;
    if (valid) {
      const bell kind = f.kind == write_kind::rq   ? bell::receive
                        : f.kind == write_kind::cq ? bell::completion
                        : f.kind == write_kind::eq ? bell::event
                                                   : bell::send;
      queue_state& q = queues_[key(kind, f.number)];
      const bool of_qp = kind == bell::send || kind == bell::receive;
      const bool newest = !of_qp || !q.written || ahead(f.value, q.newest_written) > 0;
      if (newest) q.newest_written = f.value;
      q.written = true;
      q.armed |= f.number >> 24 != 0;
      q.open.push_back({number, f.value});
      keep(q.recent, {f.value, offered_writes(), !newest});
      // The upper half of an index in a record is of no meaning.
      const std::uint32_t index = f.value | (f.value * 0x9e3779b1U & 0xffff0000);
      if (kind == bell::send && newest) qps_[f.number].record.sq_pi = index;
      if (kind == bell::receive && newest) qps_[f.number].record.rq_pi = index;
    }
    held_write& w = held_.get();
    w.address = HCA_BAR_UAR + std::uint64_t{f.page} * HCA_UAR_PAGE + f.offset;
    w.bytes = bytes_;
    if (side_ == rtl_side) {
      access_bar(w);
    } else {
      ++offered_to_model_;
      writes_.push(w, 0, now());
    }
    if (!valid) answer(number);  // nothing comes of it, or only what the record says
  }

  // A model gets its write after what it does by itself at the same time, as the RTL has it inside a cycle.
  void let_in(held_write& w) {
    let_in_.push_back(&w);
    write_.notify(sc_core::SC_ZERO_TIME);
  }
  void write_now() {
    while (!let_in_.empty()) {
      held_write& w = *let_in_.front();
      let_in_.pop_front();
      ++taken_by_model_;
      access_bar(w);
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
    // A model passes on in the call, ahead of time.
    pending& p = pendings_.get();
    p = {r.kind, r.number, r.value, {}};
    p.wqe.assign(r.blueflame.data(), r.blueflame.data() + r.blueflame_bytes);
    rings_.push(p, 0, t);
    return tlm::TLM_COMPLETED;
  }
  void passed_on(pending& p) {
    passed(p);
    pendings_.put(p);
  }
  void passed(const pending& r) {
    tell(r);
    const bool of_qp = r.kind == bell::send || r.kind == bell::receive;
    queue_state& q = queues_[key(r.kind, r.number)];
    const std::uint64_t place = q.open.empty() ? 0 : q.open.front().number;
    const std::string what = std::string(names[static_cast<std::size_t>(r.kind)]) + " " + std::to_string(r.number & 0xffffff) +
                             " is rung with " + std::to_string(r.value);
    if (of_qp && (q.written ? ahead(r.value, q.newest_written) > 0 : r.value != first_of(r.number)))
      return problem(what + ", ahead of software", place);
    if (of_qp && q.any_passed && ahead(r.value, q.passed) < 0 && !on_its_way(q, r))
      return problem(what + ", after " + std::to_string(q.passed), place);
    if (!of_qp && q.armed && r.number >> 24 == 0 && r.value == q.newest_written)
      return problem(what + ", and its arming is lost", place);
    if (!of_qp && (!q.written || static_cast<std::int32_t>(r.value - q.newest_written) > 0))
      return problem(what + ", which nobody wrote", place);
    if (!r.wqe.empty()) {
      ++with_wqe_;
      write_fields f;
      f.number = r.number;
      f.value = r.value;
      f.bytes = static_cast<std::uint32_t>(r.wqe.size());
      f.blocks = static_cast<std::uint8_t>(r.wqe.size() / HCA_WQE_BLOCK);
      if (r.wqe != wqe_of(f)) return problem(what + ", with another WQE", place);
    }
    if (!q.any_passed || !of_qp || ahead(r.value, q.passed) > 0) q.passed = r.value;
    q.any_passed = true;
    if (r.number >> 24 != 0) q.armed = false;
    unsigned covered = 0;
    while (!q.open.empty() && (of_qp ? ahead(r.value, q.open.front().value) >= 0
                                     : static_cast<std::int32_t>(r.value - q.open.front().value) >= 0)) {
      const std::uint64_t number = q.open.front().number;
      q.open.pop_front();
      merged_ += ++covered > 1;
      answer(number);
    }
  }

  void tell(const pending& r) {
    const std::uint32_t head[] = {r.value, r.number};
    bytes_.resize(sizeof head);
    std::memcpy(bytes_.data(), head, sizeof head);
    bytes_.insert(bytes_.end(), r.wqe.begin(), r.wqe.end());
    comparison_.sent(side_, key(r.kind, r.number), bytes_.data(), bytes_.size());
  }

  void asked(std::uint64_t what) {
    comparison_.sent(side_, ~std::uint64_t{0}, reinterpret_cast<const std::byte*>(&what), sizeof what);
  }

  tlm::tlm_sync_enum find_context(context_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    asked(r.index);
    const auto known = qps_.find(r.index);
    r.failed = known == qps_.end() || !known->second.declared;
    context_ = {};
    context_.state = HCA_QP_RTS;
    context_.record = r.failed ? 0 : known->second.address;
    r.entry = r.failed ? nullptr : reinterpret_cast<std::byte*>(&context_);
    no_record_ += r.failed || context_.record == 0;
    later({this, &r, nullptr, nullptr, {}}, t + clock_.cycles(random_ && r.index % 4 == 0 ? 90 : 6));
    return tlm::TLM_ACCEPTED;
  }
  tlm::tlm_sync_enum read_record(dma_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    asked(r.address);
    // What memory has when the read reaches it; doorbells may overtake the answer.
    const auto known = at_.find(r.address);
    if (known == at_.end()) {
      problem("a record is read where none is: " + std::to_string(r.address), 0);
      return tlm::TLM_ACCEPTED;
    }
    qp& q = qps_[known->second];
    r.failed = q.fails;
    ++records_read_;
    if (!r.failed) std::memcpy(r.data, &q.record, sizeof(hca_qp_record));
    later({this, nullptr, &r, &q, q.record}, t + clock_.cycles(random_ ? 40 : 20));
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
    keep(j.of->samples, {j.record, taken_writes()});
    target_socket<dma_request>::respond(*j.read, now());
  }
  tlm::tlm_sync_enum access(register_access&, tlm::tlm_phase, ps&) { return tlm::TLM_COMPLETED; }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) { return tlm::TLM_COMPLETED; }

  const item_stream& stream_;
  const bool random_, single_;
  const clock_domain clock_;
  comparison& comparison_;
  const side side_;
  std::vector<ps> offered_;
  std::unordered_map<std::uint32_t, qp> qps_;            // looked up only
  std::unordered_map<std::uint64_t, std::uint32_t> at_;  // address of a record, QPN
  std::map<std::uint64_t, queue_state> queues_;
  sc_core::sc_event write_;
  tlm::tlm_generic_payload gp_;
  std::vector<std::byte> bytes_;
  hca_qpc context_{};
  const rtl::stream* taken_by_rtl_ = nullptr;
  std::uint64_t offered_to_model_ = 0;
  std::uint64_t taken_by_model_ = 0;
  pool<job> jobs_;
  pool<pending> pendings_;
  pool<held_write> held_;
  std::deque<held_write*> let_in_;
  gated_channel<held_write> writes_;
  gated_channel<pending> rings_;
  std::uint64_t next_ = 0;
  std::uint64_t answered_ = 0;
  std::set<std::uint32_t> owned_;
  std::set<std::uint32_t> owned_cqs_;
  std::uint64_t written_[8] = {};
  std::uint64_t with_wqe_ = 0, records_read_ = 0, no_record_ = 0, merged_ = 0;
};

class doorbell_bench final : public bench {
 public:
  [[nodiscard]] const char* name() const override { return "doorbell"; }
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_doorbells(o); }
  [[nodiscard]] unsigned faults() const override { return rtl::make_doorbell_faulty(0)->mutants(); }
  void declare(coverage& c) const override {
    for (const char* n : doorbell_world::names) c[n] = 0;
    for (const char* n : {"with_wqe", "records_read", "no_record", "covered_by_a_newer_one"}) c[n] = 0;
  }
  void elaborate(const item_stream& stream, const options& o, comparison& c) override {
    const clock_domain& clock = clock_;
    const doorbell_config config;
    c.describe = [](std::uint64_t, const comparison::answer&) { return std::string(); };
    const rtl::shell_options shell = shell_of(o);
    if (o.model) {
      model_world_ = std::make_unique<doorbell_world>("model_world", stream, o, clock, c, model_side);
      model_ = std::make_unique<doorbell>("model", config, clock);
      qps_ = std::make_unique<stall_shim<context_request>>("qps", 1, clock, shell, "qp", "qp_rsp", "");
      records_ = std::make_unique<stall_shim<dma_request>>("records", 1, clock, shell, "rec", "rec_rsp", "");
      bind(*model_world_, *model_, qps_->in[0], records_->in[0]);
      qps_->out[0].bind(model_world_->qpc);
      records_->out[0].bind(model_world_->dma);
    }
    if (o.rtl) {
      rtl_world_ = std::make_unique<doorbell_world>("rtl_world", stream, o, clock, c, rtl_side);
      rtl_ = std::make_unique<doorbell_rtl>("rtl", config, clock,
                                            design_of(o, rtl::make_doorbell_design, rtl::make_doorbell_faulty), shell);
      set_fault(*rtl_, o);
      rtl_->on_violation = [&c](const std::string& what) { c.broke(what); };
      bind(*rtl_world_, *rtl_, rtl_world_->qpc, rtl_world_->dma);
      const auto& streams = rtl_->streams();
      rtl_world_->watch(*std::find_if(streams.begin(), streams.end(), [](const rtl::stream& s) { return s.name() == "wr"; }));
    }
  }
  [[nodiscard]] std::array<const unit*, sides> units() const override { return {model_.get(), rtl_.get()}; }
  void finish(const options& o, report& r) override {
    if (rtl_world_) rtl_world_->publish(r.covered);
    finish_rtl(rtl_.get(), o, r);
  }

 private:
  template <class Unit, class Context, class Dma>
  static void bind(doorbell_world& w, Unit& u, Context& context, Dma& dma) {
    w.mmio.bind(u.bar);
    w.firmware.bind(u.control);
    u.send.bind(w.send);
    u.receive.bind(w.receive);
    u.completion.bind(w.completion);
    u.command.bind(w.registers[0]);
    u.msix.bind(w.registers[1]);
    u.device_memory.bind(w.registers[2]);
    u.qpc.bind(context);
    u.dma.bind(dma);
  }

  const clock_domain clock_{frequency{400e6}};
  std::unique_ptr<doorbell_world> model_world_, rtl_world_;
  std::unique_ptr<doorbell> model_;
  std::unique_ptr<doorbell_rtl> rtl_;
  std::unique_ptr<stall_shim<context_request>> qps_;
  std::unique_ptr<stall_shim<dma_request>> records_;
};

}  // namespace

std::unique_ptr<bench> make_doorbell_bench() {
  return std::make_unique<doorbell_bench>();
}

}  // namespace hcasim::lockstep
