// Offers the items of a context cache's stream to one side, holds and changes entries, and is the scoreboard of their content.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "testbenches/coverification/lockstep/context_cache/context_cache_memory.h"
#include "testbenches/coverification/lockstep/context_cache/context_cache_stimulus.h"
#include "testbenches/coverification/lockstep/issuer.h"
#include "tlm/base/pool.h"
#include "tlm/context.h"

namespace hcasim::lockstep {

class context_issuer : public issuer {
 public:
  initiator_socket<context_request> out{"out"};
  context_memory memory;
  // Called with the entry that answers an item.
  std::function<void(std::uint64_t number, const std::byte* entry)> on_entry;

  context_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
                 comparison& c, side s, std::uint32_t entry_bytes);

  void publish(coverage& c) const;
  static constexpr const char* names[] = {"fetch", "write", "drop", "replace", "set_area"};

 private:
  struct flight : context_request {
    context_issuer* self = nullptr;
    std::uint64_t number = 0;
    std::uint32_t hold = 0;
    context_item kind = context_item::fetch;
    std::uint64_t value = 0;
    entry_data bytes{};  // of a put
    ps let_go_at{0};
    bool race = false;
    bool tries_again = false;
    std::uint32_t half = 0;            // half of memory that holds the area
    std::uint64_t base = 0;            // of the area
    std::uint64_t entries = 0;         // of the area
    std::uint64_t after = 0;           // releases of the entry that must come before the answer to this drop
    std::vector<std::uint64_t> older;  // earlier contents, before renewals during this request
  };
  // The use of an index, with or without an entry.
  struct use {
    std::vector<flight*> asked;  // not answered
    std::uint32_t held = 0;
    std::uint64_t given_back = 0;
    std::uint32_t updating = 0;  // updates asked for or held
    std::uint32_t renewing = 0;
    ps updated_at{-1};
    std::uint64_t changes_last = 0;  // last item that asked for a change of the entry
    bool exclusive = false;
    ps lifted_at{-1};
    ps changed_at{-1};  // end of the last request or loan
    ps last_given{-1};
    std::vector<ps> leaving;  // times at which holders give the entry back
    [[nodiscard]] bool races(ps t) const {
      return last_given == t || std::find(leaving.begin(), leaving.end(), t) != leaving.end();
    }
  };

  static context_item kind_of(const item& i) { return static_cast<context_item>(i[0] & 0xff); }
  static bool changes(context_item k) {
    return k == context_item::write || k == context_item::put || k == context_item::update;
  }
  static bool alone(context_item k) { return k == context_item::write || k == context_item::put || k == context_item::replace; }
  static context_op op_of(context_item k);
  static std::uint32_t index_of(const item& i) { return static_cast<std::uint32_t>(i[1]); }
  static void lift(use& u) {
    if (u.exclusive) u.lifted_at = now();
    u.exclusive = false;
  }

  [[nodiscard]] unsigned gap_of(const item& i) const override { return i[0] >> 8 & 0xffff; }
  [[nodiscard]] bool may_go(const item& i) const override;
  [[nodiscard]] bool picky(const item& i) const override;
  bool go(std::uint64_t number, const item& i) override;
  flight& new_flight(std::uint64_t number, const item& i);
  void came(flight& r, ps t);
  void hold(flight& r, use& u, ps t);
  void let_go(flight& r);
  void retire(flight& r);
  [[nodiscard]] entry_data given_by(const item& i) const;

  void find_renewals(const item_stream& stream);
  void renew(const flight& r, use& u);
  void begin_area(std::uint64_t value, std::uint64_t base);
  void change(const flight& r, std::uint64_t value);
  // Returns the content that a request must get now.
  [[nodiscard]] std::uint64_t newest(const flight& r) const;
  void leave(const flight& r, std::uint64_t filled_with);
  [[nodiscard]] bool is_right(const flight& r) const;
  [[nodiscard]] bool in_memory(const flight& r);
  void judge(const flight& r, const use& u);
  void wrong(const std::string& what, std::uint64_t number) const {
    shared().problem((is_rtl() ? "rtl: " : "model: ") + what, number);
  }
  [[nodiscard]] use& use_of(std::uint32_t index) const;
  // Checks that an access to memory goes to an entry of the area.
  void accessed(const dma_request& d) const {
    if (known_ && !area_changes_ && !memory.in_area(d.address)) wrong("memory is accessed beyond the area", answered_last_);
  }

  static constexpr unsigned tags = 32;             // of the RTL
  static constexpr unsigned most_behind_area = 1;  // these wait as long as the change of the area
  const bool single_;
  const bool random_;
  std::uint64_t races_ = 0, update_races_ = 0, beyond_tags_ = 0, behind_area_ = 0;
  bool known_ = false;                                                 // entries have the bytes of their values
  std::vector<bool> renews_;                                           // items that change memory
  std::vector<std::uint64_t> newest_;                                  // of each entry of memory that has a number
  std::unordered_map<std::uint64_t, std::uint64_t> newest_of_others_;  // by address; looked up only, as is the next
  mutable std::unordered_map<std::uint32_t, use> other_uses_;
  mutable std::vector<use> uses_ = std::vector<use>(area);
  entry_data more_{};
  pool<flight> flights_;
  std::deque<flight*> resting_;
  std::uint32_t busy_ = 0;
  std::uint32_t held_ = 0;
  std::uint32_t half_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t entries_ = 0;
  bool area_changes_ = false;
  std::uint64_t area_number_ = 0;
  std::uint32_t ahead_ = 0;  // of it, and not answered
  std::uint64_t answered_last_ = 0;
  ps quiet_from_{0};
  std::uint64_t done_[10] = {}, beyond_ = 0, failed_ = 0, waited_ = 0;
};

}  // namespace hcasim::lockstep
