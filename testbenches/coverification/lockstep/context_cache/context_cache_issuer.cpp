#include "testbenches/coverification/lockstep/context_cache/context_cache_issuer.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "testbenches/coverification/lockstep/benches.h"
#include "testbenches/coverification/lockstep/context_cache/context_cache_entries.h"

namespace hcasim::lockstep {

context_issuer::context_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o,
                               const clock_domain& clock, comparison& c, side s, std::uint32_t entry_bytes)
    : issuer(name, stream,
             o.how == mode::single ? 1
             : o.storms            ? tags + 1
                                   : 20,
             clock, c, s),
      memory("memory", o, clock, entry_bytes),
      single_(o.how == mode::single),
      random_(o.how == mode::random) {
  known_ = std::none_of(stream.begin(), stream.end(),
                        [](const item& i) { return kind_of(i) == context_item::put || kind_of(i) == context_item::set_read; });
  for (std::uint32_t i = 0; i < 2 * area; ++i) newest_.push_back(context_memory::pattern(i, i));
  find_renewals(stream);
  memory.on_access = [this, &c, s](const dma_request& r) {
    count_access(c, s, r);
    accessed(r);
  };
  // One at a time: earlier evictions have been written, and earlier releases have arrived.
  if (single_) memory.on_quiet = [this] { poke(); };
}

// Finds renewals that change memory. A renewal of an entry that may be dirty would be overwritten by the old bytes.
void context_issuer::find_renewals(const item_stream& stream) {
  std::set<std::uint32_t> dirty;
  for (const item& i : stream) {
    const context_item k = kind_of(i);
    renews_.push_back(k == context_item::renew && known_ && dirty.count(index_of(i)) == 0);
    if (changes(k)) dirty.insert(index_of(i));
    if (k == context_item::replace) dirty.erase(index_of(i));
    if (k == context_item::set_area) dirty.clear();
  }
}

void context_issuer::publish(coverage& c) const {
  for (std::size_t i = 0; i < std::size(names); ++i) c[names[i]] += done_[i];
  c["failed_beyond"] += beyond_;
  c["failed_read"] += failed_;
  c["reads"] += memory.reads;
  c["writes"] += memory.writes;
  c["drop_that_waited"] += waited_;
  if (random_) c["drop_races_with_a_release"] += races_;
  if (random_) c["fetch_races_with_a_change"] += update_races_;
  if (random_) c["update"] += done_[static_cast<std::size_t>(context_item::update)];
  if (random_) c["renew"] += done_[static_cast<std::size_t>(context_item::renew)];
  if (random_) c["behind_another_area"] += behind_area_;
  if (beyond_tags_ > 0) c["beyond_tags"] += beyond_tags_;  // storms
}

context_op context_issuer::op_of(context_item k) {
  return k == context_item::set_area                                                         ? context_op::set_area
         : k == context_item::drop || k == context_item::replace || k == context_item::renew ? context_op::drop
                                                                                             : context_op::fetch;
}

context_issuer::use& context_issuer::use_of(std::uint32_t index) const {
  const std::uint32_t number = number_at(index);
  return number < area ? uses_[number] : other_uses_[index];
}

// An entry changes while no other request has or wants the entry.
bool context_issuer::may_go(const item& i) const {
  if (kind_of(i) == context_item::more) return true;
  if (area_changes_ && busy_ > ahead_ + most_behind_area) return false;
  if (single_ && (memory.under_way() > 0 || now() < quiet_from_)) return false;
  const use& u = use_of(index_of(i));
  switch (kind_of(i)) {
    case context_item::set_area:  // waits for holders of entries, and for drops that wait for the holders
      return !area_changes_ && (!single_ || (busy_ == 0 && held_ == 0));
    case context_item::set_read:
      return busy_ == 0;
    case context_item::put:
    case context_item::write:
    case context_item::replace:
      return u.asked.empty() && u.held == 0;
    case context_item::update:  // one change at a time, so that the result does not depend on the faster one
      return !u.exclusive && u.updating == 0 && u.renewing == 0;
    case context_item::renew:
      return !u.exclusive && u.updating == 0 && u.renewing == 0 && (random_ || !u.races(now()));
    case context_item::drop:  // in random streams a drop may race with a release of its entry
      return random_ || !u.races(now());
    default:
      // One at a time: earlier releases and writes are over, and few entries are held.
      return !u.exclusive && (!single_ || held_ < 3);
  }
}

bool context_issuer::picky(const item& i) const {
  const context_item k = kind_of(i);
  if (k == context_item::more) return false;
  if (single_ || area_changes_ || k == context_item::set_area || k == context_item::set_read) return true;
  // Only events of the item's own entry count. Events of other entries would hold one side back while the other goes on.
  const use& u = use_of(index_of(i));
  return (k == context_item::fetch || k == context_item::drop ? u.lifted_at : u.changed_at) == now();
}

