#include "testbenches/coverification/lockstep/key_check/key_check_objects.h"

#include <algorithm>
#include <cstring>

#include "models/adapter/protection/testing/extent_tree.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {
namespace {

constexpr std::uint8_t page_shifts[] = {12, 16, 21, 30};

std::uint64_t base_va(random_stream& r) {
  switch (r.below(8)) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0} - 0xfffff;  // ends at or beyond 2^64
    default:
      return r.next() >> (1 + r.below(30));
  }
}

// Makes extents in order, a few bytes or pages apart.
void make_extents(key_object& o, random_stream& r) {
  const auto count = static_cast<std::uint32_t>(r.chance(0.25) ? 2 + r.below(3) : 2 + r.below(38));
  std::uint64_t at = r.chance(0.2) ? 0 : std::min(r.next() >> r.below(40), ~std::uint64_t{0} - (1 << 20));
  for (std::uint32_t i = 0; i < count && at < ~std::uint64_t{0} - (1 << 16); ++i) {
    const bool long_one = i + 1 == count && r.chance(0.1);
    const std::uint64_t most = ~std::uint64_t{0} - 1 - at;
    const std::uint64_t length = long_one ? std::min(r.next() >> r.below(40) | 1, most) : 1 + r.below(8192);
    o.extents.push_back({at, length});
    at += length + 1 + r.below(4096);
  }
  o.mrc.table_va = o.mrc.start - o.extents.front().start;
  o.mrc.length = o.extents.back().start + o.extents.back().length - o.extents.front().start;
}

// Makes a tree higher than needed, with nodes of two children. One child leads to the object's line, the other to any line.
void heighten(key_object& o, std::uint32_t number, random_stream& r) {
  while (o.mrc.extent_count < HCA_EXTENT_LEVELS + 2 && o.lines.size() < lines_per_key) {
    hca_extent_node n{};
    for (std::uint64_t& s : n.start) s = HCA_EXTENT_NONE;
    const std::uint32_t tree = tree_line_of(number, static_cast<std::uint32_t>(o.lines.size() - 1));
    const auto other = static_cast<std::uint32_t>(r.next());
    const bool above = r.chance(0.5);
    n.start[0] = above ? o.extents.back().start + o.extents.back().length : o.extents.front().start;
    n.child[0] = above ? tree : other;
    n.child[1] = above ? other : tree;
    std::memcpy(o.lines.emplace_back().data(), &n, sizeof n);
    ++o.mrc.extent_count;
    if (r.chance(0.1)) return;
  }
}

// Damages a line: its order, by the least possible amount and at any place, or any bit.
void damage(key_object& o, random_stream& r) {
  // Every access reads the root.
  line_bytes& l = r.chance(0.5) ? o.lines.back() : o.lines[r.below(o.lines.size())];
  std::array<hca_extent, HCA_EXTENTS_PER_LINE> e{};
  hca_extent_node n{};
  std::memcpy(&e, l.data(), sizeof e);
  std::memcpy(&n, l.data(), sizeof n);
  const bool leaf = e[0].start >= o.extents.front().start && e[0].length <= o.mrc.length && n.child[5] == 0;
  const std::size_t at = r.below(leaf ? e.size() - 1 : std::size(n.start) - 1);
  switch (r.below(5)) {
    case 0:  // adjacent, or in the same place
      if (leaf && e[at + 1].length != 0) e[at].length = e[at + 1].start - e[at].start;
      if (!leaf && n.start[at] != HCA_EXTENT_NONE) n.start[at + 1] = n.start[at];
      break;
    case 1:  // none, although another follows
      if (leaf) e[at] = {};
      if (!leaf) n.start[at] = HCA_EXTENT_NONE;
      break;
    case 2:  // an empty line, or an empty extent with a place; a single child
      if (leaf) e = {};
      if (leaf && r.chance(0.5)) e[0] = {o.extents.front().start, 0};
      if (!leaf) std::fill(std::begin(n.start), std::end(n.start), std::uint64_t{HCA_EXTENT_NONE});
      break;
    case 3:  // beyond the end, or a single child
      if (leaf) {
        e[1] = e[2] = e[3] = {};
        e[0].length = 0 - e[0].start + 5;
      } else {
        for (std::uint64_t& s : n.start) s = HCA_EXTENT_NONE;
      }
      break;
    default:
      l[r.below(l.size())] ^= static_cast<std::byte>(1U << r.below(8));
      return;
  }
  if (leaf) {
    std::memcpy(l.data(), &e, sizeof e);
  } else {
    std::memcpy(l.data(), &n, sizeof n);
  }
}

