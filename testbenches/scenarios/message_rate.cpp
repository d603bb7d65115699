#include "testbenches/scenarios/message_rate.h"

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>

#include "testbenches/kit/world.h"
#include "testbenches/scenarios/steady_state.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

std::uint32_t under_way(const stream_options& o) {
  return o.outstanding != 0 ? o.outstanding : o.window * o.qps;
}

}  // namespace

std::uint64_t messages_of_step(const stream_options& o) {
  return std::max(16U, under_way(o) / 8);
}

namespace {

struct target_regions {
  std::vector<address> qps;
  std::vector<ibv_sge> regions;  // address, length, R_Key
};

// The state that the two programs share beside the fabric; lives as long as either.
struct stream_state {
  stream_state(const stream_options& o, stream_result& r) : options(o), result(&r) {}

  stream_options options;
  stream_result* result;
  out_of_band<std::vector<address>> to_target;
  out_of_band<target_regions> to_writer;
  out_of_band<int> done;
};

qp_options qp_settings(const stream_options& o) {
  qp_options q;
  q.send_depth = std::max({o.window, o.outstanding, 4U});
  q.receive_depth = 1;
  q.sge = 1;
  q.mtu = o.mtu;
  q.read_depth = static_cast<std::uint8_t>(o.read_depth);
  if (o.send_inline) q.inline_bytes = static_cast<std::uint32_t>(o.size);
  return q;
}

// A region of `bytes` in pages of o.page, aligned to their size in both address spaces and in no order in memory.
region in_pages(process_context& p, std::uint64_t bytes, std::uint64_t va, const stream_options& o) {
  const std::uint64_t pages = ceil_div(bytes, o.page);
  std::vector<virtual_memory::frame_run> frames;
  for (std::uint64_t i = 0; i < pages; ++i) frames.push_back({p.n.host.memory_bytes().reserve(o.page, o.page), o.page});
  random_stream shuffle(o.seed, "message_rate.scatter");
  for (std::uint64_t i = pages; i > 1; --i) std::swap(frames[i - 1], frames[shuffle.below(i)]);
  if (!p.memory.map(va, frames)) throw std::runtime_error("the host has no room for the target's pages");
  region r{va, bytes, ibv_reg_mr(p.c, p.pd, va, bytes, all_rights)};
  if (!r.mr) throw std::runtime_error("cannot register the target's pages");
  return r;
}

void target(stream_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const qp_options q = qp_settings(s.options);
  const std::vector<address> writers = s.to_target.receive(c);
  target_regions mine;
  for (const address& w : writers) {
    ibv_qp* qp = p.create_qp(q);
    p.must_connect(qp, w, q);
    mine.qps.push_back(p.address_of(qp, q));
  }
  const std::uint64_t bytes = std::max(s.options.region_bytes, s.options.size);
  constexpr std::uint64_t first_va = std::uint64_t{1} << 45;
  for (std::uint32_t i = 0; i < s.options.regions; ++i) {
    const region r =
        s.options.page ? in_pages(p, bytes, first_va + i * align_up(bytes, s.options.page), s.options) : p.allocate(bytes);
    mine.regions.push_back({r.addr, 0, r.mr->rkey});
  }
  s.to_writer.send(c, std::move(mine));
  s.done.receive(c);
}

// Makes the requests, each to the next place in the target's regions.
class request_maker {
 public:
  request_maker(const stream_options& o, const region& from, std::vector<ibv_sge> to)
      : options_(o),
        from_{from.addr, static_cast<std::uint32_t>(o.size), from.mr->lkey},
        to_(std::move(to)),
        slots_(std::max(o.region_bytes, o.size) / o.size),
        random_(o.seed, "message_rate.order") {}
  [[nodiscard]] std::uint64_t made() const { return made_; }
  // Fills a request whose completion carries `id`.
  void make(ibv_send_wr& wr, std::uint64_t id) {
    wr = {};
    wr.wr_id = id;
    wr.sg_list = &from_;
    wr.num_sge = 1;
    wr.opcode = options_.read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    wr.send_flags = options_.send_inline ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
    const bool anywhere = options_.order == stream_order::random;
    const ibv_sge& r = to_[anywhere ? random_.below(to_.size()) : made_ % to_.size()];
    wr.wr.rdma = {r.addr + (anywhere ? random_.below(slots_) * options_.size : 0), r.lkey};
    ++made_;
  }

 private:
  const stream_options& options_;
  ibv_sge from_;
  std::vector<ibv_sge> to_;
  std::uint64_t slots_;  // of the message size in one region
  random_stream random_;
  std::uint64_t made_ = 0;
};

// Measures in the middle of a stretch, when `first` messages are completed and until the rate is known.
class steady_part {
 public:
  steady_part(const stream_options& o, stream_result& r, cpu& c, std::uint64_t first)
      : options_(o), result_(r), cpu_(c), step_(messages_of_step(o)), at_(first) {}

  // Returns whether the part ends now, with so many messages completed.
  bool ends(std::uint64_t completed);
  [[nodiscard]] ps waited() const { return waited_; }  // of the thread in the part

 private:
  enum class phase : std::uint8_t { before, measures, over };

