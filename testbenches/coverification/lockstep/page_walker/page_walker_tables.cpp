#include "testbenches/coverification/lockstep/page_walker/page_walker_tables.h"

#include <algorithm>
#include <cstring>

#include "firmware/abi/mrc.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {
namespace {

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// A bit of the tag that does not choose the set.
constexpr std::uint32_t other_tag = 1U << 20;

}  // namespace

bool sane(const translation& m) {
  return m.levels <= 4 && m.page_shift >= 12 && m.page_shift <= 52;
}

translation map_of(unsigned number, std::uint64_t seed) {
  // Two maps have one table under two tags of one set. Another map is null, and otherwise equal to its neighbour.
  if (number % 8 == 4) {
    translation m = map_of(number - 4, seed);
    m.index ^= other_tag;
    return m;
  }
  if (number % 16 == 15) {
    translation m = map_of(number - 1, seed);
    m.null = true;
    return m;
  }
  random_stream r(seed * 977 + number, "map");
  translation m;
  // Two tables have one tag, in an older and a newer epoch.
  m.index = static_cast<std::uint32_t>(mixed(seed * 977 + number / 2)) & ~other_tag;
  if (number % 8 == 5) m.index = map_of(number - 1, seed).index;
  m.levels = static_cast<std::uint8_t>(r.chance(0.08) ? 0 : 1 + r.below(4));
  constexpr std::uint8_t shifts[] = {12, 12, 16, 21, 30};
  m.page_shift = r.chance(0.2) ? static_cast<std::uint8_t>(12 + r.below(41)) : shifts[r.below(5)];
  // Both epochs have the same pages.
  const bool as_before = number % 2 == 1 && number % 8 != 3 && r.chance(0.6);
  if (as_before) m.page_shift = map_of(number - 1, seed).page_shift;
  if (m.levels > 0 && r.chance(0.1)) {
    if (r.chance(0.5)) {
      m.levels = static_cast<std::uint8_t>(5 + (r.chance(0.5) ? 0 : r.below(251)));
    } else {
      m.page_shift = static_cast<std::uint8_t>(r.chance(0.3)   ? r.below(12)
                                               : r.chance(0.3) ? 64
                                               : r.chance(0.5) ? 53
                                                               : 53 + r.below(203));
    }
  }
  // A node of these maps covers the whole address space, or the largest possible part.
  if (number % 8 == 3) {
    constexpr std::uint8_t largest[] = {37, 46, 36, 45, 52};
    m.page_shift = largest[(number / 8 + seed) % 5];
    m.levels = 4;
  }
  // The smallest page shift that is too large.
  if (number % 16 == 6) {
    m.page_shift = 53;
    m.levels = 1;
  }
  m.null = r.chance(0.05);
  m.indirect = r.chance(0.5);
  m.on_demand = r.chance(0.5);
  m.table = r.next();
  m.table_va = r.chance(0.7) ? r.next() & ~std::uint64_t{0xfff} : r.next();
  if (as_before) m.table_va = map_of(number - 1, seed).table_va;
  return m;
}

bool shares_its_table(unsigned number) {
  return number % 4 == 0 || number % 16 >= 14;
}

// Returns a page of a cluster, which lies anywhere in the address space.
std::uint64_t page_of(const translation& m, unsigned cluster, std::uint64_t page) {
  const unsigned shift = m.page_shift & 63U;
  const unsigned bits = sane(m) ? 64 - shift : 13;
  const std::uint64_t high =
      bits > 13 ? mixed((m.index & ~other_tag) * std::uint64_t{64} + cluster) & ((std::uint64_t{1} << (bits - 13)) - 1) : 0;
  return high << 13 | cluster * cluster_pages | page;
}

bool page_tables::fails(std::uint64_t address) const {
  return mixed(address + seed_) % 150 == 7;
}

std::uint64_t page_tables::upper(std::uint64_t address) const {
  const auto changed = upper_versions_.find(address);
  const std::uint64_t h = mixed(address * 31 + seed_) + (changed == upper_versions_.end() ? 0 : changed->second);
  return (mixed(h) & ~std::uint64_t{1}) | (h % 60 != 0);
}

std::uint64_t page_tables::leaf(std::uint64_t address, std::uint32_t version) const {
  const std::uint64_t e = mixed(mixed(address * 31 + seed_) + version);
  const std::uint64_t h = mixed(e);
  return (e & ~std::uint64_t{3}) | (h % 8 == 0 ? std::uint64_t{HCA_PTE_READ_ONLY} : 0) | (h % 30 != 0);
}

