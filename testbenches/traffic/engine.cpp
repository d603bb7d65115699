#include "testbenches/traffic/engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "testbenches/kit/windows.h"
#include "testbenches/kit/world.h"

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr std::int64_t told_steps = 50;  // of the traffic's time
constexpr ps told_every = 20_us;         // when the traffic has no end
constexpr std::uint32_t largest_receive_queue = 4096;
constexpr std::uint64_t datagram_header = 40;  // before the payload of a receive of UD
constexpr std::uint32_t multicast_qpn = 0xffffff;

page_policy pages_of(const flow_options& o) {
  return o.page == 1_GiB ? page_policy::huge_1g : o.page == 2_MiB ? page_policy::huge_2m : page_policy::scattered;
}

bool is_source(const planned_flow& f, std::size_t host) {
  return std::any_of(f.pairs.begin(), f.pairs.end(), [&](const host_pair& p) { return p.from == host; });
}

bool is_target(const planned_flow& f, std::size_t host) {
  return std::any_of(f.pairs.begin(), f.pairs.end(), [&](const host_pair& p) { return p.to == host; });
}

ibv_global_route route_to(std::uint16_t lid) {
  return {std::bit_cast<ibv_gid>(hca_port_gid(lid)), 0, 0, 1, 0};
}

void sleep_until(cpu& c, ps t) {
  if (t > c.time()) c.spend(t - c.time());
  c.sync();
}

// Makes the CQs of a posting thread with so many QPs.
thread_queues source_queues(process_context& p, const planned_flow& f, std::size_t qps) {
  const flow_options& o = f.options;
  const std::size_t count = o.cqs == queue_use::own ? qps : 1;
  // Each message completes once, and its key arrives once.
  const std::uint64_t most = o.outstanding != 0 ? o.outstanding : std::uint64_t{f.requests()} * qps / count;
  return {p, count, most, {o.wait, o.moderation_count, o.moderation_time}};
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

qp_options engine::qp_settings(const planned_flow& f) const {
  constexpr std::array<ibv_qp_type, 4> types{IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND};
  qp_options q;
  q.send_depth = 1;
  q.receive_depth = 1;
  q.sge = 1;
  q.type = types[static_cast<std::size_t>(f.options.service)];
  q.mtu = static_cast<ibv_mtu>(static_cast<int>(f.options.mtu) + 1);
  q.timeout = static_cast<std::uint8_t>(f.options.timeout);
  q.rnr_timer = static_cast<std::uint8_t>(f.options.rnr_timer);
  return q;
}

// Makes the SRQs of a target, each with room for every message under way.
void engine::make_shared_queues(std::size_t flow, std::size_t host, process_context& p, std::uint32_t count) {
  receiver_settings& r = flows_[flow].receivers[host];
  if (plan_.flows[flow].options.service == transport::xrc) {
    const ibv_xrcd_init_attr domain{0, true, false};
    r.domain = ibv_open_xrcd(p.c, p.context, &domain);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!r.domain) {
      ibv_srq_init_attr init{nullptr, {r.depth, 1, 0}};
      r.shared.push_back(made(ibv_create_srq(p.c, p.pd, &init)));
      continue;
    }
    ibv_srq_init_attr_ex init{};
    init.attr = {r.depth, 1, 0};
    init.srq_type = IBV_SRQT_XRC;
    init.pd = p.pd;
    init.xrcd = r.domain;
    init.cq = r.queues.of(0);
    r.shared.push_back(made(ibv_create_srq_ex(p.c, p.context, &init)));
    std::uint32_t number = 0;
    if (ibv_get_srq_num(r.shared.back(), &number) != 0) throw std::runtime_error("an SRQ of XRC has no number");
    flows_[flow].srqs[host].push_back(number);
  }
}

// Makes the receive side of a target: CQ, buffer and, if its QPs share them, SRQs.
receiver_settings& engine::make_receiver(std::size_t flow, std::size_t host, process_context& p, flow_memory& memory) {
  const planned_flow& f = plan_.flows[flow];
  const bool shared = f.options.shared_receives || f.options.service == transport::xrc;
  const auto qps = static_cast<std::uint32_t>(
      f.options.qps * std::max(f.options.members, 1U) *
      std::count_if(f.pairs.begin(), f.pairs.end(), [&](const host_pair& x) { return x.to == host; }));
  receiver_settings& r = flows_[flow].receivers[host];
  r.record = &records_[flow];
  r.depth = std::min(2 * f.depth() * (shared ? qps : 1), largest_receive_queue);
  const std::uint64_t bytes = std::max<std::uint64_t>(f.longest + datagram_header, virtual_memory::page);
  r.buffer = memory.region(p, f.options.memory, bytes, page_policy::scattered);
  const bool own = f.options.cqs == queue_use::own && f.options.service != transport::xrc;
  r.queues = thread_queues(p, own ? qps : 1, std::uint64_t{r.depth} * (shared ? f.options.srqs : own ? 1 : qps), {});
  if (shared) make_shared_queues(flow, host, p, f.options.srqs);
  r.qps.resize(qps);
  if (needs_key(f.keyed())) r.granters.resize(qps);
  return r;
}

