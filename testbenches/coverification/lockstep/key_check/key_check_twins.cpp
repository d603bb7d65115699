#include "testbenches/coverification/lockstep/key_check/key_check_twins.h"

#include <bit>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "firmware/abi/access.h"

namespace hcasim::lockstep {
namespace {

constexpr std::uint64_t all_ones = ~std::uint64_t{0};
constexpr std::uint64_t some_start = 0x5a3c'69f0'96a5'c37eU;

// Sets up a region and an access with its grant.
void region(key_twin& t) {
  hca_mrc& m = t.object.mrc;
  m.kind = HCA_MRC_REGION;
  m.state = HCA_MRC_VALID;
  m.key_byte = 0xa5;
  m.page_shift = 12;
  m.levels = 2;
  m.function = 0x5a96;
  m.access = HCA_ACCESS_REMOTE_READ;
  m.pd = 0x5a3c69f0;
  m.qpn = 0xc35a96;
  m.start = some_start;
  m.length = 0x1000;
  m.table = 0x3c5a'f069'a596'7ec0U;
  m.table_va = some_start;
  m.extent = first_line_of(t.number) * HCA_EXTENTS_PER_LINE;
  t.ask.key = index_of(t.number) << 8 | m.key_byte;
  t.ask.remote = true;
  t.ask.rights = HCA_ACCESS_REMOTE_READ;
  t.ask.function = m.function;
  t.ask.pd = m.pd;
  t.ask.qpn = m.qpn;
  t.ask.va = m.start;
  t.ask.length = 1;
}
void differs_in_pd(key_twin& t, std::uint64_t flip) {
  region(t);
  t.ask.pd ^= static_cast<std::uint32_t>(flip);
}
void differs_in_owner(key_twin& t, std::uint64_t flip) {
  region(t);
  t.ask.function ^= static_cast<std::uint16_t>(flip);
}
void differs_in_key_byte(key_twin& t, std::uint64_t flip) {
  region(t);
  t.ask.key ^= static_cast<std::uint32_t>(flip);
}
void asks_for_a_right(key_twin& t, std::uint64_t flip) {
  region(t);
  t.object.mrc.access = ~std::uint32_t{0};
  t.ask.rights = static_cast<std::uint32_t>(flip);
}
void lacks_a_right(key_twin& t, std::uint64_t flip) {
  asks_for_a_right(t, flip);
  t.object.mrc.access ^= static_cast<std::uint32_t>(flip);
}
void begins_before(key_twin& t, std::uint64_t flip) {
  region(t);
  t.object.mrc.start |= flip;
  t.object.mrc.length = all_ones;
  t.ask.va = t.object.mrc.start ^ flip;
  t.ask.length = 0;
}
void is_longer(key_twin& t, std::uint64_t flip) {
  region(t);
  t.object.mrc.length = 0;
  t.ask.length = flip;
}
void ends_behind(key_twin& t, std::uint64_t flip) {
  region(t);
  t.object.mrc.start &= ~flip;
  t.object.mrc.length = 1;
  t.ask.va = t.object.mrc.start ^ flip;
}
// A context differs in a bit of kind, state, key byte, page shift, levels, flags or owner.
void context_differs(key_twin& t, std::uint64_t flip) {
  region(t);
  std::uint64_t first = 0;
  std::memcpy(&first, &t.object.mrc, sizeof first);
  first ^= flip;
  std::memcpy(static_cast<void*>(&t.object.mrc), &first, sizeof first);
}
void page_shift_differs(key_twin& t, std::uint64_t flip) {
  region(t);
  constexpr std::uint8_t shifts[] = {12, 16, 21, 30};
  for (unsigned i = 0; i < std::size(shifts); ++i) {
    if (const auto bit = static_cast<std::uint8_t>(flip >> 8 * i); bit != 0)
      t.object.mrc.page_shift = static_cast<std::uint8_t>(shifts[i] ^ bit);
  }
}

// ---- windows
constexpr std::uint32_t plain_home = 0, high_home = 1, empty_home = 2;
void bound_region(key_twin& t, std::uint64_t flip) {
  region(t);
  if (flip == 1U << high_home) t.object.mrc.start = t.object.mrc.length = all_ones;
  if (flip == 1U << empty_home) t.object.mrc.length = 0;
}
std::uint32_t number_of_home(std::uint32_t n);
void window(key_twin& t, std::uint32_t of) {
  region(t);
  t.object.mrc.kind = HCA_MRC_WINDOW_1;
  t.object.mrc.parent = index_of(number_of_home(of)) << 8 | t.object.mrc.key_byte;
}
void window_of_qp(key_twin& t) {
  window(t, plain_home);
  t.object.mrc.kind = HCA_MRC_WINDOW_2;
  t.object.mrc.extent = t.ask.generation = 0x96a53c5a;
}
void window_differs_in_qpn(key_twin& t, std::uint64_t flip) {
  window_of_qp(t);
  t.ask.qpn ^= static_cast<std::uint32_t>(flip);
}
void window_differs_in_pd(key_twin& t, std::uint64_t flip) {
  window_of_qp(t);
  t.ask.pd ^= static_cast<std::uint32_t>(flip);
}
void window_differs_in_generation(key_twin& t, std::uint64_t flip) {
  window_of_qp(t);
  t.ask.generation ^= static_cast<std::uint32_t>(flip);
}
void home_differs_in_key_byte(key_twin& t, std::uint64_t flip) {
  window(t, plain_home);
  t.object.mrc.parent ^= static_cast<std::uint32_t>(flip);
}
void home_differs_in_owner(key_twin& t, std::uint64_t flip) {
  window(t, plain_home);
  t.ask.function = t.object.mrc.function ^= static_cast<std::uint16_t>(flip);
}
void home_differs_in_pd(key_twin& t, std::uint64_t flip) {
  window(t, plain_home);
  t.ask.pd = t.object.mrc.pd ^= static_cast<std::uint32_t>(flip);
}
void begins_before_home(key_twin& t, std::uint64_t flip) {
  window(t, high_home);
  t.ask.va = t.object.mrc.start = all_ones ^ flip;
  t.ask.length = t.object.mrc.length = 0;
}
void is_longer_than_home(key_twin& t, std::uint64_t flip) {
  window(t, empty_home);
  t.object.mrc.length = flip;
  t.ask.length = 0;
}
void ends_behind_home(key_twin& t, std::uint64_t flip) {
  window(t, empty_home);
  t.ask.va = t.object.mrc.start += flip;
  t.ask.length = t.object.mrc.length = 0;
}

// ---- indirect regions
void pieces(key_twin& t, std::uint32_t count, std::uint32_t first_length) {
  region(t);
  hca_mrc& m = t.object.mrc;
  m.kind = HCA_MRC_INDIRECT;
  m.length = all_ones;
  m.extent_count = count;
  t.ask.kind = key_item::element;
  t.object.lines.resize(2);
  for (std::uint32_t i = 0; i < 2 * HCA_EXTENTS_PER_LINE; ++i) {
    const hca_element e{some_start + i * std::uint64_t{0x10000}, 0x3c5a00 + i, i == 0 ? first_length : 1};
    std::memcpy(&t.object.lines[i / HCA_EXTENTS_PER_LINE][i % HCA_EXTENTS_PER_LINE * sizeof e], &e, sizeof e);
  }
}
void piece_differs_in_key_byte(key_twin& t, std::uint64_t flip) {
  pieces(t, 4, 1);
  t.ask.key ^= static_cast<std::uint32_t>(flip);
}
// A list's length, the length of its first piece and their number have one bit each.
void pieces_have_one_bit(key_twin& t, std::uint64_t flip) {
  const std::uint32_t bit = std::uint32_t{1} << std::countr_zero(flip) % 32;
  pieces(t, bit, bit);
  t.object.mrc.length = flip;
}
void lies_behind_the_pieces(key_twin& t, std::uint64_t flip) {
  pieces(t, 4, 1);
  t.ask.va += flip;
}
void pieces_of_two_lines(key_twin& t, std::uint64_t flip) {
  pieces(t, static_cast<std::uint32_t>(flip), 1);
  t.ask.va += HCA_EXTENTS_PER_LINE;
}
void pieces_behind_a_line(key_twin& t, std::uint64_t flip) {
  pieces(t, HCA_EXTENTS_PER_LINE + static_cast<std::uint32_t>(flip), 1);
  t.ask.va += HCA_EXTENTS_PER_LINE;
}

// ---- address spaces
void space(key_twin& t) {
  region(t);
  t.object.mrc.kind = HCA_MRC_ADDRESS_SPACE;
}
void space_differs_in_pd(key_twin& t, std::uint64_t flip) {
  space(t);
  t.ask.pd ^= static_cast<std::uint32_t>(flip);
}
void space_differs_in_qpn(key_twin& t, std::uint64_t flip) {
  space(t);
  t.ask.qpn ^= static_cast<std::uint32_t>(flip);
}
void space_is_of_nearly_any_qpn(key_twin& t, std::uint64_t flip) {
  space(t);
  t.object.mrc.qpn = HCA_QPN_ANY ^ static_cast<std::uint32_t>(flip);
}
// Adds a line of extents. The tree's root is the last line.
void tree(key_twin& t, std::initializer_list<hca_extent> extents) {
  if (t.object.lines.empty()) {
    space(t);
    t.object.mrc.start = t.object.mrc.table_va = t.ask.va = 0;
    t.object.mrc.length = all_ones;
  }
  ++t.object.mrc.extent_count;
  std::memcpy(t.object.lines.emplace_back().data(), std::data(extents), extents.size() * sizeof(hca_extent));
}
void lies_behind_the_extent(key_twin& t, std::uint64_t flip) {
  tree(t, {{0, 1}});
  t.ask.va = flip;
  t.ask.length = 0;
}
void is_longer_than_the_extent(key_twin& t, std::uint64_t flip) {
  tree(t, {{0, 1}});
  t.ask.length = flip;
}
void extent_has_one_bit(key_twin& t, std::uint64_t flip) {
  tree(t, {{0, flip}});
}
void extent_begins_behind(key_twin& t, std::uint64_t flip) {
  tree(t, {{0, 1}, {1 | flip, 1}});
}
void empty_extent_begins(key_twin& t, std::uint64_t flip) {
  tree(t, {{0, 1}, {flip, 0}});
}
// Makes a node above two lines of an extent each. Its last three children belong to no object.
void tree_of_two(key_twin& t, std::uint64_t first, std::uint64_t second, hca_extent low, hca_extent high) {
  tree(t, {low});
  tree(t, {high});
  hca_extent_node n{};
  for (std::uint64_t& s : n.start) s = HCA_EXTENT_NONE;
  n.start[0] = first;
  n.start[1] = second;
  const std::uint32_t below = tree_line_of(t.number, 0);
  n.child[0] = first == 0 ? 0 : below;
  n.child[1] = below;
  n.child[2] = tree_line_of(t.number, 1);
  std::memcpy(t.object.lines.emplace_back().data(), &n, sizeof n);
}
void children_differ(key_twin& t, std::uint64_t flip) {
  tree_of_two(t, 0, flip, {0, 1}, {flip, 1});
}
void child_is_nearly_none(key_twin& t, std::uint64_t flip) {
  const std::uint64_t last = HCA_EXTENT_NONE ^ flip;
  tree_of_two(t, 0, last, {0, 1}, {last, 1});
  t.ask.va = last;
  t.ask.length = 0;
}
void first_child_is_nearly_none(key_twin& t, std::uint64_t flip) {
  tree_of_two(t, HCA_EXTENT_NONE ^ flip, HCA_EXTENT_NONE, {0, 1}, {});
}
// Every level is the same line, which is read as a node and at last as extents: [0, 5), [10, 21) and two beyond. With too many
// levels the second one is damaged, so that no search goes on for ever.
void levels_have_one_bit(key_twin& t, std::uint64_t flip) {
  tree(t, {{0, 1}});
  const std::uint32_t here = first_line_of(t.number);
  const std::uint32_t next = flip <= 64 ? here : tree_line_of(t.number, 1);
  const hca_extent_node n{{0, 5, 10, 11, 30}, {0, next, next, next + 1, 1, 0}};
  std::memcpy(t.object.lines.back().data(), &n, sizeof n);
  t.object.mrc.extent_count = static_cast<std::uint32_t>(flip);
  t.ask.va = 7;
}

void one_of_two_indices(key_twin& t, std::uint64_t /*flip*/) {
  region(t);
}

struct family {
  void (*make)(key_twin&, std::uint64_t flip);
  unsigned bits;
};
constexpr family families[] = {{one_of_two_indices, index_twins},
                               {bound_region, 3},
                               {differs_in_pd, 32},
                               {differs_in_owner, 16},
                               {differs_in_key_byte, 8},
                               {asks_for_a_right, 32},
                               {lacks_a_right, 32},
                               {begins_before, 64},
                               {is_longer, 64},
                               {ends_behind, 64},
                               {context_differs, 64},
                               {page_shift_differs, 32},
                               {window_differs_in_qpn, 32},
                               {window_differs_in_pd, 32},
                               {window_differs_in_generation, 32},
                               {home_differs_in_key_byte, 8},
                               {home_differs_in_owner, 16},
                               {home_differs_in_pd, 32},
                               {begins_before_home, 64},
                               {is_longer_than_home, 64},
                               {ends_behind_home, 64},
                               {piece_differs_in_key_byte, 8},
                               {pieces_have_one_bit, 64},
                               {lies_behind_the_pieces, 64},
                               {pieces_of_two_lines, 32},
                               {pieces_behind_a_line, 32},
                               {space_differs_in_pd, 32},
                               {space_differs_in_qpn, 32},
                               {space_is_of_nearly_any_qpn, 32},
                               {lies_behind_the_extent, 64},
                               {is_longer_than_the_extent, 64},
                               {extent_has_one_bit, 64},
                               {extent_begins_behind, 64},
                               {empty_extent_begins, 64},
                               {children_differ, 64},
                               {child_is_nearly_none, 64},
                               {first_child_is_nearly_none, 64},
                               {levels_have_one_bit, 32}};
constexpr std::uint32_t first_of(std::size_t family) {
  std::uint32_t n = key_indices;
  for (std::size_t i = 0; i < family; ++i) n += families[i].bits;
  return n;
}
std::uint32_t number_of_home(std::uint32_t n) {
  return first_of(1) + n;
}
constexpr std::uint32_t all_objects = first_of(std::size(families));

// The highest bit comes first, then the highest of the lower half, then the bits between. A comparison of too few bits usually
// leaves out one of the first.
constexpr unsigned bit_of(std::uint32_t turn) {
  unsigned bit = 0;
  for (unsigned i = 0; i < 6; ++i) bit |= (turn >> i & 1) << (5 - i);
  return 63 - bit;
}

}  // namespace

std::uint32_t key_objects() {
  return all_objects;
}

key_twin make_key_twin(std::uint32_t number) {
  key_twin t;
  t.number = number;
  std::uint32_t bit = number - key_indices;
  const family* f = families;
  for (; bit >= f->bits; ++f) bit -= f->bits;
  f->make(t, std::uint64_t{1} << bit % 64);
  return t;
}

void key_twins::next(std::deque<item>& to, random_stream& r) {
  if (r.chance(0.15)) return next_of_indices(to, r);
  constexpr std::size_t first = 2;
  std::size_t f = 0;
  unsigned bit = 0;
  do {
    f = first + turn_ % (std::size(families) - first);
    bit = bit_of(static_cast<std::uint32_t>(turn_ / (std::size(families) - first)) % 64);
    ++turn_;
  } while (bit >= families[f].bits);
  key_fields ask = make_key_twin(first_of(f) + bit).ask;
  ask.hold = static_cast<std::uint16_t>(r.below(30));
  to.push_back(pack(ask));
}

void key_twins::next_of_epochs(std::deque<item>& to, random_stream& r) {
  // Long streams have the high bits once, before the others.
  const std::uint32_t high = requests_ >= 50'000 ? 4 : requests_ >= 20'000 ? 2 : 0;
  const unsigned bit = epoch_turn_ < high ? 9 + (epoch_turn_ + 1) % high : 8 - (epoch_turn_ - high) % 9;
  ++epoch_turn_;
  key_fields f = make_key_twin(key_indices + epoch_turn_ % 24).ask;
  f.hold = static_cast<std::uint16_t>(200 + (3U << bit));
  to.push_back(pack(f));
  const std::uint32_t key = f.key;
  f.kind = key_item::drain;
  for (unsigned left = 1U << bit; left-- > 0;) {
    f.gap = left + 1 == 1U << bit ? 12 : 0;
    f.key = left == 0 ? key : static_cast<std::uint32_t>(r.below(1 << 24) << 8);
    to.push_back(pack(f));
  }
}

// Two keys have indices that differ in one bit. Either references to both are held and both are drained, or one is granted at
// about the time of the other's drain.
void key_twins::next_of_indices(std::deque<item>& to, random_stream& r) {
  unsigned bit = 0;
  do {
    bit = bit_of(index_turn_ / 4 % 64);
    index_turn_ += bit >= 24 ? 4 : 0;
  } while (bit >= 24);
  const std::uint32_t one = 1U << (bit + 12) % 24;
  key_fields a = make_key_twin(number_of(one)).ask;
  key_fields b = make_key_twin(number_of(one | 1U << bit)).ask;
  if (index_turn_ % 2 != 0) std::swap(a, b);
  const bool both = index_turn_ % 4 < 2;
  ++index_turn_;
  const auto add = [&to](key_fields f, key_item kind, std::uint64_t gap, std::uint64_t hold) {
    f.kind = kind;
    f.gap = static_cast<std::uint16_t>(gap);
    f.hold = static_cast<std::uint16_t>(hold);
    to.push_back(pack(f));
  };
  if (!both) {
    // A context that comes at once comes three cycles after its offer.
    for (const std::uint64_t cycles : {2U, 1U, 3U, 2U}) {
      add(a, key_item::check, 30, 5);
      add(b, key_item::drain, cycles, 0);
    }
    return;
  }
  add(a, key_item::check, 0, 150);
  add(b, key_item::check, 0, 300);
  add(a, key_item::drain, 20 + r.below(20), 0);
  add(b, key_item::drain, r.below(3), 0);
  add(a, key_item::check, 0, 20);
  add(b, key_item::check, 0, 20);
}

}  // namespace hcasim::lockstep
