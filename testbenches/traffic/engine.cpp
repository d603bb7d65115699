#include "testbenches/traffic/engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "testbenches/kit/world.h"

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr std::int64_t told_steps = 50;  // of the traffic's time
constexpr ps told_every = 20_us;         // when the traffic has no end

bool is_source(const planned_flow& f, std::size_t host) {
  return std::any_of(f.pairs.begin(), f.pairs.end(), [&](const host_pair& p) { return p.from == host; });
}

bool is_target(const planned_flow& f, std::size_t host) {
  return std::any_of(f.pairs.begin(), f.pairs.end(), [&](const host_pair& p) { return p.to == host; });
}

void sleep_until(cpu& c, ps t) {
  if (t > c.time()) c.spend(t - c.time());
  c.sync();
}

}  // namespace

void meeting::arrive(cpu& c) {
  c.sync();
  if (++here_ == expected_) {
    here_ = 0;
    ++round_;
    all_here_.notify(sc_core::SC_ZERO_TIME);
    return;
  }
  const std::uint64_t mine = round_;
  while (round_ == mine) sc_core::wait(all_here_);
}

engine::engine(hcasim::system& s, plan p, std::uint64_t seed, measured_parts parts,
               std::function<void(const std::string&)> on_step)
    : system_(s),
      plan_(std::move(p)),
      seed_(seed),
      parts_(std::move(parts)),
      on_step_(std::move(on_step)),
      flows_(plan_.flows.size()),
      all_made_(plan_.hosts),
      phase_begins_(plan_.phases(), never) {
  for (std::size_t i = 0; i < plan_.flows.size(); ++i) {
    const planned_flow& f = plan_.flows[i];
    std::vector<std::size_t> source_of;
    for (const host_pair& pair : f.pairs) source_of.push_back(pair.from);
    records_.emplace_back(source_of);
    flows_[i].connections.resize(f.connections());
    if (f.order.by == access_order::kind::zipf)
      flows_[i].ranks = std::make_shared<const zipf_ranks>(f.options.regions, f.order.exponent);
    issuers_ += f.sources().size() * f.options.threads;
    if (f.receives()) receivers_ += f.targets().size();
  }
  meeting_.expect(plan_.hosts + issuers_ + receivers_);
  between_phases_.expect(issuers_);
}

void engine::start() {
  for (std::size_t i = 0; i < plan_.hosts; ++i) {
    if (!with_) {
      start_program(system_, i, "traffic", [this, i](cpu& c, node& n) { run_host(i, c, n); });
      continue;
    }
    const auto failed = [this](const std::string& why) {
      with_->failed(why);
      sc_core::sc_stop();
    };
    start_program(
        system_, i, "traffic",
        [this, i, failed](cpu& c, node& n) {
          try {
            run_host(i, c, n);
          } catch (const std::runtime_error& e) {
            failed(e.what());
          }
        },
        failed);
  }
}

std::vector<lane> engine::lanes_of(std::size_t flow, std::size_t host, std::uint32_t thread) const {
  const planned_flow& f = plan_.flows[flow];
  const flow_options& o = f.options;
  std::vector<lane> out;
  std::size_t number = 0;
  for (std::size_t i = 0; i < f.pairs.size(); ++i) {
    const host_pair& pair = f.pairs[i];
    for (std::uint32_t k = 0; pair.from == host && k < o.qps; ++k) {
      if (number++ % o.threads != thread) continue;
      lane& l = out.emplace_back();
      const connection& x = flows_[flow].connections[i * o.qps + k];
      l.qp = x.source_qp;
      l.pair = i;
      l.index = i * o.qps + k;
      l.weight = f.share(pair);
      l.target = x.windows.empty() ? &flows_[flow].targets.at(pair.to) : &x.windows;
      l.window = x.own;
      l.keyed = x.keyed;
      l.datagrams = x.way;
      l.peer = x.target.qpn;
      if (o.service == transport::xrc) l.srqs = &flows_[flow].srqs.at(pair.to);
      if (with_) l.source = with_->messages(flow, l.index);
      if (l.source) continue;
      const double stretch = o.qps / (f.share(pair) * static_cast<double>(f.qps_of(host)));
      const std::string name = fmt::format("traffic.{}.{}.{}.{}", f.name, pair.from, pair.to, k);
      l.source = std::make_unique<flow_producer>(f, seed_, name, stretch, flows_[flow].ranks);
    }
  }
  return out;
}

