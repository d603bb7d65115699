// Any bytes as an exchange of packets with a whole adapter: each record of the input is a packet, for a QP that is being made,
// in one of its states, or being destroyed. The shadow of memory judges; beside it a WRITE between two other QPs must succeed,
// and in the end no packet is left over.
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

#include "testbenches/checks/hostile/shadow.h"
#include "testbenches/kit/forger.h"

namespace {

using namespace hcasim;
using namespace hcasim::kit;

constexpr std::uint16_t hostile_lid = 0x5aa5;
constexpr std::uint32_t hostile_qpn = 0x777;
constexpr std::uint64_t page = 4096;
constexpr std::uint32_t first_psn = 0xfffffc;  // they wrap
constexpr std::size_t most_packets = 96;
constexpr std::uint16_t group_lid = 0xc0fe;
constexpr hca_gid group{{0xff, 0x12, 0x40, 0x1b}};

struct record {
  std::uint8_t opcode;
  std::uint8_t qp;     // low bits: of these; high bits: source
  std::uint8_t psn;    // from the first on; 0x80 and more: far away
  std::uint8_t flags;  // acknowledge, solicited, key byte, far VA, flip, no seal, GRH, to a group
  std::uint8_t syndrome;
  std::uint8_t pause;  // before it
  std::uint16_t offset;
  std::uint16_t length;
  std::uint16_t payload;
};
static_assert(sizeof(record) == 12);

void expect(bool ok, const std::string& what) {
  if (ok) return;
  std::cerr << what << std::endl;
  std::abort();
}

// One system for all inputs: it is elaborated once. Its program waits for an input, and rests when it has dealt with it.
class exchange {
 public:
  exchange() : world_(config()), wire_(world_.sys(), 0) {
    wire_.on_answer = wire_.on_request = [](const packet&) {};
    start_program(world_.sys(), 0, "victim", [this](cpu& c, node& n) { program(c, n); });
    run_simulation();
  }
  void run(std::span<const std::uint8_t> input) {
    input_ = input;
    done_ = false;
    begin_.notify();
    run_simulation();
    expect(done_, "the exchange did not come to its end");
    expect(world_.sys().packets().in_use() == 0, "packets are left over");
  }

 private:
  struct shot {
    exchange* self;
    record r;
  };

  static system_config config() {
    system_config c = world::two_nodes();
    c.stall_limit = never;
    c.stall_events = 0;
    for (node_config& n : c.nodes) n.driver.log_qps = n.hca.command_unit.log_qps = 6;
    return c;
  }

  void program(cpu& c, node& n) {
    process_context p(c, n);
    shadow memory(p, 8 * page);
    const std::uint64_t granted = memory.begin() + page + 100;
    const std::uint64_t inbox = memory.begin() + 4 * page + 60;
    const std::uint64_t outbox = memory.begin() + 6 * page + 8;
    memory.grant(granted, page, shadow::anything);
    memory.grant(inbox, page, shadow::anything);
    memory.grant(outbox, page, shadow::read);
    ibv_mr* const region = ibv_reg_mr(c, p.pd, granted, page, all_rights);
    ibv_mr* const mine = ibv_reg_mr(c, p.pd, inbox, page, IBV_ACCESS_LOCAL_WRITE);
    ibv_mr* const out = ibv_reg_mr(c, p.pd, outbox, page, 0);
    ibv_qp* const good = p.create_qp();
    expect(p.connect(good, p.address_of(good)) == 0, "the good QP cannot connect");
    const kit::region data = p.allocate(page);
    key_ = region->rkey;
    va_ = granted;
    const ibv_xrcd_init_attr attr{0, true, false};
    ibv_xrcd* const domain = ibv_open_xrcd(c, p.context, &attr);
    const ibv_gid gid = std::bit_cast<ibv_gid>(group);
    for (;;) {
      while (input_.empty()) sc_core::wait(begin_);
      c.sync();
      shoot();
      static constexpr ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_XRC_RECV};
      ibv_srq_init_attr_ex shared{};
      shared.attr = {8, 1, 0};
      shared.srq_type = IBV_SRQT_XRC;
      shared.pd = p.pd;
      shared.xrcd = domain;
      shared.cq = p.cq;
      ibv_srq* const srq = ibv_create_srq_ex(c, p.context, &shared);
      ibv_get_srq_num(srq, &srqn_);
      for (std::size_t i = 0; i < qps_.size(); ++i) {
        qp_options o{.send_depth = 8, .receive_depth = 8, .timeout = 0, .psn = first_psn, .type = types[i]};
        const bool target = types[i] == IBV_QPT_XRC_RECV;
        ibv_qp_init_attr_ex init{};
        init.qp_type = IBV_QPT_XRC_RECV;
        init.xrcd = domain;
        ibv_qp* const qp = target ? ibv_create_qp_ex(c, p.context, &init) : p.create_qp(o);
        qps_[i] = qp->qp_num;
        live_[i] = qp;
        p.connect(qp, {hostile_lid, hostile_qpn, first_psn}, o);
        for (std::uint32_t k = 0; k < 4; ++k) {
          const ibv_sge to{inbox + 1024 + 512U * k, 300, mine->lkey};
          target ? post_receive(c, srq, 1, {to}) : post_receive(c, qp, 1, {to});
        }
        if (types[i] == IBV_QPT_UD) ibv_attach_mcast(c, qp, &gid, group_lid);
        if (i == 4) {
          ibv_qp_attr a{};
          a.qp_state = IBV_QPS_SQD;
          ibv_modify_qp(c, qp, &a, IBV_QP_STATE);
        }
        if (i != 1) continue;
        post(c, qp, {.id = 1, .sges = {{outbox, 2000, out->lkey}}, .remote = 0x1000, .rkey = 0x100});
        post(c, qp, {.opcode = IBV_WR_RDMA_READ, .id = 2, .sges = {{inbox, 900, mine->lkey}}, .remote = 0x1000, .rkey = 0x100});
        post(
            c, qp,
            {.opcode = IBV_WR_RDMA_READ, .id = 3, .sges = {{inbox + 3072, 1024, mine->lkey}}, .remote = 0x1000, .rkey = 0x100});
      }
      const request r{.id = 7, .sges = {{data.addr, 64, data.mr->lkey}}, .remote = data.addr + 64, .rkey = data.mr->rkey};
      expect(complete(c, good, r, &others_).status == IBV_WC_SUCCESS, "a good WRITE failed");
      c.spend(60_us);
      c.sync();
      ibv_detach_mcast(c, live_[3], &gid, group_lid);
      expect(ibv_destroy_srq(c, srq) == 0, "an SRQ could not be destroyed");
      for (std::size_t i = 0; i < qps_.size(); ++i) expect(ibv_destroy_qp(c, live_[i]) == 0, "a QP could not be destroyed");
      expect(complete(c, good, r, &others_).status == IBV_WC_SUCCESS, "a good WRITE failed");
      c.spend(100_us);
      c.sync();
      others_.clear();
      memory.check();
      expect(memory.violations() == 0, memory.violation());
      input_ = {};
      done_ = true;
    }
  }

