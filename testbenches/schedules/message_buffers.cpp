#include "testbenches/schedules/message_buffers.h"

#include <algorithm>
#include <stdexcept>

namespace hcasim::schedules {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

message_buffers::message_buffers(process_context& p, const buffer_options& o) : p_(p), options_(o) {
  for (std::uint32_t i = 0; i < o.buffers; ++i) add_slot(p.c);
}

void message_buffers::add_slot(cpu& c) {
  slot s;
  s.address = p_.memory.allocate(options_.bytes);
  if (s.address == 0) throw std::runtime_error("the host has no room for the messages' buffers; lower parameters.buffers");
  if (options_.way == registration::window) s.mr = made(ibv_reg_mr(c, p_.pd, s.address, options_.bytes, all_rights));
  free_.push_back(slots_.size());
  slots_.push_back(s);
}

std::size_t message_buffers::free_slot(cpu& c) {
  if (free_.empty()) add_slot(c);
  const std::size_t i = free_.front();
  free_.pop_front();
  slots_[i].used = true;
  return i;
}

message_buffers::buffer message_buffers::take(cpu& c, std::uint64_t bytes) {
  buffer b;
  b.slot = free_slot(c);
  b.address = slots_[b.slot].address;
  register_for(c, b, bytes);
  return b;
}

message_buffers::buffer message_buffers::take_for_remote(cpu& c, std::uint64_t bytes) {
  buffer b = take(c, bytes);
  if (options_.way != registration::window) return b;
  b.window = free_window(c);
  b.rkey = ibv_inc_rkey(b.window->rkey);
  ++counts_.bound;
  return b;
}

void message_buffers::register_for(cpu& c, buffer& b, std::uint64_t bytes) {
  slot& s = slots_[b.slot];
  switch (options_.way) {
    case registration::each:
      b.mr = made(ibv_reg_mr(c, p_.pd, b.address, bytes, all_rights));
      b.lkey = b.mr->lkey;
      b.rkey = b.mr->rkey;
      ++counts_.registered;
      return;
    case registration::cached:
      register_cached(c, b.slot, bytes);
      b.rkey = s.mr->rkey;
      break;
    case registration::window:
      break;
  }
  b.lkey = s.mr->lkey;
}

void message_buffers::register_cached(cpu& c, std::size_t index, std::uint64_t bytes) {
  slot& s = slots_[index];
  if (s.mr && s.mr->length >= bytes) {
    ages_.splice(ages_.end(), ages_, s.age);
    ++counts_.reused;
    return;
  }
  if (s.mr) {
    drop_cached(c, s);
  } else if (ages_.size() >= options_.cached) {
    evict_one(c);
  }
  s.mr = made(ibv_reg_mr(c, p_.pd, s.address, bytes, all_rights));
  s.age = ages_.insert(ages_.end(), index);
  ++counts_.registered;
}

// A registration in use stays; then there are more than the cache's for a while.
void message_buffers::evict_one(cpu& c) {
  const auto unused = std::find_if(ages_.begin(), ages_.end(), [this](std::size_t i) { return !slots_[i].used; });
  if (unused != ages_.end()) drop_cached(c, slots_[*unused]);
}

void message_buffers::drop_cached(cpu& c, slot& s) {
  ibv_dereg_mr(c, s.mr);
  s.mr = nullptr;
  ages_.erase(s.age);
}

void message_buffers::give_back(cpu& c, buffer& b) {
  if (b.mr) ibv_dereg_mr(c, b.mr);
  if (b.window) {
    b.window->rkey = b.rkey;
    windows_.push_back(b.window);
  }
  slots_[b.slot].used = false;
  free_.push_back(b.slot);
  b = {};
}

ibv_mw* message_buffers::free_window(cpu& c) {
  if (windows_.empty()) return made(ibv_alloc_mw(c, p_.pd, IBV_MW_TYPE_2));
  ibv_mw* w = windows_.back();
  windows_.pop_back();
  return w;
}

}  // namespace hcasim::schedules