// Makes a target's QP of a pair, and in a group all members. `at`: its place among the receiver's QPs.
void engine::make_target_qp(const planned_flow& f, process_context& p, flow_memory& memory, receiver_settings* r,
                            std::size_t at, connection& x) {
  qp_options q = qp_settings(f);
  if (r && r->domain) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = q.type = IBV_QPT_XRC_RECV;
    init.xrcd = r->domain;
    x.target_qp = made(ibv_create_qp_ex(p.c, p.context, &init));
  } else {
    if (r) q.receive_depth = r->depth;
    if (r && !r->shared.empty()) q.srq = r->shared[at % r->shared.size()];
    // A change and a SEND for each key, and as many again whose completions have not been polled.
    if (needs_key(f.keyed())) q.send_depth = 4 * f.depth();
    q.privileged = f.keyed() == operation::fast_write;
    x.target_qp = p.create_qp(q, nullptr, r ? r->queues.of(at) : nullptr);
  }
  x.target = p.address_of(x.target_qp, q);
  if (!r) return;
  r->qps[at] = x.target_qp;
  for (std::uint32_t i = 0; i < f.options.members; ++i) {
    if (i != 0) r->qps[at + i] = p.create_qp(q, nullptr, r->queues.of(at + i));
    x.members.push_back(r->qps[at + i]);
  }
  if (!needs_key(f.keyed())) return;
  const key_granter::settings keys{f.keyed(), x.target_qp, f.depth(), f.longest, f.options.memory};
  r->granters[at] = std::make_unique<key_granter>(p, memory, keys);
  x.keyed = r->granters[at]->memory();
}

void engine::make_target(std::size_t flow, std::size_t host, process_context& p, flow_memory& memory) {
  const planned_flow& f = plan_.flows[flow];
  const flow_options& o = f.options;
  remote_regions& regions = flows_[flow].targets[host];
  for (std::uint32_t i = 0; i < o.regions; ++i) {
    const region r = memory.region(p, o.memory, o.region, pages_of(o));
    regions.push_back({r.addr, r.mr->rkey});
    flows_[flow].regions[host].push_back(r);
  }
  const bool receives = f.receives() || o.service == transport::xrc;
  receiver_settings* const receiver = receives ? &make_receiver(flow, host, p, memory) : nullptr;
  std::size_t before = 0;
  for (std::size_t i = 0; i < f.pairs.size(); ++i) {
    if (f.pairs[i].to != host) continue;
    for (std::uint32_t k = 0; k < o.qps; ++k) {
      const std::size_t q = plan_.reversed ? o.qps - 1 - k : k;
      make_target_qp(f, p, memory, receiver, (before + q) * std::max(o.members, 1U), flows_[flow].connections[i * o.qps + q]);
    }
    before += o.qps;
  }
}

void engine::make_source(std::size_t flow, std::size_t host, process_context& p, flow_memory& memory) {
  const planned_flow& f = plan_.flows[flow];
  const flow_options& o = f.options;
  qp_options q = qp_settings(f);
  q.send_depth = std::max(f.requests(), 4U);
  if (needs_key(f.keyed())) q.receive_depth = 2 * f.depth();
  if (o.send_inline) q.inline_bytes = static_cast<std::uint32_t>(f.longest);
  std::vector<thread_queues>& queues = flows_[flow].queues[host];
  const std::size_t each = ceil_div(f.qps_of(host), o.threads);
  const std::uint64_t bytes = std::max<std::uint64_t>(f.longest, virtual_memory::page);
  for (std::uint32_t t = 0; t < o.threads; ++t) {
    queues.push_back(source_queues(p, f, each));
    flows_[flow].buffers[host].push_back(memory.region(p, o.source_memory, bytes, page_policy::scattered));
  }
  std::size_t number = 0;
  for (std::size_t i = 0; i < f.pairs.size(); ++i) {
    for (std::uint32_t k = 0; f.pairs[i].from == host && k < o.qps; ++k) {
      connection& x = flows_[flow].connections[i * o.qps + (plan_.reversed ? o.qps - 1 - k : k)];
      make_source_qp(f, p, q, queues[number % o.threads].of(number / o.threads), x);
      ++number;
    }
  }
}