// Returns the thread's part of the flow's messages: as large as its part of the QPs.
std::uint64_t engine::messages_of(std::size_t flow, std::size_t host, std::uint32_t thread) const {
  const planned_flow& f = plan_.flows[flow];
  const std::uint64_t all = f.options.messages;
  if (all == 0) return UINT64_MAX;
  std::uint64_t before = 0;
  std::uint64_t mine = 0;
  std::uint64_t sum = 0;
  for (const std::size_t s : f.sources()) {
    for (std::uint32_t t = 0; t < f.options.threads; ++t) {
      const std::uint64_t qps = (f.qps_of(s) + f.options.threads - 1 - t) / f.options.threads;
      if (s == host && t == thread) {
        before = sum;
        mine = qps;
      }
      sum += qps;
    }
  }
  const auto up_to = [&](std::uint64_t n) { return all / sum * n + all % sum * n / sum; };
  return up_to(before + mine) - up_to(before);
}

void engine::start_issuer(std::size_t flow, std::size_t host, process_context& p, std::uint32_t thread) {
  const planned_flow& f = plan_.flows[flow];
  issuer_settings s;
  s.flow = &f;
  s.record = &records_[flow];
  s.with = with_;
  s.flow_number = flow;
  s.host = host;
  s.seed = seed_;
  s.name = fmt::format("traffic.{}.{}.thread{}", f.name, host, thread);
  s.queues = &flows_[flow].queues.at(host)[thread];
  s.buffer = flows_[flow].buffers.at(host)[thread];
  s.messages = messages_of(flow, host, thread);
  auto lanes = std::make_shared<std::vector<lane>>(lanes_of(flow, host, thread));
  p.n.host.run(fmt::format("{}{}", f.name, thread), [this, s = std::move(s), lanes, host](cpu& c) mutable {
    issuer i(c, s, std::move(*lanes));
    const bool prepared = i.prepare();
    meeting_.arrive(c);
    set_times(c.time());
    meet_phases(c, 1, s.flow->options.phase);
    if (prepared) run_issuer(i, c, host, *s.flow);
    meet_phases(c, s.flow->options.phase, plan_.phases());
    c.sync();
    --issuers_;
    thread_ended_.notify(sc_core::SC_ZERO_TIME);
  });
}

// Meets the other posting threads between all phases from `from` to `to`.
void engine::meet_phases(cpu& c, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t next = from + 1; next <= to; ++next) {
    between_phases_.arrive(c);
    phase_begins_[next - 1] = std::min(phase_begins_[next - 1], c.time());
  }
}

void engine::run_issuer(issuer& i, cpu& c, std::size_t host, const planned_flow& f) {
  const ps phase = phase_begins_[f.options.phase - 1];
  const ps stop = f.options.stop == never ? never : phase + f.options.stop;
  const ps begin = phase + f.options.start;
  if (begin >= end_) return;
  (void)i.run({begin, stop, &end_});
  if (const ps took = c.time() - begin; took > 0_ps) {
    double& busy = busy_[host];
    busy = std::max(busy, 1 - to_seconds(i.waited()) / to_seconds(took));
  }
}

void engine::start_threads(std::size_t flow, std::size_t host, process_context& p) {
  const planned_flow& f = plan_.flows[flow];
  if (f.receives() && is_target(f, host)) {
    p.n.host.run(f.name + "_receives", [this, &settings = flows_[flow].receivers.at(host)](cpu& c) {
      meeting_.arrive(c);
      receive(c, settings, [this] { return issuers_ == 0; });
      c.sync();
      --receivers_;
      thread_ended_.notify(sc_core::SC_ZERO_TIME);
    });
  }
  for (std::uint32_t t = 0; is_source(f, host) && t < f.options.threads; ++t) start_issuer(flow, host, p, t);
}

