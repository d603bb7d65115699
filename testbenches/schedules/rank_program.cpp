#include "testbenches/schedules/rank_program.h"

#include <algorithm>
#include <queue>
#include <set>

#include "testbenches/kit/world.h"

namespace hcasim::schedules {
namespace {

// A barrier beside the fabric.
class meeting {
 public:
  explicit meeting(std::size_t members) : members_(members) {}

  // Returns when all members are here; `last` is called once, by the last of them.
  void arrive(cpu& c, const std::function<void()>& last = {}) {
    c.sync();
    const std::uint64_t round = round_;
    if (++here_ < members_) {
      while (round == round_) sc_core::wait(all_);
      return;
    }
    here_ = 0;
    ++round_;
    if (last) last();
    all_.notify();
  }

 private:
  std::size_t members_;
  std::size_t here_ = 0;
  std::uint64_t round_ = 0;
  sc_core::sc_event all_;
};

class whole_run;

class rank_program final : public message_port::listener {
 public:
  rank_program(whole_run& run, std::uint32_t rank);

  // The thread that owns the rank's objects. It handles completions until the other threads have ended.
  void run(cpu& c, node& n);
  // Lists the operations that have begun, or may, and have not ended.
  [[nodiscard]] std::vector<std::uint32_t> waiting() const;

 private:
  // A send that is ready, and its time has not come; the earliest first, then in the order of the schedule.
  using timed = std::pair<ps, std::uint32_t>;
  struct thread {
    std::deque<std::uint32_t> ready;
    std::priority_queue<timed, std::vector<timed>, std::greater<>> timed_sends;
    std::size_t left = 0;
  };

  void done(cpu& c, std::uint32_t operation) override;

  void open(kit::process_context& p);
  void begin_time();
  void work(cpu& c, thread& t);
  void begin(cpu& c, std::uint32_t i);
  void sleep(cpu& c, ps until = never);
  void take_timed(cpu& c, thread& t);
  void release(std::uint32_t i, bool begun);
  void make_ready(std::uint32_t i);
  void run_other_threads(node& n);
  [[nodiscard]] const std::vector<operation>& operations() const;

  whole_run& run_;
  std::uint32_t rank_;
  order order_;
  std::vector<std::uint32_t> waits_;
  std::vector<bool> ended_;
  std::map<std::uint16_t, thread> threads_;
  std::size_t running_ = 0;  // threads with operations left
  ps last_end_{0};
  bool polled_ = false;  // a thread sleeps in the CQ
  sc_core::sc_event woken_;
  message_port* port_ = nullptr;
};

// Every buffer of a rank holds its largest message.
port_options with_buffers(port_options o, const rank_schedule& rank) {
  for (const operation& i : rank.operations) o.buffers.bytes = std::max(o.buffers.bytes, i.bytes);
  return o;
}

class whole_run {
 public:
  whole_run(const schedule& s, const run_options& o, run_result& r) : what(s), options(o), result(r), all(s.ranks.size()) {
    result.ranks.resize(s.ranks.size());
    addresses.resize(s.ranks.size());
    for (std::uint32_t i = 0; i < s.ranks.size(); ++i) ranks.push_back(std::make_unique<rank_program>(*this, i));
  }

  [[nodiscard]] bool measures(std::uint32_t time) const { return !options.warm_up || time != 0; }

