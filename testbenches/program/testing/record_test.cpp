// Records of a run besides waveforms: packets as Wireshark reads them, and requests as a Chrome trace.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"
#include "testbenches/program/testing/whole_run.h"
#include "tlm/packet.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using bytes = std::vector<std::uint8_t>;

class recorded : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
};

std::uint64_t little(const bytes& b, std::size_t at, int n) {
  std::uint64_t v = 0;
  for (int i = n - 1; i >= 0; --i) v = v << 8 | b.at(at + static_cast<std::size_t>(i));
  return v;
}

struct frame {
  std::uint64_t nanoseconds;
  std::uint64_t interface;
  bytes data;
};

// Enhanced packet blocks of a pcapng file; the link types of its interfaces.
std::vector<frame> read_pcapng(const fs::path& file, std::vector<std::uint64_t>& link_types) {
  const std::string text = file_content(file);
  const bytes all(text.begin(), text.end());
  std::vector<frame> frames;
  for (std::size_t at = 0; at < all.size();) {
    const auto type = little(all, at, 4);
    const auto length = little(all, at + 4, 4);
    EXPECT_EQ(length % 4, 0U);
    EXPECT_EQ(little(all, at + length - 4, 4), length);
    if (type == 1) link_types.push_back(little(all, at + 8, 2));
    if (type == 6) {
      const auto size = little(all, at + 20, 4);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at + 28);
      frames.push_back({little(all, at + 12, 4) << 32 | little(all, at + 16, 4), little(all, at + 8, 4),
                        bytes(begin, begin + static_cast<std::ptrdiff_t>(size))});
    }
    at += length;
  }
  return frames;
}

// One line of fields per packet, as Wireshark's dissector sees them.
std::vector<std::vector<std::string>> tshark(const std::string& file) {
  const outcome o = run_program(
      "tshark",
      fmt::format(
          "-r {} -T fields -E separator=, -E occurrence=f -e infiniband.bth.opcode -e infiniband.bth.psn -e "
          "infiniband.bth.destqp -e "
          "infiniband.reth.r_key -e infiniband.reth.dmalen -e infiniband.invariant.crc -e _ws.malformed -e frame.protocols "
          "-e infiniband.deth.q_key -e infiniband.deth.srcqp -e infiniband.immdt -e infiniband.bth.padcnt -e frame.len "
          "2>/dev/null",
          file));
  EXPECT_EQ(o.status, 0) << "tshark is in scripts/packages.txt";
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(o.text);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ',') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    if (fields.size() == 13) rows.push_back(fields);
  }
  return rows;
}

std::uint64_t number(const std::string& s) {
  return s.empty() ? 0 : std::stoull(s, nullptr, 0);
}

// Bit by bit, straight from the polynomial; nothing of the simulator's own.
std::uint32_t crc32(const bytes& b) {
  std::uint32_t c = 0xffffffff;
  for (const std::uint8_t v : b) {
    for (int i = 0; i < 8; ++i) {
      const bool bit = ((c ^ (v >> i)) & 1) != 0;
      c = c >> 1 ^ (bit ? 0xedb88320 : 0);
    }
  }
  return ~c;
}