void engine::set_times(ps begin) {
  if (phase_begins_.front() != never) return;
  const std::int64_t grid = plan_.grid.count();
  begin = ps((begin.count() + grid - 1) / grid * grid);
  phase_begins_.front() = begin;
  begin_ = begin + plan_.warm_up;
  end_ = plan_.measure == never ? never : begin_ + plan_.measure;
  for (flow_record& r : records_) r.measure(begin_, end_);
}

// Marks the measured time, and tells how far the run is.
void engine::measure(cpu& c) {
  sleep_until(c, begin_);
  parts_.begin(c);
  if (plan_.until == run_until::steady) {
    measure_until_steady(c);
  } else if (end_ != never) {
    for (std::int64_t i = 1; i <= told_steps; ++i) {
      sleep_until(c, begin_ + plan_.measure * i / told_steps);
      step(fmt::format("{} % of the measured time", 100 * i / told_steps));
    }
  } else {
    while (issuers_ != 0) sc_core::wait(thread_ended_);
    c.sync();
    end_ = begin_;
    for (const flow_record& r : records_) end_ = std::max(end_, r.last_done());
  }
  parts_.end(c);
}

// Ends the measured time one step after all quantities are known well enough. No thread's own time is beyond that step.
void engine::measure_until_steady(cpu& c) {
  steadiness& s = steadiness_.emplace(plan_, records_);
  for (ps t = begin_ + steadiness::step; t < end_; t += steadiness::step) {
    sleep_until(c, t);
    s.advance();
    if (!s.looks()) continue;
    step(fmt::format("the figures are known to {:.2g} %", 100 * steadiness::relative_error(s.worst())));
    if (!s.reached()) continue;
    end_ = t + steadiness::step;
    for (flow_record& r : records_) r.measure(begin_, end_);
  }
  sleep_until(c, end_);
}

// Tells how far a run without an end of its own is.
void engine::count_aloud(cpu& c) {
  while (issuers_ != 0) {
    std::uint64_t done = 0;
    for (const flow_record& r : records_) done += r.all_messages();
    step(fmt::format("{} messages are done", done));
    sleep_until(c, c.time() + told_every);
  }
}

void engine::run_host(std::size_t host, cpu& c, node& n) {
  flow_memory memory(n, plan_.gpu_of(host));
  process_context p(c, n);
  if (with_) with_->opened(host, p);
  const auto each = [&](auto&& wanted, auto&& action) {
    for (std::size_t f = 0; f < plan_.flows.size(); ++f) {
      if (wanted(plan_.flows[f], host)) action(f);
    }
  };
  const auto any = [](const planned_flow&, std::size_t) { return true; };
  each(is_target, [&](std::size_t f) { make_target(f, host, p, memory); });
  each(is_source, [&](std::size_t f) { make_source(f, host, p, memory); });
  step(fmt::format("host {} has its regions and QPs", host));
  all_made_.arrive(c);
  each(any, [&](std::size_t f) { connect(f, host, p); });
  each(is_target, [&](std::size_t f) {
    if (plan_.flows[f].receives()) (void)fill_receives(c, flows_[f].receivers.at(host));
    if (plan_.flows[f].options.windows != window_use::none) open_windows(f, host, p);
  });
  if (with_) with_->made(host, p);
  step(fmt::format("host {} is connected", host));
  each(any, [&](std::size_t f) { start_threads(f, host, p); });
  meeting_.arrive(c);
  set_times(c.time());
  if (host == 0 && plan_.measure == never) n.host.run("counts", [this](cpu& own) { count_aloud(own); });
  if (host == 0) measure(c);
  c.sync();
  while (issuers_ + receivers_ != 0) sc_core::wait(thread_ended_);
  if (with_) with_->ended(host, p, memory);
  const bool clean = p.close();
  if (with_) with_->closed(host, clean);
  memory.leave(c);
  ++finished_;
}

}  // namespace hcasim::traffic