std::optional<std::uint64_t> page_tables::entry_at(const translation& m, std::uint64_t page, unsigned wanted) const {
  if (!sane(m) || wanted >= m.levels) return std::nullopt;
  std::uint64_t node = m.table;
  for (unsigned level = m.levels; level-- > 0;) {
    const std::uint64_t number = (level == 0 ? page & ~std::uint64_t{7} : page) >> (9 * level);
    const std::uint64_t address = node + 8 * (level + 1U < m.levels ? number % 512 : number);
    if (level == wanted) return address;
    const std::uint64_t e = upper(address);
    if (fails(address) || !(e & 1)) break;
    node = e & HCA_PTE_ADDRESS;
  }
  return std::nullopt;
}

void page_tables::change(const translation& m, std::uint64_t first, std::uint64_t last, std::uint32_t version) {
  for (std::uint64_t p = first; p <= last; ++p) {
    if (const auto line = entry_at(m, p, 0)) leaf_versions_[*line][p % 8] = version;
  }
}

void page_tables::change_node(const translation& m, std::uint64_t page, unsigned level, std::uint32_t version) {
  if (const auto entry = entry_at(m, page, level)) upper_versions_[*entry] = version;
}

bool page_tables::present(const translation& m, std::uint64_t page) const {
  const auto line = entry_at(m, page, 0);
  return line && !fails(*line) && (leaf(*line + 8 * (page % 8), 0) & 3) == HCA_PTE_PRESENT;
}

walked page_tables::walk(const translation& m, std::uint64_t va, std::uint64_t length, bool write) const {
  if (m.null) return {translate_status::not_present};
  if (m.levels == 0) return {translate_status::ok, va, length};
  if (!sane(m)) return {translate_status::table_error};
  const std::uint64_t page = (va - m.table_va) >> m.page_shift;
  for (unsigned level = m.levels; level-- > 0;) {
    const auto at = entry_at(m, page, level);
    if (!at) return {translate_status::not_present};
    if (fails(*at)) return {translate_status::table_error};
    if (level > 0) continue;
    const auto versions = leaf_versions_.find(*at);
    const std::uint64_t e = leaf(*at + 8 * (page % 8), versions == leaf_versions_.end() ? 0 : versions->second[page % 8]);
    if (!(e & HCA_PTE_PRESENT) || (write && (e & HCA_PTE_READ_ONLY))) return {translate_status::not_present};
    const std::uint64_t size = std::uint64_t{1} << m.page_shift;
    const std::uint64_t offset = (va - m.table_va) & (size - 1);
    return {translate_status::ok, (e & ~std::uint64_t{0xfff}) + offset, std::min(length, size - offset)};
  }
  return {};
}

void page_tables::set(const item& i) {
  recorded& r = recorded_[i[1]];
  r.failed = i[0] >> 48 & 1;
  std::memcpy(r.bytes.data(), &i[2], r.bytes.size());
}

bool page_tables::read(std::uint64_t address, std::byte* to, std::size_t bytes) const {
  if (const auto known = recorded_.find(address); known != recorded_.end()) {
    std::memcpy(to, known->second.bytes.data(), std::min<std::size_t>(bytes, 64));
    return !known->second.failed;
  }
  const bool failed = fails(address);
  const auto versions = bytes > 8 ? leaf_versions_.find(address) : leaf_versions_.end();
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint32_t v = versions == leaf_versions_.end() ? 0 : versions->second[i / 8 % 8];
    const std::uint64_t e = failed ? ~std::uint64_t{0} : bytes == 8 ? upper(address) : leaf(address + i, v);
    std::memcpy(to + i, &e, 8);
  }
  return !failed;
}

table_memory::table_memory(const sc_core::sc_module_name& name, const options& o, const clock_domain& clock)
    : unit(name), tables(o.seed), seed_(o.seed), random_(o.how == mode::random), storms_(random_ && o.storms), clock_(clock) {
  in.on<&table_memory::handle>(this);
}

tlm::tlm_sync_enum table_memory::handle(dma_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  if (on_access) on_access(r);
  const std::uint64_t h = mixed(r.address + seed_);
  const auto cycles = static_cast<double>(storms_     ? 1 + (h >> 10) % 4
                                          : !random_  ? 20
                                          : h & 0x300 ? 30 + (h >> 10) % 20
                                                      : 100 + (h >> 10) % 200);
  r.failed = !tables.read(r.address, r.data, r.bytes);
  job& j = jobs_.get();
  j = {this, &r};
  queue_.at(t + clock_.cycles(cycles), {[](void* context) {
                                          job& done = *static_cast<job*>(context);
                                          dma_request& answered = *done.request;
                                          table_memory& self = *done.self;
                                          self.jobs_.put(done);
                                          if (self.on_answer) self.on_answer(answered);
                                          target_socket<dma_request>::respond(answered, now());
                                        },
                                        &j});
  return tlm::TLM_ACCEPTED;
}

}  // namespace hcasim::lockstep
