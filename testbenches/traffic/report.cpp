#include "testbenches/traffic/report.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include <fmt/format.h>

namespace hcasim::traffic {
namespace {

double seconds(const measured_traffic& m) {
  return to_seconds(m.end - m.begin);
}

double gigabits(double bytes, double s) {
  return s > 0 ? bytes * 8 / s / 1e9 : 0;
}

double millions(double messages, double s) {
  return s > 0 ? messages / s / 1e6 : 0;
}

// Payload of a host or a group on its links.
struct host_traffic {
  double sent = 0;
  double received = 0;
  double messages = 0;  // posted
  bool unseen = false;  // what was received is not known: UC WRITEs may be lost, and complete no receive

  host_traffic& operator+=(const host_traffic& o) {
    sent += o.sent;
    received += o.received;
    messages += o.messages;
    unseen = unseen || o.unseen;
    return *this;
  }
};

std::vector<host_traffic> by_host(const measured_traffic& m) {
  std::vector<host_traffic> out(m.planned.hosts);
  for (std::size_t f = 0; f < m.records.size(); ++f) {
    const planned_flow& flow = m.planned.flows[f];
    for (std::size_t p = 0; p < flow.pairs.size(); ++p) {
      const flow_record::pair_count& n = m.records[f].pairs()[p];
      const auto pushed = static_cast<double>(n.pushed);
      const auto pulled = static_cast<double>(n.pulled);
      out[flow.pairs[p].from] += {pushed, pulled, static_cast<double>(n.messages), false};
      out[flow.pairs[p].to] += {pulled, flow.unreliable() ? 0 : pushed, 0, flow.unreliable() && !flow.all_receive()};
    }
    if (!flow.unreliable()) continue;
    for (std::size_t h = 0; h < out.size(); ++h) out[h].received += static_cast<double>(m.records[f].arrived(h));
  }
  return out;
}

// Returns the latencies of the messages that these hosts posted.
latency_histogram latency_of(const measured_traffic& m, const host_list& hosts) {
  latency_histogram all;
  for (const flow_record& r : m.records) {
    for (const std::size_t h : hosts) {
      if (const latency_histogram* const one = r.of_host(h)) all.add(*one);
    }
  }
  return all;
}

std::vector<double> rates_of_pairs(const flow_record& r) {
  std::vector<double> out;
  for (const flow_record::pair_count& n : r.pairs()) out.push_back(static_cast<double>(n.pushed + n.pulled));
  return out;
}

// Times in us: mean, p50, p90, p99, p99.9, the largest.
std::vector<cell> times_of(const latency_histogram& h) {
  if (h.count() == 0) return std::vector<cell>(6, std::string("-"));
  std::vector<cell> out{h.mean() / 1e6};
  for (const double p : {0.5, 0.9, 0.99, 0.999}) out.emplace_back(h.percentile(p) / 1e6);
  out.emplace_back(h.most() / 1e6);
  return out;
}

void add_latency(table& t, const std::string& name, const char* from, const latency_histogram& h) {
  std::vector<cell> row{name, std::string(from), static_cast<std::uint64_t>(h.count())};
  for (cell& c : times_of(h)) row.push_back(std::move(c));
  t.row(std::move(row));
}

void report_flows(const measured_traffic& m, result& to) {
  const double s = seconds(m);
  table& t = to.table("flows", {{"flow"},
                                {"offered", "Gb/s"},
                                {"reached", "Gb/s"},
                                {"messages", "M/s"},
                                {"p50", "us"},
                                {"p99", "us"},
                                {"fairness"},
                                {"receives", "M/s"}});
  for (std::size_t i = 0; i < m.records.size(); ++i) {
    const planned_flow& f = m.planned.flows[i];
    const flow_record& r = m.records[i];
    const latency_histogram& h = f.open() ? r.response() : r.latency();
    t.row({f.name, f.open() ? cell(gigabits(static_cast<double>(r.offered_bytes()), s)) : cell(std::string("-")),
           gigabits(static_cast<double>(r.bytes()), s), millions(static_cast<double>(r.messages()), s), h.percentile(0.5) / 1e6,
           h.percentile(0.99) / 1e6, jain_index(rates_of_pairs(r)),
           f.receives() ? cell(millions(static_cast<double>(r.receives()), s)) : cell(std::string("-"))});
  }
}

void report_latencies(const measured_traffic& m, result& to) {
  table& t = to.table("latency", {{"flow"},
                                  {"from"},
                                  {"messages"},
                                  {"mean", "us"},
                                  {"p50", "us"},
                                  {"p90", "us"},
                                  {"p99", "us"},
                                  {"p99.9", "us"},
                                  {"max", "us"}});
  latency_histogram all;
  for (std::size_t i = 0; i < m.records.size(); ++i) {
    const flow_record& r = m.records[i];
    add_latency(t, m.planned.flows[i].name, "post", r.latency());
    if (m.planned.flows[i].open()) add_latency(t, m.planned.flows[i].name + " (arrival)", "arrival", r.response());
    all.add(r.latency());
  }
  if (m.records.size() > 1) add_latency(t, "all", "post", all);
}

void report_hosts(const measured_traffic& m, result& to) {
  const double s = seconds(m);
  const std::vector<host_traffic> hosts = by_host(m);
  table& t = to.table("groups and hosts", {{"name"},
                                           {"sent", "Gb/s"},
                                           {"received", "Gb/s"},
                                           {"posted", "M/s"},
                                           {"fairness"},
                                           {"mean", "us"},
                                           {"p50", "us"},
                                           {"p90", "us"},
                                           {"p99", "us"},
                                           {"p99.9", "us"},
                                           {"max", "us"}});
  const auto row = [&](const std::string& name, const host_list& members) {
    host_traffic sum;
    std::vector<double> each;
    for (const std::size_t h : members) {
      sum += hosts[h];
      each.push_back(hosts[h].sent + hosts[h].received);
    }
    std::vector<cell> cells{name, gigabits(sum.sent, s), sum.unseen ? cell(std::string("-")) : cell(gigabits(sum.received, s)),
                            millions(sum.messages, s)};
    cells.push_back(members.size() > 1 ? cell(jain_index(each)) : cell(std::string("-")));
    for (cell& c : times_of(latency_of(m, members))) cells.push_back(std::move(c));
    t.row(std::move(cells));
  };
  for (const plan::group& g : m.planned.groups) row(g.name, g.hosts);
  for (std::size_t h = 0; h < hosts.size(); ++h) row(fmt::format("node{}", h), {h});
}

// Phases that follow one another, in time after the begin of the first one.
void report_phases(const measured_traffic& m, result& to) {
  if (m.phase_begins.size() < 2) return;
  table& t = to.table("phases", {{"phase"}, {"begin", "us"}, {"last completion", "us"}, {"time", "us"}, {"messages"}});
  const ps origin = m.phase_begins.front();
  for (std::uint32_t phase = 1; phase <= m.phase_begins.size(); ++phase) {
    const ps begin = m.phase_begins[phase - 1];
    ps end = begin;
    std::uint64_t messages = 0;
    for (std::size_t i = 0; i < m.records.size(); ++i) {
      if (m.planned.flows[i].options.phase != phase) continue;
      end = std::max(end, m.records[i].last_done());
      messages += m.records[i].all_messages();
    }
    t.row(phase, to_us(begin - origin), to_us(end - origin), to_us(end - begin), messages);
    to.figure(fmt::format("phase{}_time", phase), to_us(end - begin), "us",
              "from the begin of the phase to its last completion");
  }
}

void report_steadiness(const steadiness& s, result& to) {
  table& t = to.table("known to",
                      {{"flow"}, {"quantity"}, {"mean"}, {"unit"}, {"+-", "%"}, {"batches"}, {"each", "us"}, {"correlation"}});
  for (const steadiness::quantity& q : s.all()) {
    t.row({q.flow, q.what, q.means.mean() * q.scale, q.unit, 100 * steadiness::relative_error(q),
           static_cast<double>(q.means.batches()), to_us(steadiness::batch_of(q)), q.means.correlation()});
  }
}

// Sums over all flows.
struct whole {
  double bytes = 0;
  double messages = 0;
  double offered = 0;
  bool open = false;
  latency_histogram response;
  std::vector<double> pairs;
  std::vector<std::vector<const flow_record*>> phases;
};

whole sum_of(const measured_traffic& m) {
  whole w;
  for (std::size_t i = 0; i < m.records.size(); ++i) {
    const flow_record& r = m.records[i];
    const bool open = m.planned.flows[i].open();
    w.open = w.open || open;
    w.bytes += static_cast<double>(r.bytes());
    w.messages += static_cast<double>(r.messages());
    w.offered += static_cast<double>(open ? r.offered_bytes() : r.bytes());
    w.response.add(open ? r.response() : r.latency());
    for (const double rate : rates_of_pairs(r)) w.pairs.push_back(rate);
    w.phases.resize(m.planned.phases());
    w.phases[m.planned.flows[i].options.phase - 1].push_back(&r);
  }
  return w;
}

// Returns the share of the messages of UC and UD that found a receive; none = there are none, or no receive tells.
std::optional<double> delivered(const measured_traffic& m) {
  double sent = 0;
  double received = 0;
  for (std::size_t i = 0; i < m.records.size(); ++i) {
    const planned_flow& f = m.planned.flows[i];
    if (!f.unreliable() || !f.all_receive()) continue;
    sent += static_cast<double>(m.records[i].messages() * std::max(f.options.members, 1U));
    received += static_cast<double>(m.records[i].receives());
  }
  if (sent == 0) return std::nullopt;
  return std::min(received / sent, 1.0);
}

}  // namespace

void report(const measured_traffic& m, result& to) {
  const double s = seconds(m);
  const whole w = sum_of(m);
  to.headline("goodput", gigabits(w.bytes, s), "Gb/s", aim::high, "payload of the completed messages");
  to.headline("message_rate", millions(w.messages, s), "M/s", aim::high, "completed messages");
  if (m.known) to.known_to(m.planned.precision);  // each flow's rate, so their sum, too
  if (w.open)
    to.figure("offered", gigabits(w.offered, s), "Gb/s", "payload that arrived at open loops, and that closed loops moved");
  to.figure("p50", w.response.percentile(0.5) / 1e6, "us",
            "time to the completion: from the arrival in an open loop, else from the post");
  to.figure("p90", w.response.percentile(0.9) / 1e6, "us", "likewise, not exceeded by 90 %");
  to.figure("p99", w.response.percentile(0.99) / 1e6, "us", "likewise, by 99 %");
  to.figure("p99.9", w.response.percentile(0.999) / 1e6, "us", "likewise, by 99.9 %");
  to.figure("max", w.response.most() / 1e6, "us", "the longest");
  to.figure("fairness", jain_index(w.pairs), "1", "Jain's index over the pairs of hosts; 1: all carry the same");
  to.figure("overlap", overlap(w.phases, m.begin, m.end), "1",
            "share of the measured time in which all flows of a phase were active");
  if (const auto share = delivered(m))
    to.figure("delivered", *share, "1",
              "share of the messages of UC and UD that found a receive at each of their QPs; the others are lost");
  report_flows(m, to);
  report_latencies(m, to);
  report_hosts(m, to);
  report_phases(m, to);
  if (m.known) report_steadiness(*m.known, to);
  to.operations(static_cast<std::uint64_t>(w.messages));
}

void write_rates(const measured_traffic& m, std::ostream& to) {
  to << "flow,begin_ns,end_ns,rate_gbps\n";
  for (std::size_t i = 0; i < m.records.size(); ++i) {
    for (const rate_series::step& x : m.records[i].over_time().steps(m.end - m.begin)) {
      to << fmt::format("{},{},{},{}\n", m.planned.flows[i].name, to_ns(x.begin), to_ns(x.end),
                        gigabits(static_cast<double>(x.bytes), to_seconds(x.end - x.begin)));
    }
  }
}

}  // namespace hcasim::traffic