// Runs the command, and compares every packet in tshark's view with the sent one; collects the opcodes.
void check_packets(const std::string& command, std::size_t at_least, std::set<std::uint64_t>& opcodes) {
  const outcome o = run_program(places::program, fmt::format("run {} -o out --no-trace --packets ib --packets roce", command));
  ASSERT_EQ(o.status, 0) << o.text;
  std::vector<std::uint64_t> ib_links;
  std::vector<std::uint64_t> roce_links;
  const auto ib = read_pcapng("out/packets.ib.pcapng", ib_links);
  const auto roce = read_pcapng("out/packets.roce.pcapng", roce_links);
  const auto ib_seen = tshark("out/packets.ib.pcapng");
  const auto roce_seen = tshark("out/packets.roce.pcapng");
  EXPECT_EQ(ib_links, (std::vector<std::uint64_t>{197, 197}));
  EXPECT_EQ(roce_links, (std::vector<std::uint64_t>{1, 1}));
  ASSERT_GT(ib.size(), at_least);
  ASSERT_EQ(roce.size(), ib.size());
  ASSERT_EQ(ib_seen.size(), ib.size());
  ASSERT_EQ(roce_seen.size(), ib.size());
  const json result = json::parse(file_content("out/result.json"));
  double sent = 0;
  for (const char* port : {"system.node0.hca.port", "system.node1.hca.port"})
    sent += in_whole_run(result, port, "egress_packets");
  EXPECT_EQ(static_cast<double>(ib.size()), sent);

  packet p;
  std::uint64_t time = 0;
  for (std::size_t i = 0; i < ib.size(); ++i) {
    const bytes& record = ib[i].data;
    ASSERT_GE(ib[i].nanoseconds, time) << "in the order of time";
    time = ib[i].nanoseconds;
    EXPECT_EQ(roce[i].nanoseconds, time);
    EXPECT_EQ(record[8] & 0x7f, 21);
    const std::size_t wire = record.size() - 16 - wire::vcrc_bytes;
    EXPECT_EQ(static_cast<std::size_t>(record[10] << 8 | record[11]), record.size());
    // ERF counts seconds from the start in 32.32 bits.
    const double erf = static_cast<double>(little(record, 0, 8)) / 4294967296.0 * 1e9;
    EXPECT_NEAR(erf, static_cast<double>(time), 1.5);
    const wire::shape& s = wire::shape_of(record[16 + wire::lrh_bytes]);
    const std::size_t headers = wire::lrh_bytes + wire::bth_bytes + (s.datagram ? 8U : 0U) + (s.xrc ? 4U : 0U) +
                                (s.reth ? 16U : 0U) + (s.atomic ? 28U : 0U) + (s.aeth ? 4U : 0U) + (s.atomic_ack ? 8U : 0U) +
                                (s.immediate ? 4U : 0U) + (s.invalidate ? 4U : 0U);
    p.head = static_cast<std::uint32_t>(wire::max_header - headers);
    std::memcpy(p.raw().data() + p.head, record.data() + 16, wire);
    ASSERT_TRUE(icrc_ok(p, wire));
    ASSERT_TRUE(parse(p, wire));
    const packet_header& h = p.header;
    opcodes.insert(h.opcode);
    for (const auto* seen : {&ib_seen[i], &roce_seen[i]}) {
      EXPECT_EQ(number((*seen)[0]), h.opcode);
      EXPECT_EQ(number((*seen)[1]), h.psn);
      EXPECT_EQ(number((*seen)[2]), h.dest_qpn);
      if (h.shape().reth) {
        EXPECT_EQ(number((*seen)[3]), h.rkey);
        EXPECT_EQ(number((*seen)[4]), h.dma_length);
      }
      if (s.datagram) {
        EXPECT_EQ(number((*seen)[8]), h.qkey);
        EXPECT_EQ(number((*seen)[9]), h.source_qpn);
      }
      if (s.immediate) {
        EXPECT_EQ(std::stoull((*seen)[10], nullptr, 16), __builtin_bswap32(h.immediate));
      }
      EXPECT_EQ(number((*seen)[11]), h.pad);
      EXPECT_EQ((*seen)[6], "") << "malformed: packet " << i;
    }
    EXPECT_EQ(wire, headers + p.payload + h.pad + wire::icrc_bytes);
    EXPECT_EQ(number(ib_seen[i][12]), record.size() - 16) << "without the ERF header";
    EXPECT_EQ(number(roce_seen[i][12]), roce[i].data.size());
    EXPECT_NE(ib_seen[i][7].find("infiniband"), std::string::npos);
    EXPECT_NE(roce_seen[i][7].find("udp:infiniband"), std::string::npos) << roce_seen[i][7];

    // RoCEv2: the same transport bytes, an ICRC of its own, and a valid IPv4 header.
    const bytes& f = roce[i].data;
    const std::size_t transport = wire - wire::lrh_bytes - wire::icrc_bytes;
    ASSERT_EQ(f.size(), 14 + 20 + 8 + transport + 4);
    EXPECT_EQ(0, std::memcmp(f.data() + 42, record.data() + 16 + wire::lrh_bytes, transport));
    EXPECT_EQ(f[36] << 8 | f[37], 4791);
    std::uint32_t sum = 0;
    for (std::size_t b = 14; b < 34; b += 2) sum += static_cast<std::uint32_t>(f[b] << 8 | f[b + 1]);
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffU);
    bytes covered(8, 0xff);
    covered.insert(covered.end(), f.begin() + 14, f.end() - 4);
    covered[8 + 1] = covered[8 + 8] = covered[8 + 10] = covered[8 + 11] = 0xff;
    covered[8 + 20 + 6] = covered[8 + 20 + 7] = covered[8 + 28 + 4] = 0xff;
    EXPECT_EQ(crc32(covered), little(f, f.size() - 4, 4)) << "packet " << i;
    std::uint32_t shown = static_cast<std::uint32_t>(little(f, f.size() - 4, 4));
    EXPECT_EQ(number(roce_seen[i][5]), __builtin_bswap32(shown)) << "Wireshark reads the same bytes";
  }
}

