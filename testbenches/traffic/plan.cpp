#include "testbenches/traffic/plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/traffic/load_check.h"

namespace hcasim::traffic {
namespace {

constexpr double largest_message = 0x1p31;

// Checks one flow; every complaint names the flow's knob.
class flow_planner {
 public:
  flow_planner(const traffic_options::flow& f, const machine_limits& limits, const folder_lookup& folder_of)
      : o_(f.options), limits_(limits), folder_of_(folder_of) {
    out_.name = f.name;
    out_.options = f.options;
  }

  planned_flow run(const std::vector<plan::group>& groups, std::uint64_t seed) {
    check_mix();
    read_pattern(groups, seed);
    read_sizes();
    check_memory();
    read_order();
    check_posting();
    check_completions();
    check_receives();
    check_path();
    read_depth();
    check_times();
    read_arrivals();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string path(std::string_view knob) const { return fmt::format("flows.{}.{}", out_.name, knob); }
  [[noreturn]] void refuse(std::string_view knob, const std::string& why) const { throw knob_error(path(knob), why); }
  void require(bool ok, std::string_view knob, const std::string& why) const {
    if (!ok) refuse(knob, why);
  }
  // Runs a reader of text; its complaint becomes one of the knob.
  template <class F>
  auto reading(std::string_view knob, F read) const {
    try {
      return read();
    } catch (const std::runtime_error& e) {
      refuse(knob, e.what());
    }
  }
  [[nodiscard]] distribution read(std::string_view knob, const std::string& text, knob_kind kind) const {
    return reading(knob, [&] { return distribution::parse(text, kind, folder_of_(path(knob))); });
  }

  void check_mix() const {
    const bool any = std::any_of(o_.weights.begin(), o_.weights.end(), [](double w) { return w > 0; });
    if (!any) throw knob_error("flows." + out_.name, "the mix has no operation; write for example write: 1");
    check_keys();
    check_service();
  }

  void check_service() const {
    constexpr std::array<const char*, 4> services{"RC", "UC", "UD", "XRC"};
    const auto offered = [&](operation op) {
      if (o_.service == transport::rc) return true;
      if (o_.service == transport::xrc) return !needs_key(op) && op != operation::bind;
      if (o_.service == transport::ud) return op == operation::send;
      return !pulls(op) && !needs_key(op);
    };
    for (std::size_t i = 0; i < operations; ++i) {
      const auto op = static_cast<operation>(i);
      require(!out_.has(op) || offered(op), operation_names[i],
              fmt::format("{} does not carry it here; write transport: rc, or leave it out of the mix",
                          services[static_cast<std::size_t>(o_.service)]));
    }
  }

  // A receive of the target tells which message has used its key, so no other message may take one.
  void check_keys() const {
    const operation keyed = out_.keyed();
    if (!needs_key(keyed)) return;
    const char* const name = operation_names[static_cast<std::size_t>(keyed)];
    for (std::size_t i = 0; i < operations; ++i) {
      const auto other = static_cast<operation>(i);
      require(other == keyed || !takes_receive(other) || !out_.has(other), operation_names[i],
              fmt::format("does not go with {} on the same QPs; make a second flow of it", name));
    }
    require(!o_.shared_receives, "shared_receives", fmt::format("the receives of {} belong to its QP; remove it", name));
    require(o_.outstanding == 0, "outstanding",
            fmt::format("{} has a key for each message of a window; write window: N", name));
    check_key_memory(keyed, name);
  }

  void check_key_memory(operation keyed, const char* name) const {
    const memory_kind m = o_.memory;
    const bool possible = m == memory_kind::host || keyed == operation::register_write ||
                          (keyed == operation::bind_write && m == memory_kind::gpu);
    require(possible, "memory", fmt::format("{} is not for such memory; write memory: host, or register_write", name));
  }

  void read_pattern(const std::vector<plan::group>& groups, std::uint64_t seed) {
    const auto hosts = [&](std::string_view knob, const std::string& name) -> const host_list& {
      std::vector<std::string> names;
      for (const plan::group& g : groups) {
        if (g.name == name) return g.hosts;
        names.push_back(g.name);
      }
      if (name.empty()) refuse(knob, fmt::format("is missing; write {}: GROUP, one of {}", knob, fmt::join(names, ", ")));
      refuse(knob, fmt::format("there is no group '{}'; {}", name, suggestion(name, names, "groups")));
    };
    const host_list& from = hosts("from", o_.from);
    const host_list& to = hosts("to", o_.to);
    const pattern p = reading("pattern", [&] { return pattern::parse(o_.pattern); });
    out_.pairs = reading("pattern", [&] { return pairs_of(p, from, to, seed); });
    out_.per_message = p.per_message();
  }

  void read_sizes() {
    const bool sized = out_.has_any(is_sized);
    require(sized || o_.size == flow_options{}.size, "size", "an atomic has 8 bytes, and a bind none; remove it");
    out_.size = read("size", sized ? o_.size : std::string("8 B"), knob_kind::bytes);
    const double most = out_.size.most();
    // A distribution without an end is cut off at the region.
    out_.longest = static_cast<std::uint64_t>(std::isinf(most) ? static_cast<double>(o_.region) : most);
    require(out_.size.mean() >= 1, "size", "the mean is below one byte; raise it");
    require(static_cast<double>(out_.longest) <= largest_message, "size", "a message has 2 GiB at most; lower it");
    require(out_.longest <= o_.region, "region",
            fmt::format("a message of {} does not fit; write region: {} or more",
                        format_quantity(knob_kind::bytes, static_cast<long double>(out_.longest)),
                        format_quantity(knob_kind::bytes, static_cast<long double>(out_.longest))));
    require(o_.service != transport::ud || static_cast<double>(out_.longest) <= out_.mtu_bytes(), "size",
            "a datagram is one packet; write a size of the mtu at most");
  }

  void check_memory() const {
    const bool page_size = o_.page == 4_KiB || o_.page == 2_MiB || o_.page == 1_GiB;
    require(page_size, "page", "pages have 4 KiB, 2 MiB or 1 GiB; write one of them");
    require(o_.memory == memory_kind::host || o_.page == 4_KiB, "page", "only memory: host has larger pages; remove it");
    const auto bears_windows = [](memory_kind m) { return m == memory_kind::host || m == memory_kind::gpu; };
    require(!out_.has(operation::bind) || bears_windows(o_.source_memory), "source_memory",
            "a window needs a region that is pinned in the host or its GPU; write source_memory: host, or leave out bind");
    require(o_.windows == window_use::none || bears_windows(o_.memory), "windows",
            "a window needs a region that is pinned in the host or its GPU; write memory: host, or remove it");
    require(o_.windows == window_use::none || o_.service == transport::rc || o_.service == transport::uc, "windows",
            "a QP of the target binds, and only RC and UC do; write transport: rc, or remove it");
    require(o_.source_memory == memory_kind::host || !o_.send_inline, "inline",
            "the CPU writes the payload into the WQE, and only from host memory; remove source_memory, or inline");
    for (const std::size_t host : out_.targets()) check_memory_of(host, "memory", o_.memory);
    for (const std::size_t host : out_.sources()) check_memory_of(host, "source_memory", o_.source_memory);
  }

  static std::string gpu_mend(std::size_t host, const machine_limits::host& has) {
    if (has.beside.empty()) return fmt::format("host {0} has no GPU; write node{0}.peer0.kind: gpu", host);
    return fmt::format("host {0} is beside {1}, and GPUs there belong to {1}; write memory of another kind, or a flow of {1}",
                       host, has.beside);
  }

  void check_memory_of(std::size_t host, std::string_view knob, memory_kind kind) const {
    const machine_limits::host has = host < limits_.hosts.size() ? limits_.hosts[host] : machine_limits::host{};
    require(kind != memory_kind::gpu || has.gpu, knob, gpu_mend(host, has));
    require(kind != memory_kind::device || has.adapter_bytes != 0, knob,
            fmt::format("the adapter of host {0} has no memory; write node{0}.hca.device_memory.size: N", host));
  }

  void read_order() {
    out_.order = reading("order", [&] { return access_order::parse(o_.order); });
    if (!out_.uses_regions()) {
      constexpr const char* unused = "no message of the mix goes to a region; add write or read, or remove it";
      require(o_.region == flow_options{}.region || std::isinf(out_.size.most()), "region", unused);
      require(o_.regions == 1, "regions", unused);
      require(out_.order.by == access_order::kind::in_turn, "order", unused);
      require(o_.page == 4_KiB, "page", unused);
      require(o_.windows == window_use::none, "windows", unused);
    }
    require(out_.order.by != access_order::kind::zipf || o_.regions > 1, "order",
            "with one region there is no Zipf law; write regions: N");
  }

  void check_posting() const {
    for (const std::size_t source : out_.sources()) {
      const std::size_t qps = out_.qps_of(source);
      require(
          o_.threads <= qps, "threads",
          fmt::format("host {0} has {1} QPs, and a thread needs one; write threads: {1} or less, or more qps", source, qps));
    }
    require(o_.batch <= o_.window, "batch", "larger than window, so it would never be posted; lower it");
    require(o_.signal_every + std::max(1U, o_.batch) - 1 <= o_.window, "signal_every",
            "the window fills before a completion frees a batch; raise window to batch + signal_every - 1");
    require(o_.batch <= 1 || o_.outstanding == 0, "batch",
            "with outstanding, a message is a post of its own; leave one of them out");
    require(o_.signal_every == 1 || o_.outstanding == 0, "signal_every",
            "with outstanding, every message frees one; leave one of them out");
    if (o_.send_inline) {
      require(!out_.has_any(pulls), "inline", "a READ or an atomic has no payload to send; remove it from the mix, or inline");
      require(out_.has_any(is_sized), "inline", "a bind has no payload to send; add write or send, or remove it");
      require(out_.longest <= limits_.max_inline, "inline",
              fmt::format("the adapter takes {} B inline (hca.command_unit.max_inline); lower size", limits_.max_inline));
    }
  }

  void check_completions() const {
    const bool moderated = o_.moderation_count != 0 || o_.moderation_time != 0;
    require(!moderated || o_.wait == waiting::events, o_.moderation_count != 0 ? "moderation_count" : "moderation_time",
            "moderates events, and the threads poll; write wait: events");
    require(o_.moderation_count != 0 || o_.moderation_time == 0, "moderation_time",
            "each completion has an event, so there is none to wait for; write moderation_count: N");
    require(o_.moderation_count <= 1 || o_.moderation_time != 0, "moderation_time",
            "is missing: the last completions are fewer than moderation_count, and a thread would wait for ever; write "
            "moderation_time: N");
    require(o_.cqs == queue_use::shared || out_.pairs.size() * o_.qps > std::uint64_t{o_.threads} * out_.sources().size(),
            "cqs", "each thread has one QP, and so a queue of its own; write more qps, or remove it");
  }

  void check_receives() const {
    require(o_.receives == 0 || out_.receives(), "receives",
            "no message of the mix takes a receive; add send or write_imm, or remove it");
    require(o_.receives == 0 || !needs_key(out_.keyed()), "receives",
            "each key of the window has its receives; write window: N, or remove it");
    require(!o_.shared_receives || out_.receives(), "shared_receives",
            "no message of the mix takes a receive; add send or write_imm, or remove it");
    const bool shared = o_.shared_receives || (o_.service == transport::xrc && out_.receives());
    require(o_.srqs == 1 || shared, "srqs", "there is no shared queue; write shared_receives: true, or remove it");
    const std::uint64_t qps = fewest_qps_of_a_target();
    require(o_.srqs <= qps || o_.service == transport::xrc, "srqs",
            fmt::format("a target has {0} QPs, and each uses one; write srqs: {0} or less", qps));
    require(o_.members == 0 || o_.service == transport::ud, "members",
            "only datagrams go to groups; write transport: ud, or remove it");
    require(o_.members == 0 || !o_.shared_receives, "shared_receives",
            "each member of a group has its own receives; leave one of them out");
  }

  [[nodiscard]] std::uint64_t fewest_qps_of_a_target() const {
    std::map<std::size_t, std::uint64_t> qps;
    for (const host_pair& p : out_.pairs) qps[p.to] += o_.qps;
    return std::min_element(qps.begin(), qps.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second;
  }

  // Sets how many READs and atomics of a QP may be under way: no more than both ends can keep.
  void read_depth() {
    std::uint32_t most = 255;
    for (const host_pair& p : out_.pairs) {
      for (const std::size_t host : {p.from, p.to})
        most = std::min(most, host < limits_.hosts.size() ? limits_.hosts[host].reads : machine_limits::host{}.reads);
    }
    require(o_.read_depth == 0 || out_.has_any(fetches_data), "read_depth",
            "there are no READs and no atomics; add a weight, or remove it");
    require(o_.read_depth <= most, "read_depth",
            fmt::format("the adapters allow {}; lower it, or raise node*.hca.command_unit.max_read_depth", most));
    out_.read_depth = o_.read_depth == 0 ? most : o_.read_depth;
  }

  void check_path() const {
    const bool reliable = o_.service == transport::rc || o_.service == transport::xrc;
    constexpr const char* unused = "UC and UD wait for no answer; remove it";
    require(o_.service_level == 0 || limits_.lanes > 1, "service_level",
            "all levels share the one lane; write link.virtual_lanes: 2 or more, or remove it");
    require(reliable || o_.timeout == flow_options{}.timeout, "timeout", unused);
    require(reliable || o_.rnr_timer == flow_options{}.rnr_timer, "rnr_timer", unused);
  }

  void check_times() const { require(o_.stop > o_.start, "stop", "not after start; raise it"); }

  void read_arrivals() {
    const bool given = !o_.gap.empty();
    require(!given || o_.rate == 0, "gap", "rate says it already; remove one of them");
    const bool open = given || o_.rate > 0;
    require(open || o_.burst == 1, "burst", "a closed loop has no arrivals; write rate: N");
    require(open || o_.on == never, "on", "a closed loop has no arrivals; write rate: N");
    require(o_.on == never || o_.off > 0_ps, "off", "is missing: the pause between the arrivals; write off: TIME");
    require(o_.on != never || o_.off == 0_ps, "on", "is missing: the time of arrivals between the pauses; write on: TIME");
    require(given || o_.arrival == arrivals::poisson || open, "arrivals", "a closed loop has no arrivals; write rate: N");
    require(!given || o_.arrival == arrivals::poisson, "arrivals", "gap says it already; write gap: fixed value, or a rate");
    require(o_.outstanding == 0 || o_.window == flow_options{}.window, "window",
            "outstanding counts the messages of all QPs instead; leave one of them out");
    require(!open || o_.outstanding == 0, "outstanding", "belongs to a closed loop; remove rate and gap, or write window");
    require(
        !out_.per_message || open || o_.outstanding != 0, "pattern",
        "each message chooses its target, so the messages under way are those of a source; write outstanding: N, or rate: N");
    if (!open) return;
    if (given) {
      out_.gap = read("gap", o_.gap, knob_kind::time);
    } else {
      const double mean = 1e12 * static_cast<double>(out_.pairs.size() * o_.qps) / o_.rate * out_.duty();
      out_.gap = o_.arrival == arrivals::periodic ? distribution::fixed(mean) : distribution::exponential(mean);
    }
    require(out_.gap->mean() >= 1, "gap", "the mean gap is below 1 ps; an open loop needs one above, such as exponential 2 us");
    const std::string_view knob = given ? "gap" : "rate";
    const double cost = to_seconds(std::max(limits_.post_cost, 1_ps));
    for (const std::size_t source : out_.sources()) {
      const double rate = out_.source_rate(source);
      require(rate * cost <= o_.threads, knob,
              fmt::format("host {} would post {:.4g} messages/s, and a thread posts {:.4g} at most (driver.post_wqe, "
                          "post_segment, poll_cqe); lower the load, or write threads: {}",
                          source, rate, 1 / cost, std::ceil(rate * cost)));
    }
  }

  const flow_options& o_;
  const machine_limits& limits_;
  const folder_lookup& folder_of_;
  planned_flow out_;
};

std::vector<plan::group> read_groups(const traffic_options& o) {
  std::vector<plan::group> out;
  for (const traffic_options::group& g : o.groups) {
    try {
      out.push_back({g.name, parse_hosts(g.hosts)});
    } catch (const pattern_error& e) {
      throw knob_error("groups." + g.name, e.what());
    }
  }
  return out;
}

// Every host from 0 to the largest is in a group and in a flow.
void check_hosts(plan& p) {
  std::map<std::size_t, std::string> group_of;
  for (const plan::group& g : p.groups) {
    for (const std::size_t h : g.hosts) group_of.emplace(h, g.name);
  }
  std::set<std::size_t> driven;
  for (const planned_flow& f : p.flows) {
    for (const host_pair& pair : f.pairs) driven.insert({pair.from, pair.to});
  }
  p.hosts = group_of.empty() ? 0 : group_of.rbegin()->first + 1;
  for (std::size_t h = 0; h < p.hosts; ++h) {
    if (!group_of.contains(h)) {
      const auto& [next, name] = *group_of.lower_bound(h);
      throw knob_error("groups." + name,
                       fmt::format("has host {}, and no group has host {}; number the hosts without gaps", next, h));
    }
    if (!driven.contains(h))
      throw knob_error("groups." + group_of[h], fmt::format("host {} is in no flow; name its group in one, or remove it", h));
  }
}

// The rates of flows that begin or end on the way never become steady.
void check_steady(const plan& p, const planned_flow& f) {
  const flow_options& o = f.options;
  const auto refuse = [&](const char* knob, const char* mend) {
    throw knob_error(fmt::format("flows.{}.{}", f.name, knob),
                     fmt::format("until: steady needs flows of constant load; {}", mend));
  };
  if (o.messages != 0) refuse("messages", "leave it out");
  if (o.stop != never) refuse("stop", "leave it out");
  if (o.phase != 1) refuse("phase", "leave it out");
  if (o.start > p.warm_up) refuse("start", "lower it below warm_up");
}

// A flow has an end, begins within the measured time, and every phase has a flow.
void check_ends(const plan& p, const planned_flow& f) {
  const flow_options& o = f.options;
  const std::string path = fmt::format("flows.{}.", f.name);
  if (p.measure == never && o.messages == 0 && o.stop == never)
    throw knob_error(path + "messages", "measure: never ends with the messages of every flow; write messages: N");
  if (o.phase < p.phases() && o.messages == 0 && o.stop == never)
    throw knob_error(path + "messages",
                     fmt::format("phase {} has no end, and another one follows; write messages: N, or stop: TIME", o.phase));
  const auto in = [](std::uint32_t phase) { return [phase](const planned_flow& x) { return x.options.phase == phase; }; };
  if (o.phase != 1 && std::none_of(p.flows.begin(), p.flows.end(), in(o.phase - 1)))
    throw knob_error(path + "phase",
                     fmt::format("no flow has the phase {} before it; number phases without gaps", o.phase - 1));
  const ps end = p.measure == never ? never : p.warm_up + p.measure;
  if (o.start >= end) throw knob_error(path + "start", "not before the end of the measured time; lower it");
  if (o.stop != never && o.stop >= end)
    throw knob_error(path + "stop", "not before the end of the measured time; lower it, or remove it");
}

}  // namespace

access_order access_order::parse(std::string_view text) {
  if (text == "in_turn") return {kind::in_turn, 0};
  if (text == "random") return {kind::random, 0};
  constexpr std::string_view word = "zipf ";
  if (text.starts_with(word)) {
    access_order o{kind::zipf, 0};
    const std::string_view rest = text.substr(word.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), o.exponent);
    if (error == std::errc() && end == rest.data() + rest.size() && o.exponent > 0 && o.exponent <= 10) return o;
    throw pattern_error(fmt::format("'{}' is no exponent above 0 and up to 10; write for example zipf 1.1", rest));
  }
  const std::vector<std::string> known{"in_turn", "random", "zipf 1.1"};
  throw pattern_error(fmt::format("'{}' is no order; {}", text, suggestion(std::string(text), known, "orders")));
}

operation planned_flow::keyed() const {
  for (std::size_t i = 0; i < operations; ++i) {
    const auto o = static_cast<operation>(i);
    if (needs_key(o) && has(o)) return o;
  }
  return operation::write;
}

bool planned_flow::has_any(bool (*of)(operation)) const {
  for (std::size_t i = 0; i < operations; ++i) {
    const auto o = static_cast<operation>(i);
    if (has(o) && of(o)) return true;
  }
  return false;
}

std::uint32_t plan::phases() const {
  std::uint32_t last = 1;
  for (const planned_flow& f : flows) last = std::max(last, f.options.phase);
  return last;
}

std::vector<std::size_t> planned_flow::sources() const {
  std::set<std::size_t> out;
  for (const host_pair& p : pairs) out.insert(p.from);
  return {out.begin(), out.end()};
}

std::vector<std::size_t> planned_flow::targets() const {
  std::set<std::size_t> out;
  for (const host_pair& p : pairs) out.insert(p.to);
  return {out.begin(), out.end()};
}

std::size_t planned_flow::qps_of(std::size_t source) const {
  const auto of_source = [&](const host_pair& p) { return p.from == source; };
  return static_cast<std::size_t>(std::count_if(pairs.begin(), pairs.end(), of_source)) * options.qps;
}

std::size_t planned_flow::qps_at(std::size_t host) const {
  const auto to_host = [&](const host_pair& p) { return p.to == host; };
  const auto as_target = static_cast<std::size_t>(std::count_if(pairs.begin(), pairs.end(), to_host)) * options.qps;
  return qps_of(host) + as_target * std::max(options.members, 1U);
}

double planned_flow::share(const host_pair& p) const {
  double sum = 0;
  for (const host_pair& q : pairs) sum += q.from == p.from ? q.weight : 0;
  return p.weight / sum;
}

plan make_plan(const traffic_options& o, const machine_limits& limits, std::uint64_t seed, const folder_lookup& folder_of) {
  plan out;
  out.groups = read_groups(o);
  out.warm_up = o.warm_up;
  out.measure = o.measure;
  out.until = o.until;
  out.precision = o.precision;
  if (o.groups.empty()) throw knob_error("groups", "there is none; write for example groups: {clients: 0-7, servers: 8}");
  if (o.flows.empty())
    throw knob_error("flows", "there is none; write for example flows: {writes: {from: clients, to: servers, write: 1}}");
  for (const traffic_options::flow& f : o.flows) out.flows.push_back(flow_planner(f, limits, folder_of).run(out.groups, seed));
  check_hosts(out);
  check_loads(out, limits);
  check_memories(out, limits);
  for (std::size_t h = 0; h < out.hosts; ++h) out.gpus.push_back(h < limits.hosts.size() ? limits.hosts[h].gpu : std::nullopt);
  const bool steady = out.until == run_until::steady;
  if (steady && out.measure == never)
    throw knob_error("measure", "until: steady needs a longest time; write for example measure: 10 ms");
  for (const planned_flow& f : out.flows) check_ends(out, f);
  if (!steady) return out;
  for (const planned_flow& f : out.flows) check_steady(out, f);
  return out;
}

}  // namespace hcasim::traffic
