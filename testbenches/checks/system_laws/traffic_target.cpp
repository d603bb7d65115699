#include "testbenches/checks/system_laws/traffic_target.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "testbenches/kit/peer.h"
#include "testbenches/kit/windows.h"

namespace hcasim::metamorphic {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

namespace {

std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

bool has(const traffic_options& o, op what) {
  return std::find(o.mix.begin(), o.mix.end(), what) != o.mix.end();
}

}  // namespace

remote_place place_of(const traffic_options& o, const flow_state& f, std::uint32_t qp, std::uint32_t number,
                      std::uint64_t size) {
  const std::uint64_t message = std::uint64_t{number} * o.qps + qp;
  remote_place p = f.regions[o.anywhere ? mixed(message + 1) % f.regions.size() : message % f.regions.size()];
  if (!f.window_keys.empty()) p.key = f.window_keys[qp];
  if (o.page_by_page) {
    p.address += message * 4096 % o.bytes_of_a_region();
    return p;
  }
  const std::uint64_t slots = o.region_bytes / size;
  p.address += (o.anywhere ? mixed(message + 7) : std::uint64_t{qp}) % slots * size;
  return p;
}

std::uint32_t traffic_state::receives_of_a_qp() const {
  return has(options, op::send) ? static_cast<std::uint32_t>(ceil_div(options.messages, options.qps)) : 0;
}

qp_options traffic_state::qp_settings(bool asks) const {
  qp_options q;
  q.send_depth = std::max(options.window, 4U);
  q.receive_depth = receives_of_a_qp() + 1;
  if (options.how == service::groups) q.type = IBV_QPT_UD;
  if (options.how == service::shared) q.type = asks ? IBV_QPT_XRC_SEND : IBV_QPT_XRC_RECV;
  q.sge = 1;
  q.mtu = options.mtu;
  q.timeout = options.timeout;
  q.rnr_timer = options.rnr_timer;
  if (options.send_inline) q.inline_bytes = static_cast<std::uint32_t>(options.size);
  return q;
}

int traffic_state::connect(process_context& p, ibv_qp* qp, const address& peer, bool asks) const {
  qp_options q = qp_settings(asks);
  const ibv_global_route way{std::bit_cast<ibv_gid>(hca_port_gid(peer.lid)), 0, 0, 1, 0};
  if (options.global) q.global = &way;
  return kit::connect(p.c, qp, peer, q);
}

group group_for(std::size_t flow, std::uint32_t qp) {
  ibv_gid gid{{0xff, 0x12}};
  gid.raw[14] = static_cast<std::uint8_t>(flow);
  gid.raw[15] = static_cast<std::uint8_t>(qp);
  return {gid, static_cast<std::uint16_t>(HCA_MULTICAST_LID + 1 + qp)};
}

ibv_qp* target::make_qp() {
  if (o_.how != service::shared) return p_.create_qp(s_.qp_settings(false), nullptr, cq_);
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.xrcd = xrcd_;
  return ibv_create_qp_ex(p_.c, p_.context, &init);
}

region target::make_region() {
  if (o_.memory == target_memory::peer) {
    region r;
    r.length = o_.bytes_of_a_region();
    r.addr = gpu_->allocate(p_.c, p_.memory, r.length, driver::peer::placement::contiguous);
    r.mr = ibv_reg_mr(p_.c, p_.pd, r.addr, r.length, all_rights & ~IBV_ACCESS_MW_BIND);
    return r;
  }
  constexpr int lazy = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND;
  // Which counters share a lock is told by their addresses: those of one region follow each other.
  const page_policy pages = has(o_, op::fetch_add) ? page_policy::contiguous : page_policy::scattered;
  return p_.allocate(o_.bytes_of_a_region(), o_.memory == target_memory::on_demand ? lazy : all_rights, pages);
}

void target::make() {
  const qp_options q = s_.qp_settings(false);
  cq_ = made(ibv_create_cq(p_.c, p_.context, static_cast<int>(q.receive_depth * o_.qps * members + 64), nullptr, nullptr, 0));
  flow_state& f = s_.flows[flow_];
  if (o_.how == service::shared) make_srqs();
  const std::uint32_t each = o_.how == service::groups ? members : 1;
  qps_.resize(std::size_t{o_.qps} * each);
  f.targets.resize(o_.qps);
  for (std::uint32_t i = 0; i < qps_.size(); ++i) {
    const std::uint32_t at = o_.renumbered ? static_cast<std::uint32_t>(qps_.size()) - 1 - i : i;
    qps_[at] = make_qp();
    if (!qps_[at]) return s_.refuse("a QP cannot be made");
    f.targets[at / each] = p_.address_of(qps_[at], q);
  }
  if (o_.memory == target_memory::peer) {
    gpu_ = std::make_unique<driver::peer::memory_owner>(p_.n.host, node::peer_bar(0), "gpu0");
    if (gpu_->open(p_.c) != 0 || !gpu_->join(p_.n.device().peers())) s_.refuse("the peer device does not open");
  }
  for (std::uint32_t i = 0; i < o_.regions && s_.good(); ++i) {
    const region r = make_region();
    if (!r.mr) return s_.refuse("a region cannot be registered");
    if (gpu_) {
      fill_peer(p_.n.peer(0), *gpu_, r.addr, r.length, 99);
    } else if (!has(o_, op::fetch_add)) {
      p_.fill(r.addr, r.length, 99);
    }
    regions_.push_back(r);
    f.regions.push_back({r.addr, r.mr->rkey});
  }
  if (has(o_, op::send)) inbox_ = p_.allocate(align_up(o_.size + HCA_GRH_BYTES, 4096));
}

void target::make_srqs() {
  const ibv_xrcd_init_attr attr{0, true, false};
  xrcd_ = made(ibv_open_xrcd(p_.c, p_.context, &attr));
  srqs_.resize(o_.qps);
  s_.flows[flow_].srqns.resize(o_.qps);
  for (std::uint32_t i = 0; i < o_.qps; ++i) {
    ibv_srq_init_attr_ex init{};
    init.attr = {s_.receives_of_a_qp(), 1, 0};
    init.srq_type = IBV_SRQT_XRC;
    init.pd = p_.pd;
    init.xrcd = xrcd_;
    init.cq = cq_;
    srqs_[i] = ibv_create_srq_ex(p_.c, p_.context, &init);
    if (!srqs_[i] || ibv_get_srq_num(srqs_[i], &s_.flows[flow_].srqns[i]) != 0) return s_.refuse("an SRQ cannot be made");
  }
}

template <class Queue>
bool target::post_receives(Queue* queue) {
  const std::uint64_t head = o_.how == service::groups ? HCA_GRH_BYTES : 0;
  const ibv_sge to{inbox_.addr, static_cast<std::uint32_t>(head + o_.size), inbox_.mr->lkey};
  for (std::uint32_t k = 0; k < s_.receives_of_a_qp(); ++k) {
    if (post_receive(p_.c, queue, k, {to}) != 0) return false;
  }
  return true;
}

void target::open_window(std::uint32_t qp) {
  const region& r = regions_[0];
  const ibv_mw_bind_info all{r.mr, r.addr, r.length, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
  ibv_mw* mw = made(ibv_alloc_mw(p_.c, p_.pd, qp % 2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
  const ibv_wc wc = qp % 2 ? kit::bind(p_.c, qps_[qp], mw, ibv_inc_rkey(mw->rkey), all) : bind_type_1(p_.c, qps_[qp], mw, all);
  if (wc.status != IBV_WC_SUCCESS) return s_.problem("a window cannot be bound");
  s_.flows[flow_].window_keys[qp] = mw->rkey;
}

void target::connect() {
  const std::uint32_t each = o_.how == service::groups ? members : 1;
  for (std::uint32_t i = 0; i < qps_.size() && s_.good(); ++i) {
    const std::uint32_t of = i / each;
    if (s_.connect(p_, qps_[i], s_.flows[flow_].sources[of], false) != 0) return s_.refuse("a QP cannot be connected");
    const bool posted = !inbox_.mr || (srqs_.empty() ? post_receives(qps_[i]) : post_receives(srqs_[i]));
    if (!posted) return s_.problem("a receive cannot be posted");
    if (o_.how == service::groups) {
      const group to = group_for(flow_, of);
      const int error = ibv_attach_mcast(p_.c, qps_[i], &to.gid, to.lid);
      if (error != 0) return s_.refuse(std::string("a group takes no member: ") + std::strerror(error));
    }
    if (o_.memory != target_memory::windows) continue;
    s_.flows[flow_].window_keys.resize(o_.qps);
    open_window(i);
  }
}

void target::look() {
  std::uint64_t hash = 0xcbf29ce484222325ULL + flow_;
  const auto add = [&hash](const std::vector<std::uint8_t>& bytes) {
    for (const std::uint8_t b : bytes) hash = (hash ^ b) * 0x100000001b3ULL;
  };
  std::uint64_t counted = 0;
  for (const region& r : regions_) {
    const auto bytes = gpu_ ? peer_bytes(p_.n.peer(0), *gpu_, r.addr, r.length) : p_.bytes(r.addr, r.length);
    for (std::size_t i = 0; has(o_, op::fetch_add) && i < bytes.size(); i += 8) {
      for (unsigned b = 0; b < 8; ++b) counted += std::uint64_t{bytes[i + b]} << (8 * b);
    }
    add(bytes);
  }
  // A GRH says who sent the last datagram, which is not the message's.
  if (inbox_.mr) add(p_.bytes(inbox_.addr + (o_.how == service::groups ? HCA_GRH_BYTES : 0), o_.size));
  s_.result->bytes += mixed(hash);  // in whatever order the targets are looked at
  const bool only_adds = o_.mix.size() == 1 && has(o_, op::fetch_add);
  if (only_adds && s_.good() && counted != o_.messages) s_.problem("the counters do not add up to the atomics");
}

target::~target() {
  if (!gpu_) return;
  for (const region& r : regions_) ibv_dereg_mr(p_.c, r.mr);
  gpu_->leave(p_.c);
}

}  // namespace hcasim::metamorphic