TEST_F(recorded, every_packet_is_what_was_sent) {
  std::set<std::uint64_t> opcodes;
  check_packets("random_traffic --operations 150 --seed 4", 500, opcodes);
  EXPECT_GE(opcodes.size(), 10U) << "many kinds of packets";
}

TEST_F(recorded, packets_of_unreliable_transports_and_of_shared_receive_queues_too) {
  std::set<std::uint64_t> opcodes;
  check_packets("transports --repetitions 1", 60, opcodes);
  for (const std::uint8_t sent :
       {wire::send_only, wire::send_only_imm, wire::write_first, wire::write_last, wire::write_last_imm}) {
    EXPECT_TRUE(opcodes.contains(wire::rc | sent)) << "RC " << int{sent};
    EXPECT_TRUE(opcodes.contains(wire::uc | sent)) << "UC " << int{sent};
  }
  EXPECT_TRUE(opcodes.contains(wire::ud | wire::send_only));
  EXPECT_TRUE(opcodes.contains(wire::ud | wire::send_only_imm));
}

// The rules for the events of a Chrome trace, and its content.
struct trace_facts {
  std::set<std::string> names;          // names of slices
  std::map<std::uint64_t, int> arrows;  // 1: begins, 2: ends
  std::size_t slices = 0;
  std::size_t counters = 0;
};