  void begin_step(std::uint64_t completed);

  const stream_options& options_;
  stream_result& result_;
  cpu& cpu_;
  std::uint64_t step_;
  phase phase_ = phase::before;
  std::uint64_t at_;  // completed messages at the begin of the step
  ps began_{0};
  ps waited_{0};
};

void steady_part::begin_step(std::uint64_t completed) {
  at_ = completed;
  began_ = cpu_.time();
}

bool steady_part::ends(std::uint64_t completed) {
  if (phase_ == phase::before && completed >= at_) {
    phase_ = phase::measures;
    options_.parts.begin(cpu_);
    waited_ = result_.waited;
    begin_step(completed);
  }
  if (phase_ != phase::measures || completed - at_ < step_) return false;
  const std::uint64_t messages = completed - at_;
  const ps took = cpu_.time() - began_;
  result_.rates.add(static_cast<double>(messages), to_seconds(took));
  result_.completed += messages;
  result_.measured += took;
  begin_step(completed);
  if (!result_.rates.steady(options_.precision) && result_.completed < options_.messages) return false;
  phase_ = phase::over;
  options_.parts.end(cpu_);
  waited_ = result_.waited - waited_;
  return true;
}

// The program that writes. Keeps the windows full and takes the completions.
class stream_writer {
 public:
  stream_writer(stream_state& s, cpu& c, node& n) : state_(s), result_(*s.result), cpu_(c), process_(c, n) {}
  void run();

 private:
  bool connect();
  // Posting: false when the adapter refuses. No request is posted beyond the limit.
  bool post(std::size_t qp, std::uint32_t count);
  bool post_first();
  bool post_after(std::span<const ibv_wc> completions);
  bool post_freed(std::size_t qp);
  bool post_in_turn(std::uint64_t count);

  // Stretches of messages, from the first window to the last completion: false when one failed. `progressed` is called after
  // each poll that found completions.
  template <class F>
  bool stretch(std::uint64_t messages, F&& progressed);
  bool measure(std::uint64_t messages);
  bool measure_parts();
  bool measure_until_steady();
  bool warm_up(std::uint64_t messages);
  bool warm_up_until_steady();

  stream_state& state_;
  const stream_options& options_ = state_.options;
  stream_result& result_;
  cpu& cpu_;
  process_context process_;
  ibv_cq* cq_ = nullptr;
  std::vector<ibv_qp*> qps_;
  std::optional<request_maker> requests_;
  std::uint64_t limit_ = 0;           // requests that may be posted by now
  std::uint64_t completed_ = 0;       // of them
  std::vector<std::uint32_t> freed_;  // slots of each QP's window
  std::size_t turn_ = 0;              // QP of the next request without windows
  std::vector<ibv_send_wr> batch_;
  std::vector<ibv_wc> completions_;
};

void stream_writer::run() {
  if (!connect()) return;
  const stream_options& o = options_;
  const bool warm = warm_up(o.warm_up) && (!o.warm_until_steady || warm_up_until_steady());
  result_.ok = warm && (o.until == stream_end::steady ? measure_until_steady() : measure_parts());
  state_.done.send(cpu_, 1);
}

bool stream_writer::connect() {
  const stream_options& o = options_;
  const qp_options q = qp_settings(o);
  // The adapter reads software's consumer index by DMA whenever it believes the CQ full. Room for just the messages under way
  // costs such a read for every second completion. With this much more room it is less than one in a thousand.
  constexpr std::uint32_t room = 1023;
  cq_ = made(ibv_create_cq(cpu_, process_.context, static_cast<int>(under_way(options_) + room), nullptr, nullptr, 0));
  std::vector<address> mine;
  for (std::uint32_t i = 0; i < o.qps; ++i) {
    qps_.push_back(process_.create_qp(q, nullptr, cq_));
    mine.push_back(process_.address_of(qps_.back(), q));
  }
  state_.to_target.send(cpu_, std::move(mine));
  target_regions to = state_.to_writer.receive(cpu_);
  if (to.qps.size() != qps_.size()) return false;
  for (std::size_t i = 0; i < qps_.size(); ++i) process_.must_connect(qps_[i], to.qps[i], q);
  const region from = process_.allocate(std::max<std::uint64_t>(o.size, 4096));
  process_.fill(from.addr, from.length, 1);
  requests_.emplace(o, from, std::move(to.regions));
  freed_.resize(qps_.size());
  batch_.resize(o.window);
  completions_.resize(std::max<std::size_t>(o.window, 16));
  return true;
}

bool stream_writer::post(std::size_t qp, std::uint32_t count) {
  count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, limit_ - requests_->made()));
  for (std::uint32_t i = 0; i < count; ++i) {
    requests_->make(batch_[i], qp);
    batch_[i].next = i + 1 < count ? &batch_[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  return count == 0 || ibv_post_send(cpu_, qps_[qp], batch_.data(), &bad) == 0;
}

// Posts requests into free slots of the QP: all at once, or in batches of one size until the end is near.
bool stream_writer::post_freed(std::size_t qp) {
  std::uint32_t& freed = freed_[qp];
  if (options_.batch == 0) return post(qp, std::exchange(freed, 0));
  bool ok = true;
  while (ok && requests_->made() < limit_ && freed >= std::min<std::uint64_t>(options_.batch, limit_ - requests_->made())) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.batch, limit_ - requests_->made()));
    freed -= count;
    ok = post(qp, count);
  }
  return ok;
}