void make_tree(key_object& o, std::uint32_t number, random_stream& r) {
  hca_mrc& m = o.mrc;
  if (r.chance(0.1)) {  // in one piece
    m.extent_count = 0;
    return;
  }
  make_extents(o, r);
  const bool low = r.chance(0.5);
  testing::extent_tree tree(
      o.extents, [&](std::size_t room) { return room / 2 + r.below(low ? 2 : room - room / 2 + 1); },
      [&](std::size_t n) { return tree_line_of(number, static_cast<std::uint32_t>(n)); });
  o.lines = std::move(tree.lines);
  m.extent_count = tree.levels;
  if (r.chance(0.2)) heighten(o, number, r);
  if (r.chance(0.1))
    m.extent_count += static_cast<std::uint32_t>(r.next() >> r.below(32));  // a tree too high, or one that ends too early
  if (r.chance(0.5)) damage(o, r);
}

void make_elements(key_object& o, random_stream& r) {
  const auto count = static_cast<std::uint32_t>(r.below(key_elements));
  o.lines.resize(key_elements / HCA_EXTENTS_PER_LINE);
  o.mrc.extent_count = count;
  o.mrc.length = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    hca_element e{};
    e.va = r.next();
    e.key = static_cast<std::uint32_t>(r.next());
    e.length = static_cast<std::uint32_t>(1 + r.below(r.chance(0.1) ? ~std::uint32_t{0} : 8192));
    o.mrc.length += e.length;
    std::memcpy(&o.lines[i / HCA_EXTENTS_PER_LINE][i % HCA_EXTENTS_PER_LINE * sizeof e], &e, sizeof e);
  }
  // The rest of the last line belongs to no object.
  for (std::uint32_t i = count; i % HCA_EXTENTS_PER_LINE != 0 && i < key_elements; ++i) {
    const hca_element e{r.next(), static_cast<std::uint32_t>(r.next()), static_cast<std::uint32_t>(1 + r.below(8192))};
    std::memcpy(&o.lines[i / HCA_EXTENTS_PER_LINE][i % HCA_EXTENTS_PER_LINE * sizeof e], &e, sizeof e);
  }
  if (r.chance(0.3)) {
    o.mrc.length += 4096;  // a list too short for the length
  } else if (r.chance(0.4)) {
    o.mrc.extent_count |= static_cast<std::uint32_t>(r.next());  // a list longer than needed
  }
}

// The region that windows are bound to. Every fourth object, if it is a region, has these fields from its number alone. So a
// window still fits after either is made anew.
struct fixed_region {
  std::uint8_t key_byte;
  std::uint32_t pd;
  std::uint64_t start;
  std::uint64_t length;
  std::uint16_t function = 0;
};
fixed_region fixed_region_of(std::uint32_t number) {
  random_stream r(number, "home");
  fixed_region h{static_cast<std::uint8_t>(r.next()), static_cast<std::uint32_t>(r.below(key_pds)), base_va(r),
                 2 + r.below(1 << 20)};
  if (r.chance(0.1)) {  // as much as there is
    h.start = 1 + r.below(4);
    h.length = ~std::uint64_t{0};
  }
  h.function = static_cast<std::uint16_t>(r.below(key_functions));
  return h;
}
// Tells whether an object has these fields. A window, or a region that takes none, may have them in place of the region.
bool has_fixed_fields(std::uint32_t number, const hca_mrc& m) {
  return number % 4 == 1 && m.kind != HCA_MRC_NONE && (m.kind <= HCA_MRC_ADDRESS_SPACE || is_window(m));
}

// Binds a window to a region or a part of it, or to a range that leaves the region by the least possible amount.
void bind_window(hca_mrc& m, random_stream& r) {
  // Mostly one of few regions, which are made anew often.
  const auto number = static_cast<std::uint32_t>(1 + 4 * r.below(r.chance(0.7) ? 6 : key_indices / 4));
  const fixed_region h = fixed_region_of(number);
  m.parent = index_of(number) << 8 | h.key_byte;
  m.pd = h.pd;
  m.function = h.function;
  m.start = h.start;
  m.length = h.length;
  if (r.chance(0.5)) {
    const std::uint64_t skipped = r.chance(0.3) ? 0 : r.below(h.length);
    m.start += skipped;
    m.length = r.chance(0.3) ? h.length - skipped : r.below(h.length - skipped);
  }
  if (r.chance(0.5)) return;
  switch (r.below(6)) {
    case 0:
      m.parent ^= 1U << r.below(8);
      break;
    case 4:
      m.function ^= 1;
      break;
    case 1:
      m.pd = (m.pd + 1) % key_pds;
      break;
    case 2:
      m.start = h.start - 1;
      if (r.chance(0.3)) m.length = 0;
      break;
    default:
      m.length = h.length - (m.start - h.start) + 1;
      break;
  }
}

}  // namespace

