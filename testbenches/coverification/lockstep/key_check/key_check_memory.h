// MRCs and extents of one side of the key_check bench. As in a cache, some indices are answered fast and others late.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <vector>

#include "testbenches/coverification/lockstep/key_check/key_check_objects.h"
#include "testbenches/coverification/lockstep/key_check/key_check_stimulus.h"
#include "testbenches/coverification/lockstep/key_check/key_check_twins.h"
#include "tlm/base/pool.h"
#include "tlm/base/unit.h"
#include "tlm/context.h"

namespace hcasim::lockstep {

class key_memory : public unit {
 public:
  target_socket<context_request> mrc{"mrc"};
  target_socket<context_request> extent{"extent"};

  key_memory(const sc_core::sc_module_name& name, const options& o, const clock_domain& clock)
      : unit(name), clock_(clock), random_(o.how == mode::random) {
    for (std::uint32_t i = 0; i < key_objects(); ++i) {
      objects_.push_back(i < key_indices ? make_object(i, o.seed) : make_key_twin(i).object);
      first_lines_[first_line_of(i)] = i;
    }
    mrc.on<&key_memory::handle_mrc>(this);
    extent.on<&key_memory::handle_extent>(this);
  }
  void change(std::uint32_t number, std::uint64_t seed) { objects_[number] = make_object(number, seed); }
  // Gives an index the bytes of a system run, from then on.
  void set(const item& i) {
    recorded& r = (static_cast<key_item>(i[0] & 0xff) == key_item::set_mrc ? mrcs_ : lines_)[static_cast<std::uint32_t>(i[1])];
    r.failed = i[0] >> 48 & 1;
    r.entries = i[1] >> 32;
    std::memcpy(r.bytes.data(), &i[2], r.bytes.size());
  }
  [[nodiscard]] std::int64_t lent() const { return lent_; }
  std::function<void(std::uint64_t line)> on_access;  // MRCs are even, lines of extents odd

 private:
  struct recorded {
    bool failed = false;
    std::uint64_t entries = 0;
    std::array<std::byte, 64> bytes{};
  };
  struct owned_line {
    std::byte* bytes;
    std::uint32_t of;  // object; 0 = the first object, or none
  };
  static bool answer(std::map<std::uint32_t, recorded>& from, context_request& r) {
    const auto found = from.find(r.index);
    if (found == from.end()) return false;
    r.failed = found->second.failed;
    r.area_entries = found->second.entries;
    r.entry = r.failed ? nullptr : found->second.bytes.data();
    return true;
  }
  struct job {
    key_memory* self;
    context_request* request;
  };
  tlm::tlm_sync_enum handle_mrc(context_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return give_back(r);
    if (on_access) on_access(std::uint64_t{r.index} * 2);
    if (answer(mrcs_, r)) return later(r, t, r.index * 2);
    const std::uint32_t number = number_of(r.index);
    const bool there = number < objects_.size();
    r.failed = !there || (number < key_indices && mrc_fails(number));
    r.area_entries = there ? 1U << 24 : 0;  // an unknown index lies beyond the table
    r.entry = r.failed ? nullptr : reinterpret_cast<std::byte*>(&objects_[number].mrc);
    // Two keys with indices that differ in one bit must meet.
    return later(r, t, r.index * 2, number - key_indices < index_twins);
  }
  tlm::tlm_sync_enum handle_extent(context_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return give_back(r);
    if (on_access) on_access(std::uint64_t{r.index} * 2 + 1);
    if (answer(lines_, r)) return later(r, t, r.index * 2 + 1);
    const owned_line here = line_at(r.index);
    r.failed = line_fails(r.index) && here.of < key_indices;
    r.area_entries = ~std::uint32_t{0};
    r.entry = r.failed ? nullptr : here.bytes;
    return later(r, t, r.index * 2 + 1);
  }
  owned_line line_at(std::uint32_t line) {
    if (const std::uint32_t at = place_of(line); at < objects_.size() * lines_per_key) {
      const std::uint32_t number = at / lines_per_key;
      key_object& o = objects_[number];
      if (o.mrc.kind == HCA_MRC_ADDRESS_SPACE && at % lines_per_key < o.lines.size())
        return {o.lines[at % lines_per_key].data(), number};
    }
    const auto after = first_lines_.upper_bound(line);
    if (after != first_lines_.begin()) {
      const auto [first, number] = *std::prev(after);
      key_object& o = objects_[number];
      const bool tree = o.mrc.kind == HCA_MRC_ADDRESS_SPACE;
      if (tree && line == first && !o.lines.empty()) return {o.lines.back().data(), number};
      if (!tree && line - first < o.lines.size()) return {o.lines[line - first].data(), number};
    }
    return {(made_[next_made_++ % std::size(made_)] = unowned_line(line)).data(), 0};
  }
  // Takes an entry back as a cache does: the request holds this entry.
  tlm::tlm_sync_enum give_back(context_request& r) {
    lent_ -= r.entry != nullptr;
    r.entry = nullptr;
    return tlm::TLM_COMPLETED;
  }
  tlm::tlm_sync_enum later(context_request& r, ps t, std::uint32_t what, bool fast = false) {
    lent_ += r.entry != nullptr;
    const std::uint32_t h = what * 0x9e3779b1U >> 16;
    const unsigned cycles = random_ && !fast && h % 4 == 0 ? 20 + h % 150 : 2;
    job& j = jobs_.get();
    j = {this, &r};
    queue_.at(t + clock_.cycles(cycles), {[](void* context) {
                                            job& done = *static_cast<job*>(context);
                                            context_request& answered = *done.request;
                                            done.self->jobs_.put(done);
                                            target_socket<context_request>::respond(answered, now());
                                          },
                                          &j});
    return tlm::TLM_ACCEPTED;
  }

  const clock_domain clock_;
  const bool random_;
  std::int64_t lent_ = 0;
  std::map<std::uint32_t, recorded> mrcs_, lines_;
  std::vector<key_object> objects_;
  std::map<std::uint32_t, std::uint32_t> first_lines_;  // object
  std::array<line_bytes, 256> made_;
  std::size_t next_made_ = 0;
  pool<job> jobs_;
};

}  // namespace hcasim::lockstep
