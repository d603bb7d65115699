#include "testbenches/checks/hostile/victim.h"

namespace hcasim::kit {

victim::victim(hcasim::system& s, const hostile_options& o, std::uint64_t seed, hostile_outcome& out, cpu& c, node& n)
    : o_(o),
      out_(out),
      c_(c),
      p_(c, n),
      random_(seed, "victim"),
      memory_(p_, (o.qps + grounds + 2) * slot_bytes),
      witness_(s, memory_, p_.memory),
      attacker_(s, witness_.preys, seed, out) {}

void victim::run() {
  set_up();
  o_.parts.begin(c_);
  attacker_.start(o_.packets, o_.apart);
  while (good() && !attacker_.done() && memory_.violations() + witness_.seen() == 0) step();
  attacker_.stop();
  o_.parts.end(c_);
  while (good() && !out_.good.ok && out_.good.problem.empty()) {
    c_.spend(50_us);
    drain();
  }
  if (good()) clean_up();
  memory_.check();
  out_.outside = memory_.violations();
  out_.moved = memory_.bytes_moved();
  out_.shown = witness_.bytes_shown();
  out_.wrongly_shown = witness_.wrongly_shown();
  out_.misused = witness_.misused();
  need(out_.outside == 0, memory_.violation().c_str());
  need(out_.wrongly_shown + out_.misused == 0, witness_.violation().c_str());
  out_.ok = good();
}

region victim::part(std::uint64_t va, std::uint64_t bytes, int access, std::uint8_t rights, ibv_pd* pd) {
  memory_.grant(va, bytes, rights);
  region r{va, bytes, made(ibv_reg_mr(c_, pd, va, bytes, access))};
  return r;
}

void victim::set_up() {
  other_pd_ = made(ibv_alloc_pd(c_, p_.context));
  cq_ = made(ibv_create_cq(c_, p_.context, static_cast<int>(256 * o_.qps), nullptr, nullptr, 0));
  binds_ = made(ibv_create_cq(c_, p_.context, 64, nullptr, nullptr, 0));
  control_ = p_.create_qp({.privileged = true}, nullptr, binds_);
  need(p_.connect(control_, p_.address_of(control_)) == 0, "the victim cannot be set up");
  lairs_.resize(o_.qps);
  witness_.preys.resize(o_.qps);
  for (std::size_t i = 0; i < lairs_.size(); ++i) {
    lair& l = lairs_[i];
    l.pd = i % 4 == 3 ? other_pd_ : p_.pd;
    const std::uint64_t at = memory_.begin() + i * slot_bytes;
    l.inbox = part(at + 256, inbox_bytes, IBV_ACCESS_LOCAL_WRITE, shadow::anything, l.pd);
    l.receive = part(at + page + 100, receives * receive_bytes, IBV_ACCESS_LOCAL_WRITE, shadow::anything, l.pd);
    l.outbox = part(at + 2 * page + 33, inbox_bytes, 0, shadow::read, l.pd);
    witness_.preys[i].inbox = l.inbox;
    attacker_.baits.push_back({l.inbox.mr->rkey, l.inbox.addr, l.inbox.length});  // no right of a peer's
  }
  grounds_.resize(grounds);
  for (std::size_t i = 0; i < grounds_.size(); ++i) {
    ground& g = grounds_[i];
    g.begin = memory_.begin() + (o_.qps + i) * slot_bytes;
    attacker_.baits.push_back({1, g.begin, slot_bytes});
    attacker_.baits.push_back({1, g.begin, slot_bytes});
    if (i < regions) continue;
    if (i >= regions + windows) {
      g.way = kind::fast_region;
      g.mr = made(hcax_alloc_fast_mr(c_, p_.pd, static_cast<int>(slot_bytes / page)));
      continue;
    }
    g.way = kind::window;
    g.mr = made(ibv_reg_mr(c_, p_.pd, g.begin, slot_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
    g.mw = made(ibv_alloc_mw(c_, p_.pd, IBV_MW_TYPE_1));
  }
  for (ibv_xrcd*& d : domains_) {
    const ibv_xrcd_init_attr attr{0, true, false};
    d = made(ibv_open_xrcd(c_, p_.context, &attr));
  }
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    shared_end& e = ends_[i];
    e.domain = i / 2;
    const std::uint64_t at = memory_.begin() + (o_.qps + grounds + 1) * slot_bytes + i * page;
    for (std::size_t of = 0; of < 2; ++of) {
      e.receive[of] =
          part(at + 100, receives * receive_bytes, IBV_ACCESS_LOCAL_WRITE, shadow::anything, of ? p_.pd : other_pd_);
    }
    make_srq(e);
  }
  const std::uint64_t tied = memory_.begin() + (o_.qps + grounds) * slot_bytes;
  for (int k = 0; k < 4; ++k) attacker_.baits.push_back({1, tied, slot_bytes});
  tied_region_ = made(ibv_reg_mr(c_, p_.pd, tied, slot_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
  c_.sync();
}

void victim::step() {
  if (random_.chance(0.6)) {
    step_qp(some_lair());
  } else if (random_.chance(0.1)) {
    change_ties();
  } else if (random_.chance(0.15)) {
    shared_end& e = ends_[random_.below(ends_.size())];
    if (e.srq) destroy_srq(e);
    if (random_.chance(0.8)) make_srq(e);
  } else {
    ground& g = grounds_[random_.below(grounds_.size())];
    ++out_.changes;
    c_.sync();
    switch (g.way) {
      case kind::region:
        change(g);
        break;
      case kind::window:
        change_window(g);
        break;
      case kind::fast_region:
        change_fast_region(g);
        break;
    }
  }
  drain();
  c_.spend(ps(static_cast<std::int64_t>(random_.below(2'000'000))));
  c_.sync();
}

void victim::drain() {
  ibv_wc wc{};
  while (ibv_poll_cq(c_, cq_, 1, &wc) == 1) {
    ++out_.completions;
    for (prey& q : witness_.preys) {
      std::erase_if(q.receives, [&](const posted_receive& r) { return r.id == wc.wr_id; });
      q.broken |= q.qpn == wc.qp_num && wc.status != IBV_WC_SUCCESS;
    }
    for (shared_receives& s : witness_.srqs) {
      std::erase_if(s.receives, [&](const posted_receive& r) { return r.id == wc.wr_id; });
    }
    if ((wc.wc_flags & IBV_WC_WITH_INV) != 0) {
      need(!tied_window_ || wc.invalidated_rkey != tied_window_->rkey, "a peer has invalidated a window of another QP");
      witness_.invalidated(wc.qp_num, wc.invalidated_rkey);
    }
  }
  c_.sync();
}

void victim::clean_up() {
  c_.spend(2_ms);
  c_.sync();
  for (std::size_t i = 0; i < lairs_.size(); ++i) {
    if (lairs_[i].qp) leave(i, true);
    if (lairs_[i].ah) ibv_destroy_ah(c_, lairs_[i].ah);
  }
  for (shared_end& e : ends_) {
    if (e.srq) destroy_srq(e);
  }
  for (ibv_xrcd* const d : domains_) need(ibv_close_xrcd(c_, d) == 0, "a domain could not be closed");
  if (tied_) need(ibv_destroy_qp(c_, tied_) == 0, "a QP could not be destroyed");
  if (tied_window_) need(ibv_dealloc_mw(c_, tied_window_) == 0, "a window could not be freed");
  need(ibv_dereg_mr(c_, tied_region_) == 0, "a region could not be deregistered");
  for (ground& g : grounds_) {
    if (g.mw) need(ibv_dealloc_mw(c_, g.mw) == 0, "a window could not be freed");
    if (g.mr) need(ibv_dereg_mr(c_, g.mr) == 0, "a region could not be deregistered");
    c_.sync();
    take(g);
  }
  drain();
  need(p_.close(), "the victim's process could not be closed");
  c_.spend(2_ms);
  c_.sync();
}

}  // namespace hcasim::kit
