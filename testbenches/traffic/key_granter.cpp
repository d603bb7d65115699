#include "testbenches/traffic/key_granter.h"

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr unsigned peer_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

}  // namespace

key_granter::key_granter(process_context& p, operation kind, ibv_qp* qp, std::uint32_t slots, std::uint64_t bytes)
    : pd_(p.pd),
      kind_(kind),
      qp_(qp),
      bytes_(bytes),
      slot_bytes_(align_up(bytes, virtual_memory::page)),
      address_(p.memory.allocate(slots * slot_bytes_)),
      slots_(slots) {
  if (kind_ == operation::bind_write) whole_ = made(ibv_reg_mr(p.c, pd_, address_, slots * slot_bytes_, all_rights));
  for (slot& s : slots_) {
    if (kind_ == operation::bind_write) s.window = made(ibv_alloc_mw(p.c, pd_, IBV_MW_TYPE_2));
    if (kind_ == operation::fast_write)
      s.region = made(hcax_alloc_fast_mr(p.c, pd_, static_cast<unsigned>(slot_bytes_ / virtual_memory::page)));
  }
}

bool key_granter::grant_all(cpu& c) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!grant(c, i)) return false;
  }
  return true;
}

bool key_granter::renew(cpu& c) {
  const std::size_t i = renewed_++ % slots_.size();
  if (kind_ == operation::register_write && ibv_dereg_mr(c, slots_[i].region) != 0) return false;
  return grant(c, i);
}

// Posts the change of the key and its SEND as one list, so the peer learns a valid key.
bool key_granter::grant(cpu& c, std::size_t i) {
  slot& s = slots_[i];
  ibv_send_wr change{};
  ibv_send_wr tell{};
  tell.opcode = IBV_WR_SEND_WITH_IMM;
  tell.send_flags = IBV_SEND_SIGNALED;
  change.next = &tell;
  ibv_send_wr* first = &change;
  if (kind_ == operation::bind_write) {
    const std::uint32_t key = ibv_inc_rkey(s.window->rkey);
    change.opcode = IBV_WR_BIND_MW;
    change.bind_mw = {s.window, key, {whole_, place(i), bytes_, IBV_ACCESS_REMOTE_WRITE}};
    tell.imm_data = key;
  } else if (kind_ == operation::fast_write) {
    const std::uint32_t key = ibv_inc_rkey(s.region->rkey);
    if (hcax_map_mr(c, s.region, place(i), bytes_) != 0) return false;
    change.opcode = IBV_WR_REG_MR;
    change.reg_mr = {s.region, key, peer_rights};
    tell.imm_data = key;
  } else {
    s.region = ibv_reg_mr(c, pd_, place(i), bytes_, static_cast<int>(peer_rights));
    if (!s.region) return false;
    tell.imm_data = s.region->rkey;
    first = &tell;
  }
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(c, qp_, first, &bad) != 0) return false;
  // The request was built from the key before.
  if (s.window) s.window->rkey = tell.imm_data;
  if (kind_ == operation::fast_write) s.region->rkey = s.region->lkey = tell.imm_data;
  return true;
}

}  // namespace hcasim::traffic
