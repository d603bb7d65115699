#include "testbenches/traffic/options.h"

#include "firmware/abi/context.h"

namespace hcasim::traffic {

void flow_options::knobs(knob_visitor& k) {
  k.text("from", from, "group whose hosts post");
  k.text("to", to, "group whose hosts are the targets");
  k.text("pattern", pattern, "pairs, all_to_all, incast, outcast, ring, permutation, random, or hot_spot with the hot share");
  mix_knobs(k);
  k.choice("transport", service, {"rc", "uc", "ud", "xrc"}, "service of the QPs");
  k.text("size", size, "bytes of a message, a distribution; an atomic has 8");
  load_knobs(k);
  posting_knobs(k);
  target_knobs(k);
  path_knobs(k);
  k.count("phase", phase, 1, 1000, "the flow begins when all flows of the phase before have ended, and all hosts have met");
  k.time("start", start, 0_ps, 10'000_ms, "first post, after the begin of the phase");
  k.time("stop", stop, 1_ps, never, "no post later than this, after the begin of the phase");
  k.count("messages", messages, 0, 1e15, "messages of the whole flow; 0: until the end of the measured time");
}

void flow_options::mix_knobs(knob_visitor& k) {
  constexpr std::array<const char*, operations> help{
      "weight of RDMA WRITEs in the mix",
      "weight of WRITEs with immediate data",
      "weight of RDMA READs",
      "weight of SENDs",
      "weight of FETCH_ADDs",
      "weight of CMP_SWAPs",
      "weight of binds of a type 1 window of the QP to the source's own memory",
      "weight of WRITEs into a window bound for each, which a SEND invalidates",
      "weight of WRITEs into a region registered for each, then de-registered",
      "weight of WRITEs into a fast registration for each, which a SEND invalidates",
      "weight of WRITEs under one kept key: memory for each is added before and removed after",
      "weight of WRITEs under one kept key: the memory behind each is exchanged after"};
  for (std::size_t i = 0; i < operations; ++i) k.ratio(operation_names[i], weights[i], 0, 1e9, help[i]);
}

void flow_options::load_knobs(knob_visitor& k) {
  k.count("window", window, 1, 16384, "messages under way on a QP at most");
  k.count("outstanding", outstanding, 0, 16384,
          "messages under way on all QPs of a posting thread, instead of window on each; 0: window");
  k.ratio("rate", rate, 0, 1e12, "messages per second of the whole flow, an open loop; 0: a message follows a completion");
  k.choice("arrivals", arrival, {"poisson", "periodic"}, "with a rate: gaps exponential, or all equal");
  k.text("gap", gap, "time between the messages of a QP, a distribution, an open loop; instead of a rate");
  k.count("burst", burst, 1, 1 << 20, "open loop: messages that arrive together; the rate stays");
  k.time("on", on, 1_ns, never, "open loop: time of arrivals, which then pause; never: without a pause");
  k.time("off", off, 0_ps, 10'000_ms, "open loop: the pause");
}

void flow_options::posting_knobs(knob_visitor& k) {
  k.count("qps", qps, 1, 65536, "QPs of each pair of hosts");
  k.count("threads", threads, 1, 256, "posting threads of each source; QPs are dealt out in turn");
  k.count("batch", batch, 0, 16384, "messages of one post; 0: as many as there is room for");
  k.flag("one_by_one", one_by_one, "each message of a batch is posted by a call of its own");
  k.count("signal_every", signal_every, 1, 16384, "every n-th message of a QP asks for a completion");
  k.flag("inline", send_inline, "the payload travels in the WQE");
  k.choice("wait", wait, {"polling", "events"}, "how a thread waits for completions");
  k.count("moderation_count", moderation_count, 0, 65535, "completions of one event at least; 0: each");
  k.count("moderation_time", moderation_time, 0, 65535, "us after which an event comes for fewer completions");
}

void flow_options::target_knobs(knob_visitor& k) {
  k.choice("cqs", cqs, {"shared", "own"}, "one completion queue for the QPs of a thread, or one for each");
  k.flag("shared_receives", shared_receives, "the QPs of a target take receives from shared queues");
  k.count("receives", receives, 0, 4096,
          "posted on each receive queue, and one more for each that completes; 0: twice the messages under way");
  k.count("srqs", srqs, 1, 4096, "shared queues of a target: its QPs are dealt out in turn, and the messages of XRC");
  k.count("members", members, 0, HCA_GROUP_MEMBERS,
          "UD: each QP sends to a multicast group of its own with so many QPs of the target; 0: to one QP");
  k.count("regions", regions, 1, 1 << 20, "registered regions of each target");
  k.bytes("region", region, 8, 0x1p40, "bytes of each region");
  k.bytes("page", page, 4096, 0x1p30, "pages of the regions: 4 KiB, 2 MiB or 1 GiB");
  k.text("order", order, "regions and places in them: in_turn, random, or zipf with its exponent");
  k.choice(
      "windows", windows, {"none", "type_1", "type_2"},
      "long-lived windows over the regions, by whose keys peers come: one for each region, or of type 2 for each QP as well");
  k.choice("memory", memory, {"host", "on_demand", "gpu", "device"},
           "the target's: pinned in the host, paged in on demand, in its GPU, or in its adapter");
  k.choice("source_memory", source_memory, {"host", "on_demand", "gpu", "device"}, "likewise, payloads of the source");
}

void flow_options::path_knobs(knob_visitor& k) {
  k.choice("mtu", mtu, {"256", "512", "1024", "2048", "4096"}, "bytes of payload in a packet at most");
  k.choice("ports", ports, {"first", "second", "both"},
           "ports of the adapters (hca.port.count) that the QPs use, at both ends; both: the QPs of a pair in turn");
  k.flag("global_routes", global_routes, "every packet has a GRH");
  k.count("service_level", service_level, 0, 15, "SL of every packet, which takes lane SL mod link.virtual_lanes");
  k.count("read_depth", read_depth, 0, 255, "READs and atomics under way on each QP; 0: as many as both adapters allow");
  k.count("timeout", timeout, 0, 31, "wait for an acknowledge: 4.096 us times 2 to this power; 0: for ever");
  k.count("rnr_timer", rnr_timer, 0, 31, "code of the wait after an RNR NAK: 1 = 10 us, 4 = 40 us, 14 = 1.28 ms, 0 = 655 ms");
}

traffic_options traffic_options::example() {
  traffic_options o;
  o.groups = {{"clients", "0"}, {"servers", "1"}};
  flow f{"writes", {}};
  f.options.from = "clients";
  f.options.to = "servers";
  f.options.weights[static_cast<std::size_t>(operation::write)] = 1;
  o.flows.push_back(std::move(f));
  return o;
}

void traffic_options::knobs(knob_visitor& k) {
  k.enter("groups", "hosts with a name");
  for (group& g : groups) k.text(g.name, g.hosts, "hosts of the group: 0-7, or 0-3, 8");
  k.leave();
  k.enter("flows", "messages between groups");
  for (flow& f : flows) k.group(f.name, f.options, "one flow");
  k.leave();
  k.time("warm_up", warm_up, 0_ps, 10'000_ms, "time of traffic before the measured time");
  k.time("measure", measure, 1_ns, never, "measured time; never: until every flow has sent its messages");
  k.choice("until", until, {"time", "steady"},
           "the measured time lasts `measure`, or until each flow's rate and mean latency are known to `precision`: `measure` "
           "at most");
  k.ratio("precision", precision, 0.001, 0.5, "until: steady: half a confidence interval of 95 %, as a share of the mean");
  k.path("replay", replay, {}, "file of --record-traffic, posted again instead of groups and flows");
  k.choice("replay_times", times, {"dependencies", "original"},
           "a request follows the completions that its thread had polled before, or its recorded time as well");
  k.choice("replay_own_time", own, {"kept", "dropped"}, "time of a thread between its verbs, with replay_times: dependencies");
}

}  // namespace hcasim::traffic
