#include "testbenches/scenarios/transports.h"

#include <array>
#include <memory>

#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t header_room = 40;  // before the payload of a datagram
constexpr std::uint64_t longest_datagram = 2048;

struct service {
  const char* name;
  ibv_qp_type type;
  bool shared;
};
constexpr std::array<service, 5> services{{{"RC", IBV_QPT_RC, false},
                                           {"RC, SRQ", IBV_QPT_RC, true},
                                           {"UC", IBV_QPT_UC, false},
                                           {"UD", IBV_QPT_UD, false},
                                           {"UD, SRQ", IBV_QPT_UD, true}}};

struct message {
  const char* name;
  ibv_wr_opcode opcode;
  bool writes;
  bool arrives;  // completes a receive
};
constexpr std::array<message, 5> messages{{{"SEND", IBV_WR_SEND, false, true},
                                           {"SEND_IMM", IBV_WR_SEND_WITH_IMM, false, true},
                                           {"WRITE", IBV_WR_RDMA_WRITE, true, false},
                                           {"WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, true, true},
                                           {"READ", IBV_WR_RDMA_READ, true, false}}};

bool fits(const service& l, const message& m) {
  return l.type == IBV_QPT_RC || (m.opcode != IBV_WR_RDMA_READ && (l.type == IBV_QPT_UC || !m.writes));
}

struct arrival {
  ps at{0};
  ibv_wc wc{};
};

struct transports_state {
  transports_state(const transports_options& options, transports_outcome& result) : o(options), out(result) {}

  transports_options o;
  transports_outcome& out;
  out_of_band<std::array<address, services.size()>> to_target;
  out_of_band<std::array<address, services.size()>> to_source;
  out_of_band<int> done;
  process_context* there = nullptr;  // for checking the target's bytes
  std::array<region, services.size()> written;
  std::array<region, services.size()> slots;
  std::vector<arrival> arrivals;

  [[nodiscard]] std::uint64_t slot_bytes() const { return (header_room + o.size + 63) / 64 * 64; }
  [[nodiscard]] std::uint32_t receives() const { return 6 * o.repetitions; }  // three kinds of two sizes
  bool check(bool ok, const std::string& text) {
    if (!ok && out.problem.empty()) out.problem = text;
    return ok;
  }
};

qp_options settings(const transports_state& s, const service& l, ibv_srq* srq = nullptr) {
  qp_options q;
  q.type = l.type;
  q.receive_depth = s.receives();
  q.srq = srq;
  return q;
}

void target(transports_state& s, cpu& c, node& n) {
  process_context p(c, n);
  s.there = &p;
  const auto sources = s.to_target.receive(c);
  std::array<address, services.size()> mine;
  for (std::size_t i = 0; i < services.size(); ++i) {
    ibv_srq_init_attr init{nullptr, {s.receives(), 2, 0}};
    ibv_srq* srq = services[i].shared ? made(ibv_create_srq(c, p.pd, &init)) : nullptr;
    const qp_options q = settings(s, services[i], srq);
    ibv_qp* qp = p.create_qp(q);
    p.must_connect(qp, sources[i], q);
    s.written[i] = p.allocate(s.o.size);
    s.slots[i] = p.allocate(s.receives() * s.slot_bytes());
    for (std::uint32_t k = 0; k < s.receives(); ++k) {
      std::vector<ibv_sge> room{
          {s.slots[i].addr + k * s.slot_bytes(), static_cast<std::uint32_t>(s.slot_bytes()), s.slots[i].mr->lkey}};
      const std::uint64_t id = i << 32 | k;
      s.check((srq ? post_receive(c, srq, id, room) : post_receive(c, qp, id, room)) == 0, "cannot post a receive");
    }
    mine[i] = p.address_of(qp, q);
  }
  s.to_source.send(c, mine);
  while (s.done.empty()) {
    if (const auto wc = next_completion(c, p.cq, 20_us)) s.arrivals.push_back({c.time(), *wc});
  }
  s.done.receive(c);
}

// One way from the source to the target.
struct service_lane {
  std::size_t number;  // of its service
  ibv_qp* qp;
  const region& here;
};

// Runs one message; returns whether everything about it was right.
bool run_one(transports_state& s, process_context& p, const service_lane& on, const message& m, const request& r,
             transports_row& row) {
  cpu& c = p.c;
  const std::size_t l = on.number;
  const region& here = on.here;
  const std::uint64_t bytes = row.bytes;
  p.fill(here.addr, bytes, static_cast<std::uint8_t>(s.out.messages + 1));
  const std::size_t before = s.arrivals.size();
  c.spend(5_us);  // earlier work comes to rest
  c.sync();
  const ps begin = c.time();
  if (!s.check(complete(c, on.qp, r).status == IBV_WC_SUCCESS, "a message failed")) return false;
  row.completed = c.time() - begin;
  c.spend(20_us);
  c.sync();
  ++s.out.messages;
  process_context& there = *s.there;
  // An acknowledged message is on its way to memory, and may be so for long.
  if (!m.arrives) {
    const bool same = p.comes_true([&] { return there.bytes(s.written[l].addr, bytes) == p.bytes(here.addr, bytes); });
    return s.check(same, "other bytes arrived");
  }
  p.comes_true([&] { return s.arrivals.size() > before; });
  if (!s.check(s.arrivals.size() == before + 1, "a message did not arrive, or twice")) return false;
  const arrival& a = s.arrivals.back();
  row.received = a.at - begin;
  ++s.out.receives;
  const bool datagram = services[l].type == IBV_QPT_UD;
  std::uint64_t at = s.written[l].addr;
  if (!m.writes) at = s.slots[l].addr + (a.wc.wr_id & 0xffffffff) * s.slot_bytes() + (datagram ? header_room : 0);
  const bool with_immediate = m.opcode != IBV_WR_SEND;
  return s.check(a.wc.status == IBV_WC_SUCCESS && a.wc.wr_id >> 32 == l && (!with_immediate || a.wc.imm_data == r.immediate) &&
                     a.wc.byte_len == bytes + (datagram ? header_room : 0),
                 "a receive tells something else") &&
         s.check(there.bytes(at, bytes) == p.bytes(here.addr, bytes), "other bytes arrived");
}

void run_lane(transports_state& s, process_context& p, const service_lane& on, const address& peer) {
  const std::size_t l = on.number;
  request base{.remote = s.written[l].addr, .rkey = s.written[l].mr->rkey};
  if (services[l].type == IBV_QPT_UD) {
    ibv_ah_attr to{peer.lid, 0, 1};
    base.ah = made(ibv_create_ah(p.c, p.pd, &to));
    base.qpn = peer.qpn;
  }
  for (const message& m : messages) {
    if (!fits(services[l], m)) continue;
    for (const bool is_long : {false, true}) {
      std::uint64_t bytes = is_long ? s.o.size : 64;
      if (services[l].type == IBV_QPT_UD) bytes = std::min(bytes, longest_datagram);
      transports_row row{services[l].name, m.name, bytes, {}, {}};
      for (std::uint32_t i = 0; i < s.o.repetitions; ++i) {
        request r = base;
        r.opcode = m.opcode;
        r.sges = {{on.here.addr, static_cast<std::uint32_t>(bytes), on.here.mr->lkey}};
        r.immediate = static_cast<std::uint32_t>(0x1000 + s.out.messages);
        if (!run_one(s, p, on, m, r, row)) return;
      }
      s.out.rows.push_back(row);
    }
  }
}

void source(transports_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const region here = p.allocate(std::max<std::uint64_t>(s.o.size, 64));
  std::array<ibv_qp*, services.size()> qps{};
  std::array<address, services.size()> mine;
  for (std::size_t i = 0; i < services.size(); ++i) {
    qps[i] = p.create_qp(settings(s, services[i]));
    if (!s.check(qps[i], "cannot create a QP")) return;
    mine[i] = p.address_of(qps[i], settings(s, services[i]));
  }
  s.to_target.send(c, mine);
  const auto peers = s.to_source.receive(c);
  for (std::size_t i = 0; i < services.size(); ++i) {
    p.must_connect(qps[i], peers[i], settings(s, services[i]));
    s.o.parts.begin(c, services[i].name);
    run_lane(s, p, {i, qps[i], here}, peers[i]);
    s.o.parts.end(c);
  }
  s.done.send(c, 1);
}

}  // namespace

void start_transports(hcasim::system& s, const transports_options& o, transports_outcome& out) {
  auto state = std::make_shared<transports_state>(o, out);
  start_program(s, 0, "source", [state](cpu& c, node& n) { source(*state, c, n); });
  start_program(s, 1, "target", [state](cpu& c, node& n) { target(*state, c, n); });
}

}  // namespace hcasim::kit