trace_facts check_trace(const fs::path& file) {
  trace_facts facts;
  const json trace = json::parse(file_content(file));
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  std::map<std::string, std::vector<std::pair<double, double>>> slices;  // slices of a track
  std::map<std::string, std::string> tracks;
  std::map<std::string, std::vector<std::pair<double, int>>> counters;
  for (const json& e : trace["traceEvents"]) {
    const std::string ph = e.at("ph");
    const std::string track = fmt::format("{}/{}", e.at("pid").get<int>(), e.value("tid", 0));
    EXPECT_TRUE(e.at("name").is_string());
    if (ph == "X") {
      EXPECT_GE(e.at("ts").get<double>(), 0);
      EXPECT_GE(e.at("dur").get<double>(), 0);
      EXPECT_TRUE(e.at("args").is_object());
      slices[track].emplace_back(e["ts"], e["ts"].get<double>() + e["dur"].get<double>());
      facts.names.insert(e["name"]);
      ++facts.slices;
    } else if (ph == "s" || ph == "f") {
      facts.arrows[e.at("id")] |= ph == "s" ? 1 : 2;
      EXPECT_EQ(slices[track].back().first, e["ts"].get<double>()) << "an arrow stands at its slice";
    } else if (ph == "C") {
      counters[fmt::format("{} {}", e["pid"].get<int>(), e["name"].get<std::string>())].emplace_back(e["ts"],
                                                                                                     e["args"].at("requests"));
    } else {
      EXPECT_EQ(ph, "M");
      if (e["name"] == "thread_name") tracks[track] = e["args"]["name"];
    }
  }
  std::map<std::string, std::vector<std::pair<double, double>>> of_unit;  // with all its lanes, as its counter is named
  for (auto& [track, s] : slices) {
    EXPECT_TRUE(tracks.contains(track)) << "a track without a name";
    const std::string name = track.substr(0, track.find('/')) + " " + tracks[track].substr(0, tracks[track].find(' '));
    of_unit[name + " in progress"].insert(of_unit[name + " in progress"].end(), s.begin(), s.end());
    std::sort(s.begin(), s.end());
    std::size_t overlapping = 0;
    for (std::size_t i = 1; i < s.size(); ++i) overlapping += s[i - 1].second > s[i].first + 1e-6;
    EXPECT_EQ(overlapping, 0U) << "slices of track " << name;
  }
  // A counter shows how many slices there are at once, while there are several.
  for (const auto& [name, changes] : counters) {
    std::map<long long, int> open;  // in picoseconds: sums of doubles are not exact
    for (const auto& [begin, end] : of_unit.at(name)) ++open[std::llround(begin * 1e6)], --open[std::llround(end * 1e6)];
    std::size_t wrong = 0;
    double before = -1;
    int shown = 0;
    for (const auto& [at, requests] : changes) {
      wrong += at <= before || requests < 0 || requests == 1 || requests == shown;
      before = at;
      shown = requests;
    }
    EXPECT_EQ(wrong, 0U) << name;
    EXPECT_EQ(shown, 0) << name << " ends with requests in progress";
    int now = 0;
    int most = 0;
    for (const auto& [at, change] : open) most = std::max(most, now += change);
    const auto highest = std::max_element(changes.begin(), changes.end(), [](auto& x, auto& y) { return x.second < y.second; });
    EXPECT_EQ(highest->second, most) << name;
    facts.counters += changes.size();
  }
  return facts;
}

TEST_F(recorded, spans_are_a_valid_chrome_trace) {
  const outcome o = hcasim("run ping -o out --no-trace --spans");
  ASSERT_EQ(o.status, 0) << o.text;
  const trace_facts facts = check_trace("out/spans.json");
  for (const auto& [id, ends] : facts.arrows) EXPECT_EQ(ends, 3) << "an arrow without an end";
  for (const char* name : {"WRITE", "READ", "SEND", "check R_Key", "check L_Key", "translate", "payload read", "RC WRITE_ONLY",
                           "RC ACKNOWLEDGE", "CQE", "fetch", "take", "give", "SQ doorbell"}) {
    EXPECT_TRUE(facts.names.contains(name)) << name;
  }
  // One WRITE after its warm-up: the operation's slice spans its packets.
  EXPECT_GE(facts.arrows.size(), 12U);
  EXPECT_NE(o.text.find(fmt::format("spans       {} in ", facts.slices)), std::string::npos) << o.text;

  const outcome part = hcasim("run ping -o part --no-trace --spans --from '1 ms' --until '1.8 ms'");
  ASSERT_EQ(part.status, 0) << part.text;
  check_trace("part/spans.json");
  const json window = json::parse(file_content("part/spans.json"));
  for (const json& e : window["traceEvents"]) {
    if (e["ph"] != "X") continue;
    EXPECT_GE(e["ts"].get<double>(), 1000);
    EXPECT_LT(e["ts"].get<double>(), 1800);
  }
  const outcome none = hcasim("run ping -o none --no-trace --spans --from '1 s'");
  ASSERT_EQ(none.status, 0) << none.text;
  EXPECT_EQ(check_trace("none/spans.json").slices, 0U);
  EXPECT_EQ(hcasim("run ping --spans --from '2 ms' --until '1 ms'").text,
            "hcasim: --until: not after --from, so nothing would be recorded\n");
}

std::set<std::string> operations_of_spans(const fs::path& file) {
  std::set<std::string> all;
  const json trace = json::parse(file_content(file));
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] == "X" && e["args"].contains("operation")) all.insert(e["args"]["operation"]);
  }
  return all;
}

