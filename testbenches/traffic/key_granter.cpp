#include "testbenches/traffic/key_granter.h"

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr unsigned peer_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

}  // namespace

key_granter::key_granter(process_context& p, flow_memory& memory, const settings& s)
    : pd_(p.pd),
      s_(s),
      slot_bytes_(align_up(s.bytes, virtual_memory::page)),
      memory_(memory.allocate(p, s.where, s.slots * slot_bytes_ * (keeps_key(s.kind) ? 2 : 1), page_policy::scattered)),
      slots_(s.slots) {
  if (s_.kind == operation::bind_write) whole_ = made(flow_memory::enter(p.c, pd_, memory_, 0, memory_.bytes, all_rights));
  if (keeps_key(s_.kind)) open_space(p);
  for (slot& x : slots_) {
    if (s_.kind == operation::bind_write) x.window = made(ibv_alloc_mw(p.c, pd_, IBV_MW_TYPE_2));
    if (s_.kind == operation::fast_write)
      x.region = made(hcax_alloc_fast_mr(p.c, pd_, static_cast<unsigned>(slot_bytes_ / virtual_memory::page)));
  }
}

// Registers one page for the key to stay while the slots have no memory.
void key_granter::open_space(process_context& p) {
  const x_buffer page{p.memory.allocate(virtual_memory::page), virtual_memory::page};
  x_result r;
  const int error = x_register(p.c, pd_, s_.qp, {&page, 1}, static_cast<int>(peer_rights), X_EXTEND, &r);
  if (error != 0) cannot_make({"an address space", "hca.command_unit and driver.table_bytes"}, error);
  kept_key_ = r.key;
  first_va_ = r.end;
}

keyed_memory key_granter::memory() const {
  const auto slots = static_cast<std::uint32_t>(slots_.size());
  if (keeps_key(s_.kind)) return {first_va_, slot_bytes_, slots};
  // A region in the adapter's memory begins at address 0.
  return {address_in(memory_, 0, 0), memory_.kind == memory_kind::device ? 0 : slot_bytes_, slots};
}

bool key_granter::grant_all(cpu& c) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!grant(c, i)) return false;
  }
  return true;
}

bool key_granter::renew(cpu& c) {
  const std::size_t i = renewed_++ % slots_.size();
  if (s_.kind == operation::register_write && ibv_dereg_mr(c, slots_[i].region) != 0) return false;
  if (s_.kind == operation::extend_write && !remove_memory(c, i)) return false;
  return grant(c, i);
}

bool key_granter::grant(cpu& c, std::size_t i) {
  switch (s_.kind) {
    case operation::bind_write:
      return bind(c, i);
    case operation::fast_write:
      return register_fast(c, i);
    case operation::extend_write:
      return add_memory(c, i);
    case operation::exchange_write:
      return exchange_memory(c, i);
    default:
      return register_slot(c, i);
  }
}

// Posts the change of the key and its SEND as one list, so the peer learns a valid key.
bool key_granter::tell(cpu& c, ibv_send_wr* first, ibv_send_wr& with_key) {
  with_key.opcode = IBV_WR_SEND_WITH_IMM;
  with_key.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(c, s_.qp, first, &bad) == 0;
}

bool key_granter::bind(cpu& c, std::size_t i) {
  ibv_mw* const window = slots_[i].window;
  ibv_send_wr change{};
  ibv_send_wr with_key{};
  with_key.imm_data = ibv_inc_rkey(window->rkey);
  change.opcode = IBV_WR_BIND_MW;
  change.bind_mw = {window, with_key.imm_data, {whole_, memory_.address + place(i), s_.bytes, IBV_ACCESS_REMOTE_WRITE}};
  change.next = &with_key;
  if (!tell(c, &change, with_key)) return false;
  window->rkey = with_key.imm_data;  // the request was built from the key before
  return true;
}

bool key_granter::register_fast(cpu& c, std::size_t i) {
  ibv_mr* const region = slots_[i].region;
  if (hcax_map_mr(c, region, memory_.address + place(i), s_.bytes) != 0) return false;
  ibv_send_wr change{};
  ibv_send_wr with_key{};
  with_key.imm_data = ibv_inc_rkey(region->rkey);
  change.opcode = IBV_WR_REG_MR;
  change.reg_mr = {region, with_key.imm_data, peer_rights};
  change.next = &with_key;
  if (!tell(c, &change, with_key)) return false;
  region->rkey = region->lkey = with_key.imm_data;
  return true;
}

bool key_granter::register_slot(cpu& c, std::size_t i) {
  ibv_mr*& region = slots_[i].region;
  region = flow_memory::enter(c, pd_, memory_, place(i), s_.bytes, static_cast<int>(peer_rights));
  if (!region) return false;
  ibv_send_wr with_key{};
  with_key.imm_data = region->rkey;
  return tell(c, &with_key, with_key);
}

// Returns the half of the slot's memory whose turn it is.
x_buffer key_granter::next_memory(std::size_t i) {
  const std::uint64_t half = slots_[i].changes++ % 2;
  return {memory_.address + place(2 * i + half), slot_bytes_};
}

bool key_granter::add_memory(cpu& c, std::size_t i) {
  const x_buffer added = next_memory(i);
  x_result r;
  if (x_reregister_add(c, pd_->context, kept_key_, {&added, 1}, &r, first_va_ + place(i)) != 0) return false;
  slots_[i].handle = r.handle;
  ibv_send_wr with_key{};
  with_key.imm_data = r.key;
  return r.key == kept_key_ && tell(c, &with_key, with_key);
}

bool key_granter::remove_memory(cpu& c, std::size_t i) {
  x_result r;
  return x_deregister_part(c, pd_->context, kept_key_, slots_[i].handle, &r) == 0 && r.key == kept_key_;
}

bool key_granter::exchange_memory(cpu& c, std::size_t i) {
  if (slots_[i].changes == 0) return add_memory(c, i);
  const x_buffer added = next_memory(i);
  x_result r;
  if (x_exchange(c, pd_->context, kept_key_, slots_[i].handle, {&added, 1}, &r, first_va_ + place(i)) != 0) return false;
  slots_[i].handle = r.handle;
  ibv_send_wr with_key{};
  with_key.imm_data = r.key;
  return r.key == kept_key_ && tell(c, &with_key, with_key);
}

}  // namespace hcasim::traffic
