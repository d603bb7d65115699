#include "testbenches/coverification/lockstep/page_walker/page_walker_twins.h"

#include <iterator>

namespace hcasim::lockstep {
namespace {

constexpr unsigned look_up_cycles = 4;

}  // namespace

item walk_at(unsigned map, const translation& m, std::uint64_t va, std::uint64_t length, bool write, unsigned gap) {
  item i{};
  i[0] = static_cast<std::uint64_t>(walk_item::walk) | std::uint64_t{gap} << 8 | std::uint64_t{write} << 24 |
         std::uint64_t{map} << 32;
  i[1] = va;
  i[3] = length;
  put_map(i, m);
  return i;
}

item drop_at(unsigned map, const translation& m, std::uint64_t first, std::uint64_t last, unsigned gap) {
  item i{};
  i[0] = static_cast<std::uint64_t>(walk_item::drop) | std::uint64_t{gap} << 8 | std::uint64_t{map} << 32;
  i[1] = first;
  i[2] = last;
  put_map(i, m);
  return i;
}

item beside(item i) {
  i[0] |= std::uint64_t{1} << 26;
  return i;
}

translation walk_twins::fresh(random_stream& r, std::uint64_t& va) const {
  translation m;
  do {
    m.index = static_cast<std::uint32_t>(r.next());
    m.levels = static_cast<std::uint8_t>(1 + r.below(4));
    m.page_shift = shift;
    m.table = r.next();
    m.table_va = r.next();
    va = r.next();
  } while (tables_.walk(m, va, 1, true).status != translate_status::ok);
  return m;
}

void walk_twins::next(std::deque<item>& to, random_stream& r) {
  // One bit of every kind comes before the next bit of any, so that short streams have all kinds.
  constexpr std::uint64_t most_bits = 64;
  const kind* k = nullptr;
  unsigned bit = 0;
  do {
    k = &kinds[turn_ % std::size(kinds)];
    bit = static_cast<unsigned>(turn_ / std::size(kinds) * 37 % most_bits);
    ++turn_;
  } while (bit >= k->bits);
  const std::uint64_t flip = std::uint64_t{1} << (k->first + bit);

  std::uint64_t va = 0;
  const translation m = fresh(r, va);
  translation twin = m;
  std::uint64_t twin_va = va;
  if (k->in == differs::tag) twin.index ^= static_cast<std::uint32_t>(flip);
  if (k->in == differs::root) twin.table ^= flip;
  if (k->in == differs::page) twin_va = m.table_va + ((va - m.table_va) ^ flip << shift);
  if (k->in == differs::address) twin_va ^= flip;

  constexpr std::uint64_t line = std::uint64_t{line_pages} << shift;
  const std::uint64_t line_end = m.table_va + ((va - m.table_va) | (line - 1));
  const auto soon = [&] { return look_up_cycles + static_cast<unsigned>(r.below(11)); };
  to.push_back(walk_at(0, m, va, 1 + r.below(4096), false, 0));
  switch (k->at) {
    case meeting::cached:
      to.push_back(walk_at(0, twin, twin_va, 1, false, 0));
      break;
    case meeting::on_its_way:
      to.push_back(beside(walk_at(0, twin, twin_va, 1, false, soon())));
      break;
    case meeting::dropped:
      to.push_back(drop_at(0, twin, twin_va, twin_va, 0));
      break;
    case meeting::dropped_on_its_way:
      to.push_back(beside(drop_at(0, twin, twin_va, twin_va, soon())));
      break;
    case meeting::within:  // a long way from where the drop begins
      to.push_back(drop_at(0, m, va - flip, va, 0));
      break;
    case meeting::within_on_its_way:
      to.push_back(beside(drop_at(0, m, va - flip, va, soon())));
      break;
    case meeting::behind:  // a long drop right behind it
      to.push_back(drop_at(0, m, line_end + 1, line_end + flip, 0));
      break;
    case meeting::behind_on_its_way:
      to.push_back(beside(drop_at(0, m, line_end + 1, line_end + flip, soon())));
      break;
  }
  to.push_back(walk_at(0, m, va, 1, true, 0));
  // The next line is found by upper nodes that are still cached.
  to.push_back(walk_at(0, m, m.table_va + ((va - m.table_va) ^ line), 1, false, 0));
}

void walk_twins::crowd(std::deque<item>& to, random_stream& r, unsigned misses) {
  std::uint64_t va = 0;
  translation m = fresh(r, va);
  m.levels = 1;
  const bool joins = r.chance(0.5);  // two of each line
  for (unsigned i = 0; i < misses; ++i) {
    const std::uint64_t line = joins ? i / 2 : i;
    const item walk = walk_at(0, m, va + (line * line_pages << shift), 1, false, static_cast<unsigned>(r.below(3)));
    to.push_back(i == 0 ? walk : beside(walk));
  }
}

}  // namespace hcasim::lockstep
