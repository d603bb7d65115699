// Memory that is granted and taken away.
#include "testbenches/checks/hostile/victim.h"

namespace hcasim::kit {
namespace {

std::uint8_t shadow_rights(unsigned access) {
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) return shadow::anything;
  return static_cast<std::uint8_t>(((access & IBV_ACCESS_REMOTE_READ) != 0 ? shadow::read : 0) |
                                   ((access & IBV_ACCESS_REMOTE_WRITE) != 0 ? shadow::write : 0));
}

}  // namespace

void victim::choose(ground& g) {
  g.va = g.begin + random_.below(slot_bytes - page);
  g.bytes = 1 + random_.below(g.begin + slot_bytes - g.va);
  g.access = qp_rights & static_cast<unsigned>(random_.next());
  if (random_.chance(0.7)) g.access &= ~unsigned{IBV_ACCESS_REMOTE_ATOMIC};
}

void victim::set_bait(const ground& g, std::uint32_t key, ps order) {
  witness_.keys.give({key, g.access, g.va, g.bytes, g.way == kind::fast_region}, order, now());
  show_bait(o_.qps + 2 * static_cast<std::size_t>(&g - grounds_.data()),
            {key, g.va, g.bytes, g.access & qp_rights, g.way == kind::fast_region});
}

// The old key stays known beside the new one.
void victim::show_bait(std::size_t place, const bait& b) {
  attacker_.baits[place + 1] = attacker_.baits[place];
  attacker_.baits[place + 1].access = 0;
  attacker_.baits[place] = b;
}

void victim::take(ground& g) {
  if (g.bytes != 0) memory_.revoke(g.va, g.bytes);
  g.bytes = 0;
  attacker_.baits[o_.qps + 2 * static_cast<std::size_t>(&g - grounds_.data())].access = 0;
}

void victim::change(ground& g) {
  if (!g.mr) {
    choose(g);
    memory_.grant(g.va, g.bytes, shadow_rights(g.access));
    const ps order = now();
    g.mr = ibv_reg_mr(c_, p_.pd, g.va, g.bytes, static_cast<int>(g.access | IBV_ACCESS_LOCAL_WRITE));
    need(g.mr != nullptr, "a region could not be registered");
    if (g.mr) set_bait(g, g.mr->rkey, order);
  } else if (random_.chance(0.3)) {
    hand_over(g);
  } else if (random_.chance(0.5)) {  // from the order on the new rights as well, until it is complete the old ones
    const auto access = qp_rights & static_cast<unsigned>(random_.next());
    memory_.grant(g.va, g.bytes, shadow_rights(access));
    const ps order = now();
    const std::uint32_t old = g.mr->rkey;
    need(ibv_rereg_mr(c_, g.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, static_cast<int>(access | IBV_ACCESS_LOCAL_WRITE)) ==
             0,
         "a region could not be re-registered");
    c_.sync();
    const std::uint64_t bytes = g.bytes;
    witness_.keys.take(old, now());
    take(g);
    g.access = access;
    g.bytes = bytes;
    memory_.grant(g.va, g.bytes, shadow_rights(access));
    set_bait(g, g.mr->rkey, order);
  } else {
    const std::uint32_t old = g.mr->rkey;
    need(ibv_dereg_mr(c_, g.mr) == 0, "a region could not be deregistered");
    c_.sync();
    witness_.keys.take(old, now());
    g.mr = nullptr;
    take(g);
  }
}

// The bytes stay granted, by another key: only the old key tells that it is none any more.
void victim::hand_over(ground& g) {
  const ps order = now();
  ibv_mr* const next = ibv_reg_mr(c_, p_.pd, g.va, g.bytes, static_cast<int>(g.access | IBV_ACCESS_LOCAL_WRITE));
  need(next != nullptr, "a region could not be registered a second time");
  if (!next) return;
  const std::uint32_t old = g.mr->rkey;
  need(ibv_dereg_mr(c_, g.mr) == 0, "a region could not be deregistered");
  c_.sync();
  witness_.keys.take(old, now());
  g.mr = next;
  set_bait(g, next->rkey, order);
}