context_issuer::flight& context_issuer::new_flight(std::uint64_t number, const item& i) {
  flight& r = flights_.get();
  r.self = this;
  r.number = number;
  r.kind = kind_of(i);
  r.hold = static_cast<std::uint32_t>(i[0] >> 24 & 0xffff);
  r.value = i[2];
  r.tries_again = (i[0] & tries_again) != 0;
  r.older.clear();
  if (r.kind == context_item::put) r.bytes = given_by(i);
  r.op = op_of(r.kind);
  r.index = index_of(i);
  r.failed = r.dirty = false;
  r.entry = nullptr;
  r.waiter = {};
  r.context = &r;
  r.on_response = [](void* context, transaction&, ps t) {
    flight& done = *static_cast<flight*>(context);
    done.self->came(done, t);
  };
  return r;
}

bool context_issuer::go(std::uint64_t number, const item& i) {
  if (kind_of(i) == context_item::more) {
    const std::size_t line = i[0] >> 48 & 0xff;
    if (line < more_.size() / item_bytes) std::memcpy(&more_[line * item_bytes], &i[2], item_bytes);
    return false;
  }
  if (kind_of(i) == context_item::set_read) {
    memory.set(i[1], i[0] >> 48 & 1, given_by(i));
    return false;
  }
  flight& r = new_flight(number, i);
  if (r.kind == context_item::set_area) {
    r.area_base = base_ = i[3];
    r.area_entries = entries_ = i[1];
    begin_area(i[2], i[3]);
    area_number_ = number;
    area_changes_ = true;
    ahead_ = busy_;
  } else {
    r.area_entries = 0;
    behind_area_ += area_changes_;
  }
  r.half = half_;
  r.base = base_;
  r.entries = entries_;
  use& u = use_of(r.index);
  r.race = (r.op == context_op::drop && r.kind != context_item::replace && u.races(now())) ||
           (r.op == context_op::fetch && u.updating > 0);
  if (changes(r.kind)) u.changes_last = number;
  u.updating += r.kind == context_item::update;
  u.renewing += r.kind == context_item::renew;
  if (renews_[number]) renew(r, u);
  r.after = u.given_back + u.held;
  u.asked.push_back(&r);
  u.exclusive |= alone(r.kind);
  ++busy_;
  beyond_tags_ += busy_ > tags;
  ps t = now();
  if (out.send(r, t) == tlm::TLM_COMPLETED) came(r, t);
  return true;
}

void context_issuer::came(flight& r, ps t) {
  use& u = use_of(r.index);
  u.changed_at = now();
  std::erase(u.asked, &r);
  --busy_;
  ++done_[static_cast<std::size_t>(r.kind == context_item::put ? context_item::write : r.kind)];
  answered_last_ = r.number;
  if (area_changes_ && r.number < area_number_) --ahead_;
  judge(r, u);
  comparison::answer a{};
  a[0] = r.failed;
  const bool got = r.op == context_op::fetch && !r.failed;
  if (got) {
    context_entries::mix(a, r.entry, memory.entry_bytes());
    if (on_entry) on_entry(r.number, r.entry);
  } else if (r.op == context_op::fetch) {
    a[1] = r.area_entries;
    ++(r.index >= r.entries ? beyond_ : failed_);
  }
  r.race |= r.op == context_op::fetch &&
            (u.updating > (r.kind == context_item::update ? 1U : 0U) || u.updated_at >= offered(r.number));
  (r.op == context_op::fetch ? update_races_ : races_) += r.race;
  if (r.op == context_op::drop) waited_ += t - offered(r.number) > clock().cycles(2);
  if (r.kind == context_item::replace) change(r, r.value);
  if (r.kind == context_item::set_area) area_changes_ = false;
  u.renewing -= r.kind == context_item::renew;
  if (got) {
    hold(r, u, t);
  } else {
    if (alone(r.kind)) lift(u);
    u.updating -= r.kind == context_item::update;
    retire(r);
  }
  answered(r.number, a, r.race, r.tries_again);
}

void context_issuer::hold(flight& r, use& u, ps t) {
  ++u.held;
  u.leaving.push_back(t + clock().cycles(r.hold));
  ++held_;
  r.let_go_at = t + clock().cycles(r.hold);
  queue_.at(r.let_go_at,
            {[](void* context) { static_cast<flight*>(context)->self->let_go(*static_cast<flight*>(context)); }, &r});
}

// Returns the entry of a put or set_read.
entry_data context_issuer::given_by(const item& i) const {
  entry_data bytes = more_;
  std::memcpy(bytes.data(), &i[2], item_bytes);
  return bytes;
}

// Gives the new area other bytes, which no request reads or writes before the change is done. Dirty entries of the old area are
// lost, and earlier evictions decide which entries were dirty.
void context_issuer::begin_area(std::uint64_t value, std::uint64_t base) {
  half_ ^= 1;
  memory.move(base, entries_, half_);
  for (std::uint32_t n = 0; n < area; ++n) {
    memory.change(half_ * area + n, value);
    newest_[half_ * area + n] = context_memory::pattern(half_ * area + n, value);
  }
}