// Posts one request to each of the next QPs.
bool stream_writer::post_in_turn(std::uint64_t count) {
  bool ok = true;
  for (; ok && count != 0; --count) {
    ok = post(turn_, 1);
    turn_ = (turn_ + 1) % qps_.size();
  }
  return ok;
}

bool stream_writer::post_first() {
  if (options_.outstanding != 0) return post_in_turn(options_.outstanding);
  bool ok = true;
  for (std::size_t i = 0; i < qps_.size() && ok; ++i) {
    freed_[i] = options_.window;
    ok = post_freed(i);
  }
  return ok;
}

bool stream_writer::post_after(std::span<const ibv_wc> completions) {
  if (options_.outstanding != 0) return post_in_turn(completions.size());
  for (const ibv_wc& w : completions) ++freed_[w.wr_id];
  return std::all_of(completions.begin(), completions.end(),
                     [&](const ibv_wc& w) { return freed_[w.wr_id] == 0 || post_freed(w.wr_id); });
}

template <class F>
bool stream_writer::stretch(std::uint64_t messages, F&& progressed) {
  limit_ += messages;
  bool ok = post_first();
  while (ok && completed_ < limit_) {
    const int got = ibv_poll_cq(cpu_, cq_, static_cast<int>(completions_.size()), completions_.data());
    if (got <= 0) {
      const ps asleep = cpu_.time();
      ok = got == 0 && wait_cq(cpu_, cq_, 1000_ms);
      result_.waited += cpu_.time() - asleep;
      continue;
    }
    completed_ += static_cast<std::uint64_t>(got);
    progressed();
    const std::span<const ibv_wc> news(completions_.data(), static_cast<std::size_t>(got));
    ok = std::all_of(news.begin(), news.end(), [](const ibv_wc& w) { return w.status == IBV_WC_SUCCESS; }) && post_after(news);
  }
  return ok;
}

bool stream_writer::measure(std::uint64_t messages) {
  const ps begin = cpu_.time();
  const std::uint64_t unmeasured = completed_ - result_.completed;
  const bool ok = stretch(messages, [&] { result_.completed = completed_ - unmeasured; });
  const ps took = cpu_.time() - begin;
  const double rate = static_cast<double>(messages) / to_seconds(took);
  result_.slowest = result_.measured == ps(0) ? rate : std::min(result_.slowest, rate);
  result_.fastest = std::max(result_.fastest, rate);
  result_.measured += took;
  return ok;
}

bool stream_writer::measure_parts() {
  const stream_options& o = options_;
  bool ok = true;
  o.parts.begin(cpu_);
  for (std::uint64_t part = 0; ok && part < o.starts; ++part)
    ok = warm_up(part) && measure(o.messages * (part + 1) / o.starts - o.messages * part / o.starts);
  o.parts.end(cpu_);
  return ok;
}

bool stream_writer::measure_until_steady() {
  const stream_options& o = options_;
  steady_part part(o, result_, cpu_, completed_ + under_way(o));
  // A poll brings at most the messages under way: they may pass the begin, and the end of the last step.
  const std::uint64_t most = o.messages + std::uint64_t{4} * under_way(o) + messages_of_step(o);
  const bool ok = stretch(most, [&] {
    if (part.ends(completed_)) limit_ = requests_->made();
  });
  result_.waited = part.waited();
  return ok;
}

bool stream_writer::warm_up(std::uint64_t messages) {
  const ps waited = result_.waited;
  const bool ok = messages == 0 || stretch(messages, [] {});
  result_.waited = waited;
  result_.warm_up += messages;
  return ok;
}

// A stretch begins and ends with an idle machine, so it is long beside the messages under way.
bool stream_writer::warm_up_until_steady() {
  const stream_options& o = options_;
  const std::uint64_t messages = std::max<std::uint64_t>(2000, std::uint64_t{16} * under_way(o));
  const std::uint64_t pages = o.regions * ceil_div(std::max(o.region_bytes, o.size), o.page != 0 ? o.page : 4096);
  const std::uint64_t longest = result_.warm_up + 1'000'000 + 10 * pages;
  steady_state judge;
  while (!result_.steady && result_.warm_up < longest) {
    const ps begin = cpu_.time();
    if (!warm_up(messages)) return false;
    cpu_.sync();
    result_.steady = judge.reached(static_cast<double>(messages) / to_seconds(cpu_.time() - begin));
  }
  return true;
}

}  // namespace

void start_stream(hcasim::system& s, const stream_options& o, stream_result& result) {
  auto state = std::make_shared<stream_state>(o, result);
  start_program(s, 0, "writer", [state](cpu& c, node& n) { stream_writer(*state, c, n).run(); });
  start_program(s, 1, "target", [state](cpu& c, node& n) { target(*state, c, n); });
}

}  // namespace hcasim::kit