void victim::change_window(ground& g) {
  ibv_mw_bind_info what{g.mr, 0, 0, 0};
  ground fresh = g;
  if (g.bytes == 0 || random_.chance(0.4)) {
    choose(fresh);
    if (g.bytes != 0) {  // beside what is bound, so that each has its time
      fresh.va = g.va > g.begin + slot_bytes / 2 ? g.begin : g.begin + slot_bytes - page;
      fresh.bytes = g.va > g.begin + slot_bytes / 2 ? page : g.va + g.bytes <= fresh.va ? page : 0;
    }
    if (fresh.bytes == 0) return;
    memory_.grant(fresh.va, fresh.bytes, shadow_rights(fresh.access));
    what = {g.mr, fresh.va, fresh.bytes, fresh.access};
  } else {
    fresh.bytes = 0;
  }
  const ps order = now();
  const std::uint32_t old = g.mw->rkey;
  need(bind_type_1(c_, control_, g.mw, what).status == IBV_WC_SUCCESS, "a window could not be bound");
  c_.sync();
  witness_.keys.take(old, now());
  take(g);
  g = fresh;
  if (g.bytes != 0) set_bait(g, g.mw->rkey, order);
}

// A region whose key stays, and which is free between two registrations: for a while, or for no longer than a READ takes.
void victim::change_fast_region(ground& g) {
  const ground before = g;
  const bool comes_back = g.bytes != 0 && random_.chance(0.5);
  if (g.bytes != 0) {
    const std::uint32_t old = g.mr->rkey;
    need(local_inv(c_, control_, old).status == IBV_WC_SUCCESS, "a region could not be invalidated");
    c_.sync();
    witness_.keys.take(old, now());
    take(g);
    if (!comes_back) return;
    g = before;
  } else {
    choose(g);
  }
  memory_.grant(g.va, g.bytes, shadow_rights(g.access));
  const ps order = now();
  need(hcax_map_mr(p_.c, g.mr, g.va, g.bytes) == 0, "a region could not be mapped");
  const std::uint32_t key = !comes_back && random_.chance(0.5) ? ibv_inc_rkey(g.mr->rkey) : g.mr->rkey;
  need(reg_mr(c_, control_, g.mr, key, g.access | IBV_ACCESS_LOCAL_WRITE).status == IBV_WC_SUCCESS,
       "a region could not be registered fast");
  c_.sync();
  set_bait(g, g.mr->rkey, order);
}

// A window and an address space that one QP alone may be reached through, then no QP: its number comes round.
void victim::change_ties() {
  if (tied_) {
    need(ibv_destroy_qp(c_, std::exchange(tied_, nullptr)) == 0, "a QP could not be destroyed");
    return;
  }
  if (tied_window_ && random_.chance(0.9)) return;
  if (tied_window_) need(ibv_dealloc_mw(c_, std::exchange(tied_window_, nullptr)) == 0, "a window could not be freed");
  tied_ = p_.create_qp({}, nullptr, binds_);
  need(tied_ && p_.connect(tied_, p_.address_of(tied_)) == 0, "a QP could not be connected");
  if (good()) tie(tied_);
}

void victim::tie(ibv_qp* to) {
  const std::uint64_t begin = memory_.begin() + (o_.qps + grounds) * slot_bytes;
  const std::size_t place = o_.qps + 2 * grounds;
  tied_window_ = made(ibv_alloc_mw(c_, p_.pd, IBV_MW_TYPE_2));
  need(bind(c_, to, tied_window_, ibv_inc_rkey(tied_window_->rkey), {tied_region_, begin, slot_bytes, IBV_ACCESS_REMOTE_READ})
               .status == IBV_WC_SUCCESS,
       "a window could not be bound");
  if (!tied_window_) return;
  show_bait(place, {tied_window_->rkey, begin, slot_bytes, IBV_ACCESS_REMOTE_READ, true});
  const x_buffer half{begin, slot_bytes / 2};
  x_result r;
  need(x_register(c_, p_.pd, to, {&half, 1}, qp_rights | IBV_ACCESS_LOCAL_WRITE, X_EXTEND, &r) == 0,
       "an address space could not be made");
  show_bait(place + 2, {r.key, r.added, half.length, qp_rights});
}

}  // namespace hcasim::kit