hca_element element_at(const key_object& o, std::uint32_t i) {
  hca_element e{};
  std::memcpy(&e, &o.lines[i / HCA_EXTENTS_PER_LINE][i % HCA_EXTENTS_PER_LINE * sizeof e], sizeof e);
  return e;
}

line_bytes unowned_line(std::uint32_t line) {
  random_stream r(line, "nobody");
  line_bytes l;
  for (std::byte& b : l) b = static_cast<std::byte>(r.next());
  return l;
}

key_object make_object(std::uint32_t number, std::uint64_t seed) {
  random_stream r(seed * 0x9e3779b97f4a7c15U + number, "object");
  key_object o;
  hca_mrc& m = o.mrc;
  m.kind = static_cast<std::uint8_t>(!r.chance(0.06) ? 1 + r.below(10)
                                     : r.chance(0.4) ? std::uint64_t{HCA_MRC_KINDS}
                                     : r.chance(0.5) ? 0
                                                     : HCA_MRC_KINDS + r.below(200));
  if (number % 4 == 1 && r.chance(0.8)) {
    constexpr std::uint8_t taking[] = {HCA_MRC_REGION, HCA_MRC_FAST, HCA_MRC_ADDRESS_SPACE};
    m.kind = r.chance(0.2) ? static_cast<std::uint8_t>(HCA_MRC_WINDOW_1 + r.below(2)) : taking[r.below(std::size(taking))];
  }
  m.state = static_cast<std::uint8_t>(r.chance(0.85) ? std::uint64_t{HCA_MRC_VALID} : r.below(4));
  m.key_byte = static_cast<std::uint8_t>(r.next());
  m.page_shift = r.chance(0.96) ? page_shifts[r.below(4)] : static_cast<std::uint8_t>(r.next());
  m.levels = static_cast<std::uint8_t>(r.chance(0.93) ? 1 + r.below(4) : r.chance(0.7) ? 5 * r.below(2) : r.below(256));
  m.flags =
      static_cast<std::uint8_t>((r.chance(0.1) ? r.below(4) : 0) | (r.chance(0.3) ? std::uint64_t{HCA_MRC_ON_DEMAND} : 0));
  m.function = static_cast<std::uint16_t>(r.below(key_functions));
  m.access = static_cast<std::uint32_t>(r.chance(0.5) ? 0x3f : r.next() & 0x3003ff);
  m.pd = static_cast<std::uint32_t>(r.below(key_pds));
  m.qpn = r.chance(0.3) ? std::uint32_t{HCA_QPN_ANY} : static_cast<std::uint32_t>(r.below(key_qpns));
  m.parent =
      static_cast<std::uint32_t>((index_of(static_cast<std::uint32_t>(1 + r.below(key_indices - 1))) << 8) | r.below(256));
  m.start = base_va(r);
  m.length = r.chance(0.05) ? r.below(2) : 1 + r.below(1 << 20);
  if (has_fixed_fields(number, m)) {
    const fixed_region h = fixed_region_of(number);
    m.key_byte = h.key_byte;
    m.function = h.function;
    m.pd = h.pd;
    m.start = h.start;
    m.length = h.length;
  } else if (is_window(m) && r.chance(0.8)) {
    bind_window(m, r);
  }
  m.table = r.next();
  m.table_va = r.chance(0.5) ? m.start & ~std::uint64_t{0xfff} : r.next();
  m.extent = first_line_of(number) * HCA_EXTENTS_PER_LINE;
  m.extent_count = static_cast<std::uint32_t>(r.below(4));
  if (m.kind == HCA_MRC_ADDRESS_SPACE) make_tree(o, number, r);
  if (m.kind == HCA_MRC_INDIRECT) make_elements(o, r);
  if (m.kind == HCA_MRC_WINDOW_2) m.extent = static_cast<std::uint32_t>(r.below(key_generations));
  return o;
}

}  // namespace hcasim::lockstep
