// Memory of one side of a context cache's lockstep.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>
#include <vector>

#include "testbenches/coverification/lockstep/context_cache/context_cache_stimulus.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/pool.h"
#include "tlm/base/unit.h"
#include "tlm/dma.h"

namespace hcasim::lockstep {

// The bytes of two areas at any addresses, and of any other entry.
class context_memory : public unit {
 public:
  target_socket<dma_request> in{"in"};
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  context_memory(const sc_core::sc_module_name& name, const options& o, const clock_domain& clock, std::uint32_t entry_bytes)
      : unit(name),
        random_(o.how == mode::random),
        clock_(clock),
        entry_bytes_(entry_bytes),
        bytes_(std::size_t{2} * area * entry_bytes) {
    for (std::uint32_t i = 0; i < 2 * area; ++i) change(i, i);
    in.on<&context_memory::handle>(this);
  }
  // Returns the seed of an entry's bytes, from its number and its last value.
  static std::uint64_t pattern(std::uint32_t entry, std::uint64_t value) {
    return std::uint64_t{entry} << 40 ^ value * 0x9e3779b97f4a7c15U;
  }
  void move(std::uint64_t base, std::uint64_t entries, std::uint32_t half) {
    areas_[1] = areas_[0];
    areas_[0] = {base, entries, half};
  }
  [[nodiscard]] bool in_area(std::uint64_t address) const {
    const std::uint64_t offset = address - areas_[0].base;
    return offset % entry_bytes_ == 0 && offset / entry_bytes_ < areas_[0].entries;
  }
  // Returns the number of reads and writes under way. `on_quiet` is called when none is left.
  [[nodiscard]] std::size_t under_way() const { return under_way_.size(); }
  [[nodiscard]] bool any_of_another_area() const {
    return std::any_of(under_way_.begin(), under_way_.end(), [this](std::uint64_t at) { return !in_area(at); });
  }
  std::function<void(const dma_request&)> on_access;
  std::function<void()> on_quiet;
  void set(std::uint64_t address, bool failed, const entry_data& bytes) { recorded_[address] = {failed, bytes}; }
  void change(std::uint32_t entry, std::uint64_t value) {
    fill(&bytes_[std::size_t{entry} * entry_bytes_], pattern(entry, value));
  }
  [[nodiscard]] bool holds(std::uint32_t entry, std::uint64_t filled_with) const {
    return is_filled(&bytes_[std::size_t{entry} * entry_bytes_], filled_with);
  }
  // Returns the first content of an entry without a number, by its address.
  static std::uint64_t first_value(std::uint64_t address) { return address * 0x9e3779b97f4a7c15U; }
  void change_other(std::uint64_t address, std::uint64_t filled_with) { fill(other(address).data(), filled_with); }
  [[nodiscard]] bool other_holds(std::uint64_t address, std::uint64_t filled_with) {
    return is_filled(other(address).data(), filled_with);
  }
  void fill(std::byte* to, std::uint64_t v) const {
    for (unsigned i = 0; i < entry_bytes_; i += 8, v = v * 6364136223846793005U + 1) std::memcpy(to + i, &v, 8);
  }
  [[nodiscard]] bool is_filled(const std::byte* at, std::uint64_t v) const {
    entry_data expected;
    fill(expected.data(), v);
    return std::memcmp(at, expected.data(), entry_bytes_) == 0;
  }
  [[nodiscard]] std::uint32_t entry_bytes() const { return entry_bytes_; }

 private:
  struct job {
    context_memory* self;
    dma_request* request;
  };
  struct recorded {
    bool failed = false;
    entry_data bytes{};
  };
  struct place {
    std::uint64_t base = 0;
    std::uint64_t entries = 0;
    std::uint32_t half = 0;
  };
  // Finds the bytes at an address, in the present area or in the one before: writes there may still be under way.
  std::byte* find(std::uint64_t address, bool write, bool& failed) {
    if (!recorded_.empty()) {
      recorded& r = recorded_[address];
      failed = !write && r.failed;
      return r.bytes.data();
    }
    for (const place& a : areas_) {
      const std::uint64_t offset = address - a.base;
      if (offset % entry_bytes_ != 0 || offset / entry_bytes_ > ~std::uint32_t{0}) continue;
      const std::uint32_t number = number_at(static_cast<std::uint32_t>(offset / entry_bytes_));
      if (number >= area) continue;
      failed = !write && read_fails(number);
      return &bytes_[(std::size_t{a.half} * area + number) * entry_bytes_];
    }
    return other(address).data();
  }
  entry_data& other(std::uint64_t address) {
    const auto [found, made] = others_.try_emplace(address);
    if (made) fill(found->second.data(), first_value(address));
    return found->second;
  }
  tlm::tlm_sync_enum handle(dma_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    if (on_access) on_access(r);
    const unsigned cycles = random_ ? memory_cycles(r.address) : 20;
    bool failed = false;
    std::byte* const at = find(r.address, r.op == dma_op::write, failed);
    r.failed = failed || r.bytes != entry_bytes_;
    if (r.op == dma_op::write) {
      ++writes;
    } else {
      ++reads;
      if (!r.failed) std::memcpy(r.data, at, entry_bytes_);
    }
    under_way_.push_back(r.address);
    job& j = jobs_.get();
    j = {this, &r};
    queue_.at(t + clock_.cycles(cycles),
              {[](void* context) {
                 job& done = *static_cast<job*>(context);
                 dma_request& answered = *done.request;
                 context_memory& self = *done.self;
                 self.jobs_.put(done);
                 if (answered.op == dma_op::write && !answered.failed) {
                   bool none = false;
                   std::memcpy(self.find(answered.address, true, none), answered.data,
                               self.entry_bytes_);  // lands at its end
                 }
                 self.under_way_.erase(std::find(self.under_way_.begin(), self.under_way_.end(), answered.address));
                 target_socket<dma_request>::respond(answered, now());
                 if (self.under_way_.empty() && self.on_quiet) self.on_quiet();
               },
               &j});
    return tlm::TLM_ACCEPTED;
  }

  const bool random_;
  const clock_domain clock_;
  const std::uint32_t entry_bytes_;
  std::vector<std::uint64_t> under_way_;  // their addresses
  std::vector<std::byte> bytes_;
  place areas_[2];
  std::unordered_map<std::uint64_t, recorded> recorded_;  // looked up only, as is the next
  std::unordered_map<std::uint64_t, entry_data> others_;
  pool<job> jobs_;
};

}  // namespace hcasim::lockstep