  void shoot() {
    shots_.clear();
    ps at = now();
    for (; input_.size() >= sizeof(record) && shots_.size() < most_packets; input_ = input_.subspan(sizeof(record))) {
      shot s{this, {}};
      std::memcpy(&s.r, input_.data(), sizeof s.r);
      shots_.push_back(s);
    }
    for (shot& s : shots_) {
      at += s.r.pause * 20_ns;
      event_queue::instance().at(at, {[](void* x) {
                                        auto& due = *static_cast<shot*>(x);
                                        due.self->send(due.r);
                                      },
                                      &s});
    }
  }

  void send(const record& r) {
    const std::size_t which = r.qp & 7;
    const std::uint32_t qpn = which < qps_.size() ? qps_[which]
                              : which == 7        ? 0xffffff
                                                  : 40 + static_cast<std::uint32_t>(which);
    const std::uint32_t psn = psn_add(first_psn, r.psn < 0x80 ? r.psn - 8U : r.psn * 0x10101U);
    packet_header h = wire_.header(r.opcode, qpn, psn, (r.qp & 0xe0) == 0xe0 ? 3 : hostile_lid);
    h.ack_request = (r.flags & 1) != 0;
    h.solicited = (r.flags & 2) != 0;
    h.rkey = h.invalidate_key = (r.flags & 4) != 0 ? key_ + r.syndrome : key_;
    h.va = va_ + r.offset - ((r.flags & 8) != 0 ? 0x8000 : 0);
    h.dma_length = r.length;
    h.syndrome = r.syndrome;
    h.qkey = 0x11111111;
    h.swap_add = h.compare = r.offset;
    h.original = r.offset;
    h.srqn = srqn_ + (r.syndrome & 3U) - (r.syndrome >> 7);
    h.global = (r.flags & 0x40) != 0;
    const bool to_group = (r.flags & 0x80) != 0;
    if (to_group) {
      h.dest_lid = group_lid;
      h.dest_qpn = wire::group_qpn;
    }
    const global_route way{.source = hca_port_gid(hostile_lid),
                           .dest = to_group ? group : hca_port_gid((r.qp & 0x10) != 0 ? h.dest_lid : hostile_lid),
                           .flow = r.offset,
                           .hop_limit = r.syndrome};
    const std::uint32_t payload = wire::shape_of(r.opcode).payload ? std::min<std::uint32_t>(r.payload, wire::max_payload) : 0;
    packet& p = wire_.make(h, payload, 0, way);
    if ((r.flags & 0x10) != 0) p.raw()[p.head + r.payload % (wire::max_header - p.head)] ^= static_cast<std::byte>(r.syndrome);
    if ((r.flags & 0x20) == 0) seal(p);
    wire_.put(p);
  }

  world world_;
  forger wire_;
  sc_core::sc_event begin_;
  std::span<const std::uint8_t> input_;
  std::array<std::uint32_t, 6> qps_{};
  std::array<ibv_qp*, 6> live_{};
  std::uint32_t srqn_ = 0;
  std::vector<shot> shots_;
  std::vector<ibv_wc> others_;
  std::uint32_t key_ = 0;
  std::uint64_t va_ = 0;
  bool done_ = false;
};

}  // namespace

// Software runs on stacks that SystemC switches by itself, where the sanitizer's own copies of frames cannot follow.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier): the sanitizer asks for it
  return "detect_stack_use_after_return=0";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& all = *new exchange;  // it outlives the kernel
  if (size != 0) all.run({data, size});
  return 0;
}