void engine::make_source_qp(const planned_flow& f, process_context& p, const qp_options& q, ibv_cq* cq, connection& x) {
  x.source_qp = p.create_qp(q, nullptr, cq);
  x.source = p.address_of(x.source_qp, q);
  if (f.has(operation::bind)) x.own = made(ibv_alloc_mw(p.c, p.pd, IBV_MW_TYPE_1));
}

void engine::connect(std::size_t flow, std::size_t host, process_context& p) {
  const planned_flow& f = plan_.flows[flow];
  for (std::size_t i = 0; i < f.connections(); ++i) {
    connection& x = flows_[flow].connections[i];
    const host_pair& pair = f.pairs[i / f.options.qps];
    if (pair.to == host) connect_target(flow, p, i);
    if (pair.from != host) continue;
    const ibv_global_route way = route_to(x.target.lid);
    qp_options q = qp_settings(f);
    if (f.options.global_routes) q.global = &way;
    p.must_connect(x.source_qp, x.target, q);
    if (f.options.service != transport::ud) continue;
    ibv_ah_attr to{x.target.lid, 0, 1, f.options.global_routes, way};
    if (f.options.members != 0) to = group_of(flow, i);
    x.way = made(ibv_create_ah(p.c, p.pd, &to));
    if (f.options.members != 0) x.target.qpn = multicast_qpn;
  }
}

// Returns the multicast group of a connection.
ibv_ah_attr engine::group_of(std::size_t flow, std::size_t number) const {
  for (std::size_t i = 0; i < flow; ++i) number += plan_.flows[i].options.members != 0 ? plan_.flows[i].connections() : 0;
  ibv_gid gid{{0xff, 0x12}};
  gid.raw[14] = static_cast<std::uint8_t>(number >> 8);
  gid.raw[15] = static_cast<std::uint8_t>(number);
  const auto lid = static_cast<std::uint16_t>(HCA_MULTICAST_LID + 1 + number);
  return {lid, 0, 1, 1, {.dgid = gid, .flow_label = 0, .sgid_index = 0, .hop_limit = 1, .traffic_class = 0}};
}

void engine::connect_target(std::size_t flow, process_context& p, std::size_t number) {
  const planned_flow& f = plan_.flows[flow];
  const connection& x = flows_[flow].connections[number];
  qp_options q = qp_settings(f);
  if (f.options.service == transport::xrc) q.type = IBV_QPT_XRC_RECV;
  const ibv_global_route way = route_to(x.source.lid);
  if (f.options.global_routes) q.global = &way;
  p.must_connect(x.target_qp, x.source, q);
  const ibv_ah_attr group = group_of(flow, number);
  for (ibv_qp* const member : x.members) {
    if (member != x.target_qp) p.must_connect(member, x.source, q);
    const int error = ibv_attach_mcast(p.c, member, &group.grh.dgid, group.dlid);
    if (error != 0)
      throw std::runtime_error(fmt::format("a multicast group takes no member: {}; groups take numbers of QPs (driver.log_qps)",
                                           std::strerror(error)));
  }
}

// Binds the long-lived windows over a target's regions; their keys take the place of the regions'.
void engine::open_windows(std::size_t flow, std::size_t host, process_context& p) {
  const planned_flow& f = plan_.flows[flow];
  const bool of_each_qp = f.options.windows == window_use::type_2;
  remote_regions& named = flows_[flow].targets[host];
  const auto open = [&](ibv_qp* qp, std::size_t i) {
    const region& r = flows_[flow].regions[host][i];
    const ibv_mw_bind_info all{r.mr, r.addr, r.length, qp_rights};
    ibv_mw* const mw = made(ibv_alloc_mw(p.c, p.pd, of_each_qp ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
    const ibv_wc wc = of_each_qp ? bind(p.c, qp, mw, ibv_inc_rkey(mw->rkey), all) : bind_type_1(p.c, qp, mw, all);
    if (wc.status != IBV_WC_SUCCESS)
      throw std::runtime_error(fmt::format("a long-lived window cannot be bound: {}", ibv_wc_status_str(wc.status)));
    return remote_region{named[i].address, mw->rkey};
  };
  for (std::size_t i = 0; i < f.connections(); ++i) {
    if (f.pairs[i / f.options.qps].to != host) continue;
    connection& x = flows_[flow].connections[i];
    for (std::size_t r = 0; of_each_qp && r < named.size(); ++r) x.windows.push_back(open(x.target_qp, r));
    if (of_each_qp) continue;
    for (std::size_t r = 0; r < named.size(); ++r) named[r] = open(x.target_qp, r);
    return;
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
  (void)i.run({begin, std::min(end_, stop), std::min(end_, stop)});
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
  if (end_ != never) {
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