std::uint64_t context_issuer::newest(const flight& r) const {
  if (const std::uint32_t n = number_at(r.index); n < area) return newest_[r.half * area + n];
  const std::uint64_t address = r.base + std::uint64_t{r.index} * memory.entry_bytes();
  const auto found = newest_of_others_.find(address);
  return found == newest_of_others_.end() ? context_memory::first_value(address) : found->second;
}

void context_issuer::leave(const flight& r, std::uint64_t filled_with) {
  if (const std::uint32_t n = number_at(r.index); n < area) {
    newest_[r.half * area + n] = filled_with;
  } else {
    newest_of_others_[r.base + std::uint64_t{r.index} * memory.entry_bytes()] = filled_with;
  }
}

// Changes an entry in memory.
void context_issuer::change(const flight& r, std::uint64_t value) {
  if (r.index >= r.entries) return;
  const std::uint32_t n = number_at(r.index);
  if (n < area) {
    memory.change(r.half * area + n, value);
    leave(r, context_memory::pattern(r.half * area + n, value));
  } else {
    memory.change_other(r.base + std::uint64_t{r.index} * memory.entry_bytes(), value);
    leave(r, value);
  }
}

// Requests under way may get the old or the new entry. Requests after the drop must not get the old one.
void context_issuer::renew(const flight& r, use& u) {
  for (flight* f : u.asked) {
    if (f->op != context_op::fetch) continue;
    f->older.push_back(newest(r));
    f->race = true;
  }
  change(r, r.value);
}

bool context_issuer::is_right(const flight& r) const {
  return memory.is_filled(r.entry, newest(r)) ||
         std::any_of(r.older.begin(), r.older.end(), [&](std::uint64_t before) { return memory.is_filled(r.entry, before); });
}

bool context_issuer::in_memory(const flight& r) {
  if (const std::uint32_t n = number_at(r.index); n < area) return memory.holds(r.half * area + n, newest(r));
  return memory.other_holds(r.base + std::uint64_t{r.index} * memory.entry_bytes(), newest(r));
}

// Judges an answer. An entry must be as its last holder or renewal left it, and in memory, too, once its drop is answered. A
// drop waits until its entry is given back, and another area until all entries are. A fetch waits for drops before it.
void context_issuer::judge(const flight& r, const use& u) {
  if (area_changes_ && r.number > area_number_) wrong("answered before the change to its area", r.number);
  if (r.kind == context_item::set_area) {
    if (held_ > 0 || ahead_ > 0) wrong("answered while the entry that it waits for is held", r.number);
    if (memory.any_of_another_area()) wrong("another area while entries of the old area are on their way", r.number);
    return;
  }
  if (r.op == context_op::drop && u.given_back < r.after) wrong("answered while the entry that it waits for is held", r.number);
  if (!known_ || r.index >= r.entries) return;
  if (r.op == context_op::fetch && !r.failed && !is_right(r)) {
    entry_data left;
    memory.fill(left.data(), newest(r));
    wrong("an entry differs from its last content: " + fields_unlike(r.entry, left.data(), memory.entry_bytes()), r.number);
  }
  const auto is_drop_before = [&r](const flight* f) { return f->op == context_op::drop && f->number < r.number; };
  if (r.op == context_op::fetch && std::any_of(u.asked.begin(), u.asked.end(), is_drop_before))
    wrong("an entry is answered before the drop that came first", r.number);
  if (r.op == context_op::drop && u.changes_last < r.number && !in_memory(r))
    wrong("a drop is answered before its entry is in memory", r.number);
}

void context_issuer::let_go(flight& r) {
  use& u = use_of(r.index);
  u.changed_at = now();
  if (changes(r.kind)) {
    const std::uint64_t pattern = context_memory::pattern(r.index, r.value);
    if (r.kind == context_item::put) {
      std::memcpy(r.entry, r.bytes.data(), memory.entry_bytes());
    } else {
      memory.fill(r.entry, pattern);
    }
    leave(r, pattern);
    r.dirty = true;
  }
  if (alone(r.kind)) lift(u);
  if (r.kind == context_item::update) {
    --u.updating;
    u.updated_at = now();
  }
  --u.held;
  ++u.given_back;
  u.last_given = now();
  u.leaving.erase(std::find(u.leaving.begin(), u.leaving.end(), r.let_go_at));
  --held_;
  out.release(r);
  retire(r);
  if (single_) {  // the release has arrived by then
    quiet_from_ = now() + clock().cycles(2);
    queue_.at(quiet_from_, {[](void* self) { static_cast<context_issuer*>(self)->poke(); }, this});
  }
  poke();
}

// The payload may still be on its way through a stalled stream.
void context_issuer::retire(flight& r) {
  resting_.push_back(&r);
  if (resting_.size() > 256) {
    flights_.put(*resting_.front());
    resting_.pop_front();
  }
}

}  // namespace hcasim::lockstep