// A waveform holds the number in 64 bits: queue and place.
std::string operation_of_bits(const std::string& bits) {
  const auto number = std::stoull(bits, nullptr, 2);
  return fmt::format("{}.{}", number >> 32, number & 0xffffffff);
}

TEST_F(recorded, waveforms_have_the_operation_at_each_unit) {
  ASSERT_EQ(hcasim("run ping -o out --spans --trace '*.operation'").status, 0);
  std::istringstream vcd(file_content("out/waves.vcd"));
  std::vector<std::string> scopes;
  std::map<std::string, std::string> units;              // by the code of the signal
  std::map<std::string, std::set<std::string>> seen_at;  // operations of a unit
  for (std::string line; std::getline(vcd, line);) {
    std::istringstream words(line);
    std::string word, kind, width, code, name;
    words >> word;
    if (word == "$scope") {
      words >> kind >> name;
      scopes.push_back(name);
    } else if (word == "$upscope") {
      scopes.pop_back();
    } else if (word == "$var") {
      words >> kind >> width >> code >> name;
      EXPECT_EQ(name, "operation");
      units[code] = fmt::format(
          "{}.{}", *std::find_if(scopes.begin(), scopes.end(), [](auto& s) { return s.starts_with("node"); }), scopes.back());
    } else if (word.starts_with("b") && word.find('x') == std::string::npos) {
      words >> code;
      seen_at[units.at(code)].insert(operation_of_bits(word.substr(1)));
    }
  }
  const std::set<std::string> told = operations_of_spans("out/spans.json");
  EXPECT_GE(told.size(), 6U);
  for (const char* unit :
       {"send_queue", "requester", "qpc_cache", "key_check", "page_walker", "dma_engine", "port", "completion"})
    EXPECT_EQ(seen_at[fmt::format("node0.{}", unit)], told) << unit;
  for (const char* unit : {"responder", "key_check", "dma_engine"})
    EXPECT_TRUE(std::includes(told.begin(), told.end(), seen_at[fmt::format("node1.{}", unit)].begin(),
                              seen_at[fmt::format("node1.{}", unit)].end()) &&
                seen_at[fmt::format("node1.{}", unit)].size() >= 6)
        << unit;
}

TEST_F(recorded, packets_have_the_operation_as_their_comment) {
  ASSERT_EQ(hcasim("run ping -o out --no-trace --spans --packets roce").status, 0);
  const outcome o =
      run_program("tshark", "-r out/packets.roce.pcapng -T fields -e frame.comment -e infiniband.bth.opcode 2>/dev/null");
  std::istringstream in(o.text);
  const std::set<std::string> told = operations_of_spans("out/spans.json");
  std::set<std::string> seen;
  std::size_t without = 0;
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view begin = "operation ";
    if (line.starts_with(begin)) {
      seen.insert(line.substr(begin.size(), line.find('\t') - begin.size()));
    } else if (line.starts_with("\t")) {
      ++without;
    }
  }
  EXPECT_EQ(seen, told);
  EXPECT_EQ(without, 0U);
}