  const schedule& what;
  const run_options options;
  run_result& result;
  meeting all;
  std::vector<std::map<std::uint32_t, kit::address>> addresses;  // of each rank, for its peers
  ps began{0};
  ps last_end{0};
  std::vector<std::unique_ptr<rank_program>> ranks;
};

rank_program::rank_program(whole_run& run, std::uint32_t rank) : run_(run), rank_(rank), order_(run.what.ranks[rank]) {}

const std::vector<operation>& rank_program::operations() const {
  return run_.what.ranks[rank_].operations;
}

std::vector<std::uint32_t> rank_program::waiting() const {
  std::vector<std::uint32_t> w;
  for (std::uint32_t i = 0; i < ended_.size(); ++i) {
    if (!ended_[i] && waits_[i] == 0) w.push_back(i);
  }
  return w;
}

void rank_program::open(kit::process_context& p) {
  std::set<std::uint32_t> peers;
  for (const operation& o : operations()) {
    if (o.what != action::calculate) peers.insert(o.peer);
  }
  for (const std::uint32_t peer : peers) run_.addresses[rank_][peer] = port_->add_peer(peer);
  run_.all.arrive(p.c);
  for (const std::uint32_t peer : peers) port_->connect(peer, run_.addresses[peer].at(rank_));
}

void rank_program::begin_time() {
  waits_ = order_.waits();
  ended_.assign(waits_.size(), false);
  if (run_.options.keep_times) run_.result.ranks[rank_].times.resize(waits_.size());
  threads_.clear();
  threads_[0];
  for (const operation& o : operations()) ++threads_[o.cpu].left;
  running_ = threads_.size();
  for (std::uint32_t i = 0; i < waits_.size(); ++i) {
    if (waits_[i] == 0) make_ready(i);
  }
}

void rank_program::run(cpu& c, node& n) {
  kit::process_context p(c, n);
  message_port port(p, rank_, with_buffers(run_.options.port, run_.what.ranks[rank_]), *this);
  port_ = &port;
  open(p);
  rank_result& mine = run_.result.ranks[rank_];
  for (std::uint32_t time = 0; time < run_.options.times; ++time) {
    begin_time();
    const bool measured = run_.measures(time);
    run_.all.arrive(c, [&] {
      run_.began = run_.last_end = run_.result.began = c.time();
      if (measured) run_.options.parts.begin(c);
    });
    const rank_result before = mine;
    run_other_threads(n);
    work(c, threads_.at(0));
    while (running_ != 0 || port.owes()) {
      if (!port_->progress(c)) sleep(c);
    }
    run_.last_end = std::max(run_.last_end, last_end_);
    mine.time += last_end_ - run_.began;
    if (!measured) mine = before;
    run_.all.arrive(c, [&] {
      if (!measured) return;
      run_.options.parts.end(c);
      run_.result.time += run_.last_end - run_.began;
      ++run_.result.times;
    });
  }
  mine.port = port.counts();
  mine.buffers = port.buffers();
  run_.all.arrive(c, [&] { run_.result.ok = true; });
  port_ = nullptr;
}

void rank_program::run_other_threads(node& n) {
  for (auto& [number, t] : threads_) {
    if (number == 0) continue;
    n.host.run("rank" + std::to_string(rank_) + "_cpu" + std::to_string(number), [this, &its = t](cpu& c) {
      work(c, its);
      c.sync();
    });
  }
}

void rank_program::work(cpu& c, thread& t) {
  while (t.left != 0) {
    take_timed(c, t);
    if (port_->owes()) port_->progress(c);
    if (!t.ready.empty()) {
      const std::uint32_t i = t.ready.front();
      t.ready.pop_front();
      begin(c, i);
    } else if (!port_->progress(c)) {
      sleep(c, t.timed_sends.empty() ? never : run_.began + t.timed_sends.top().first);
    }
  }
  --running_;
  woken_.notify();
}

void rank_program::begin(cpu& c, std::uint32_t i) {
  const operation& o = operations()[i];
  if (threads_.size() > 1) c.sync();
  if (run_.options.keep_times) run_.result.ranks[rank_].times[i].begun = c.time();
  release(i, true);
  switch (o.what) {
    case action::calculate:
      c.spend(o.time);
      run_.result.ranks[rank_].calculated += o.time;
      return done(c, i);
    case action::send:
      return port_->send(c, i, o.peer, o.tag, o.bytes);
    case action::receive:
      return port_->receive(c, i, o.peer, o.tag, o.bytes);
  }
}

// One thread of the rank sleeps in the CQ. With several threads it looks up now and then, since another may make something
// ready.
void rank_program::sleep(cpu& c, ps until) {
  constexpr ps look = 500_ns;
  const ps begin = c.time();
  const ps left = until == never ? never : until - begin;
  if (!polled_) {
    polled_ = true;
    port_->wait(c, threads_.size() > 1 ? std::min(look, left) : left);
    polled_ = false;
    woken_.notify();
  } else {
    c.sync();
    left == never ? sc_core::wait(woken_) : sc_core::wait(to_sc(left), woken_);
  }
  run_.result.ranks[rank_].asleep += c.time() - begin;
}

// Other threads hear of an end when the kernel has reached it.
void rank_program::done(cpu& c, std::uint32_t i) {
  if (threads_.size() > 1) c.sync();
  ended_[i] = true;
  if (run_.options.keep_times) run_.result.ranks[rank_].times[i].ended = c.time();
  --threads_.at(operations()[i].cpu).left;
  last_end_ = std::max(last_end_, c.time());
  release(i, false);
  if (threads_.size() > 1) woken_.notify();
}

void rank_program::release(std::uint32_t i, bool begun) {
  for (const order::follower& f : order_.followers(i)) {
    if (f.begun == begun && --waits_[f.operation] == 0) make_ready(f.operation);
  }
}

void rank_program::make_ready(std::uint32_t i) {
  const operation& o = operations()[i];
  thread& t = threads_.at(o.cpu);
  o.what == action::send&& o.time != ps(0) ? t.timed_sends.push({o.time, i}) : t.ready.push_back(i);
}

void rank_program::take_timed(cpu& c, thread& t) {
  while (!t.timed_sends.empty() && run_.began + t.timed_sends.top().first <= c.time()) {
    t.ready.push_back(t.timed_sends.top().second);
    t.timed_sends.pop();
  }
}

}  // namespace

waiting_operations start_schedule(hcasim::system& s, const schedule& what, const run_options& o, run_result& result) {
  const auto run = std::make_shared<whole_run>(what, o, result);
  for (std::uint32_t i = 0; i < what.ranks.size(); ++i) {
    kit::start_program(s, i, "rank" + std::to_string(i), [run, i](cpu& c, node& n) { run->ranks[i]->run(c, n); });
  }
  return [run](std::uint32_t rank) { return run->ranks.at(rank)->waiting(); };
}

}  // namespace hcasim::schedules
