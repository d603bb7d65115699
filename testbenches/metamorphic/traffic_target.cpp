#include "testbenches/metamorphic/traffic_target.h"

#include <algorithm>

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

qp_options traffic_state::qp_settings() const {
  qp_options q;
  q.send_depth = std::max(options.window, 4U);
  const std::uint64_t receives = has(options, op::send) ? ceil_div(options.messages, options.qps) + 1 : 1;
  q.receive_depth = static_cast<std::uint32_t>(receives);
  q.sge = 1;
  q.mtu = options.mtu;
  q.timeout = options.timeout;
  q.rnr_timer = options.rnr_timer;
  if (options.send_inline) q.inline_bytes = static_cast<std::uint32_t>(options.size);
  return q;
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
  const qp_options q = s_.qp_settings();
  cq_ = ibv_create_cq(p_.c, p_.context, static_cast<int>(q.receive_depth * o_.qps * 2 + 64), nullptr, nullptr, 0);
  if (!cq_) return s_.refuse("a CQ cannot be made");
  flow_state& f = s_.flows[flow_];
  qps_.resize(o_.qps);
  f.targets.resize(o_.qps);
  for (std::uint32_t i = 0; i < o_.qps; ++i) {
    const std::uint32_t at = o_.renumbered ? o_.qps - 1 - i : i;
    qps_[at] = p_.create_qp(q, nullptr, cq_);
    f.targets[at] = p_.address_of(qps_[at], q);
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
  if (has(o_, op::send)) inbox_ = p_.allocate(std::max<std::uint64_t>(align_up(o_.size, 4096), 4096));
}

void target::open_window(std::uint32_t qp) {
  const region& r = regions_[0];
  const ibv_mw_bind_info all{r.mr, r.addr, r.length, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
  ibv_mw* mw = ibv_alloc_mw(p_.c, p_.pd, qp % 2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
  if (!mw) return s_.refuse("there is no window");
  const ibv_wc wc = qp % 2 ? kit::bind(p_.c, qps_[qp], mw, ibv_inc_rkey(mw->rkey), all) : bind_type_1(p_.c, qps_[qp], mw, all);
  if (wc.status != IBV_WC_SUCCESS) return s_.problem("a window cannot be bound");
  s_.flows[flow_].window_keys[qp] = mw->rkey;
}

void target::connect() {
  const qp_options q = s_.qp_settings();
  for (std::uint32_t i = 0; i < o_.qps && s_.good(); ++i) {
    if (p_.connect(qps_[i], s_.flows[flow_].sources[i], q) != 0) return s_.refuse("a QP cannot be connected");
    for (std::uint32_t k = 0; has(o_, op::send) && k + 1 < q.receive_depth; ++k) {
      const ibv_sge to{inbox_.addr, static_cast<std::uint32_t>(o_.size), inbox_.mr->lkey};
      if (post_receive(p_.c, qps_[i], i, {to}) != 0) return s_.problem("a receive cannot be posted");
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
  if (inbox_.mr) add(p_.bytes(inbox_.addr, o_.size));
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