// Spans reach from the doorbell to the completion, at both ends.
TEST_F(recorded, spans_of_one_operation_are_told_by_its_number) {
  ASSERT_EQ(hcasim("run ping -o out --no-trace --spans").status, 0);
  const json trace = json::parse(file_content("out/spans.json"));
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<std::string, std::set<std::string>> units;  // node and unit of each operation
  std::map<std::string, std::pair<double, double>> rung_to_done;
  std::set<std::string> requests;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] == "M" && e["name"] == "thread_name") tracks[{e["pid"], e["tid"]}] = e["args"]["name"];
  }
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X" || !e["args"].contains("operation")) continue;
    const std::string operation = e["args"]["operation"];
    const std::string track = tracks[{e["pid"], e["tid"]}];
    units[operation].insert(fmt::format("{} {}", e["pid"].get<int>(), track.substr(0, track.find(' '))));
    if (e["name"] == "SQ doorbell") rung_to_done[operation].first = e["ts"];
    if (e["name"] == "completion write") rung_to_done[operation].second = e["ts"].get<double>() + e["dur"].get<double>();
    if (e["name"] == "WRITE") requests.insert(operation);
  }
  ASSERT_EQ(requests.size(), 2U) << "a warm-up, and the one that counts";
  for (const std::string& r : requests) {
    for (const char* unit :
         {"1 send_queue", "1 requester", "1 qpc_cache", "1 key_check", "1 page_walker", "1 dma_engine", "1 port", "1 wire",
          "1 completion", "2 responder", "2 qpc_cache", "2 key_check", "2 page_walker", "2 dma_engine", "2 port", "2 wire"}) {
      EXPECT_TRUE(units[r].contains(unit)) << r << " at " << unit;
    }
    EXPECT_GT(rung_to_done[r].second, rung_to_done[r].first);
  }
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X" || !requests.contains(e["args"].value("operation", ""))) continue;
    const auto [from, to] = rung_to_done[e["args"]["operation"]];
    EXPECT_GE(e["ts"].get<double>(), from) << e;
    EXPECT_LE(e["ts"].get<double>(), to) << e;
  }
}

// Many batches, units that run ahead of each other, lost and retransmitted packets.
TEST_F(recorded, spans_of_a_long_run_over_a_bad_fabric) {
  ASSERT_EQ(hcasim("run random_traffic -o out --operations 500 --no-trace --spans").status, 0);
  const trace_facts facts = check_trace("out/spans.json");
  EXPECT_GT(facts.slices, 50'000U);
  EXPECT_GT(facts.counters, 10'000U);
  std::size_t lost = 0;
  for (const auto& [id, ends] : facts.arrows) {
    EXPECT_TRUE(ends & 1) << "an arrow without a begin";
    lost += ends == 1;
  }
  EXPECT_GT(lost, 0U);
  EXPECT_LT(20 * lost, facts.arrows.size());
}

TEST_F(recorded, same_seed_same_bytes_and_the_run_itself_is_not_changed) {
  ASSERT_EQ(hcasim("run random_traffic -o a --operations 100 --packets ib --packets roce --spans --no-trace").status, 0);
  ASSERT_EQ(hcasim("run random_traffic -o b --operations 100 --packets ib --packets roce --spans --no-trace").status, 0);
  ASSERT_EQ(hcasim("run random_traffic -o c --operations 100 --no-trace").status, 0);
  for (const char* name : {"packets.ib.pcapng", "packets.roce.pcapng", "spans.json"}) {
    EXPECT_EQ(file_content(fs::path("a") / name), file_content(fs::path("b") / name)) << name;
    EXPECT_FALSE(fs::exists(fs::path("c") / name)) << name;
  }
  EXPECT_EQ(file_content("a/result.json"), file_content("c/result.json"));
  EXPECT_EQ(hcasim("run ping --packets rocev1").status, 2);
}

// A program joins a group, another sends to it, and Wireshark shows the frames.
TEST_F(recorded, frames_to_a_group_have_its_addresses) {
  if (run_program("command -v mckey", "").status != 0) GTEST_SKIP() << "mckey is in the package rdmacm-utils";
  const outcome o =
      hcasim("exec -o out --no-trace --packets roce -- mckey -m 239.129.2.3 -C 3 -- mckey -m 239.129.2.3 -s -C 3");
  if (o.text.find("was not built") != std::string::npos || o.text.find("libibverbs-dev") != std::string::npos)
    GTEST_SKIP() << "the library for programs was not built";
  ASSERT_EQ(o.status, 0) << o.text;
  const outcome seen = run_program("tshark",
                                   "-r out/packets.roce.pcapng -Y infiniband -T fields -e eth.dst -e ip.dst -e "
                                   "infiniband.bth.destqp 2>/dev/null | grep 0xffffff | sort | uniq -c | tr -s ' \\t' ' '");
  EXPECT_EQ(seen.text, " 3 01:00:5e:01:02:03 239.129.2.3 0xffffff\n");
}

}  // namespace
}  // namespace hcasim
