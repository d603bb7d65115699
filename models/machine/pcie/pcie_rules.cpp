#include "models/machine/pcie/pcie_rules.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tlm/pcie.h"

namespace hcasim {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t doubleword = 4;

// Calls `piece(first, bytes)` for what lies before the first 4 KiB boundary and `pages(n)` for the whole pages after it, then
// `piece` for the rest.
template <class Piece, class Pages>
void by_pages(std::uint64_t address, std::uint64_t bytes, Piece piece, Pages pages) {
  const std::uint64_t head = std::min(bytes, page - address % page);
  piece(address, head);
  const std::uint64_t rest = bytes - head;
  if (rest / page) pages(rest / page);
  if (rest % page) piece(std::uint64_t{0}, rest % page);
}

// A power of two to divide by: the largest payloads and boundaries of PCIe are all of this kind.
class power {
 public:
  explicit power(std::uint64_t value) : shift_(std::countr_zero(value)) {}
  friend std::uint64_t operator/(std::uint64_t n, power p) { return n >> p.shift_; }
  friend std::uint64_t operator%(std::uint64_t n, power p) { return n & ((std::uint64_t{1} << p.shift_) - 1); }
  friend std::uint64_t parts(std::uint64_t n, power p) { return (n + (std::uint64_t{1} << p.shift_) - 1) >> p.shift_; }

 private:
  int shift_;
};

struct widened {
  std::uint64_t address;
  std::uint64_t bytes;
};
widened to_doublewords(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t offset = address % doubleword;
  return {address - offset, std::max(align_up(offset + bytes, doubleword), doubleword)};
}

}  // namespace

bit_rate pcie_rate(unsigned generation, unsigned lanes) {
  constexpr std::array<double, 6> giga_transfers{2.5, 5, 8, 16, 32, 64};
  const double efficiency = generation <= 2 ? 0.8 : generation <= 5 ? 128.0 / 130.0 : 242.0 / 256.0;
  return {giga_transfers[generation - 1] * 1e9 * efficiency * lanes};
}

tlp_shape split_write(std::uint64_t address, std::uint64_t bytes, std::uint64_t mps) {
  const widened w = to_doublewords(address, bytes);
  const power by(mps);
  tlp_shape s{0, w.bytes, 0};
  by_pages(
      w.address, w.bytes,
      [&](std::uint64_t, std::uint64_t n) {
        s.tlps += parts(n, by);
        s.units += n / by * (mps / credit_bytes) + ceil_div(n % by, credit_bytes);
      },
      [&](std::uint64_t pages) {
        s.tlps += pages * (page / by);
        s.units += pages * (page / credit_bytes);
      });
  return s;
}

tlp_shape split_read(std::uint64_t address, std::uint64_t bytes, std::uint64_t mrrs) {
  const widened w = to_doublewords(address, bytes);
  const power by(mrrs);
  tlp_shape s;
  by_pages(
      w.address, w.bytes, [&](std::uint64_t, std::uint64_t n) { s.tlps += parts(n, by); },
      [&](std::uint64_t pages) { s.tlps += pages * (page / by); });
  return s;
}

tlp_shape split_completions(std::uint64_t address, std::uint64_t bytes, std::uint64_t mrrs, std::uint64_t rcb,
                            std::uint64_t most) {
  const widened w = to_doublewords(address, bytes);
  const power by(mrrs);
  tlp_shape s{0, w.bytes, 0};
  const auto of_request = [&](std::uint64_t first, std::uint64_t n) {
    if (n <= most) return std::uint64_t{1};
    return 1 + parts(n - (most - first % power(rcb)), power(most));
  };
  // Requests start `mrrs` apart, so inside a page all have the same offset from the completion boundary.
  by_pages(
      w.address, w.bytes,
      [&](std::uint64_t first, std::uint64_t n) {
        s.tlps += n / by * of_request(first, mrrs) + (n % by ? of_request(first, n % by) : 0);
      },
      [&](std::uint64_t pages) { s.tlps += pages * (page / by) * of_request(0, mrrs); });
  return s;
}

ps link_schedule::busy_until(ps t) const {
  ps later{0};
  for (auto s = spans_.rbegin(); s != spans_.rend() && s->end > t; ++s) later += s->end - std::max(s->begin, t);
  return busy_ - later;
}

link_schedule::span link_schedule::book(ps t, ps work, ps current) {
  busy_ += work;
  while (!spans_.empty() && spans_.front().end < current) spans_.pop_front();
  if (spans_.empty() || t > spans_.back().end) {
    spans_.push_back({t, t + work});
    return spans_.back();
  }
  if (t == spans_.back().end) {
    spans_.back().end += work;
    return {t, t + work};
  }
  auto first = std::partition_point(spans_.begin(), spans_.end(), [t](const span& s) { return s.end < t; });
  auto next = first;
  ps at = t;
  ps begin = never;
  for (ps left = work;;) {
    if (next != spans_.end() && next->begin <= at) {
      at = std::max(at, next->end);
      ++next;
      continue;
    }
    begin = std::min(begin, at);
    const ps idle = next == spans_.end() ? left : std::min(left, next->begin - at);
    at += idle;
    left -= idle;
    if (left == 0_ps) break;
  }
  // Everything from `begin` to `at` is taken now; it joins what it touches.
  if (next != spans_.end() && next->begin == at) ++next;
  const span all{first == next ? begin : std::min(begin, first->begin), first == next ? at : std::max(at, (next - 1)->end)};
  if (first == next) {
    spans_.insert(first, all);
  } else {
    *first = all;
    spans_.erase(first + 1, next);
  }
  return {begin, at};
}

void credit_loop::collect(ps t) {
  while (!returning_.empty() && returning_.front().first <= t) {
    series& s = returning_.front();
    const bool all = s.first + s.interval * static_cast<std::int64_t>(s.n - 1) <= t;
    const std::uint64_t back = all ? s.n : static_cast<std::uint64_t>((t - s.first) / s.interval) + 1;
    free_ += back * s.each;
    if (back == s.n) {
      returning_.pop();
    } else {
      s.n -= back;
      s.first += s.interval * static_cast<std::int64_t>(back);
      return;
    }
  }
}

credit_loop::grant credit_loop::take(ps t, std::uint64_t n, std::uint64_t each, ps interval) {
  collect(t);
  std::uint64_t i = n * each <= free_ ? n : free_ / each;
  free_ -= i * each;
  ps start = t;
  // TLP number `tlp` is sent `tlp * interval` after the start and needs what came back at `when`.
  const auto not_before = [&](ps when, std::uint64_t tlp) {
    start = std::max(start, when - interval * static_cast<std::int64_t>(tlp));
  };
  while (i < n && !returning_.empty()) {
    series& s = returning_.front();
    const std::uint64_t wanted = std::min(s.n, ceil_div((n - i) * each - free_, s.each));
    const std::uint64_t enough = ceil_div(each - free_, s.each);
    if (enough <= wanted) not_before(s.first + s.interval * static_cast<std::int64_t>(enough - 1), i);
    free_ += wanted * s.each;
    const std::uint64_t more = std::min(n - i, free_ / each);
    if (more) not_before(s.first + s.interval * static_cast<std::int64_t>(wanted - 1), i + more - 1);
    i += more;
    free_ -= more * each;
    if (wanted == s.n) {
      returning_.pop();
    } else {
      s.n -= wanted;
      s.first += s.interval * static_cast<std::int64_t>(wanted);
    }
  }
  use_.add(static_cast<std::int64_t>(i * each), start);
  return {start, i};
}

void credit_loop::give(ps first, ps interval, std::uint64_t n, std::uint64_t each) {
  if (n) returning_.push({first, interval, n, each});
  use_.come_back(first, interval, n, each);
}

std::uint64_t credit_loop::free_at(ps t) const {
  std::uint64_t f = free_;
  for (std::size_t i = 0; i < returning_.size() && returning_[i].first <= t; ++i) {
    const series& s = returning_[i];
    f += s.each * (s.interval == 0_ps ? s.n : std::min(s.n, static_cast<std::uint64_t>((t - s.first) / s.interval) + 1));
  }
  return f;
}

std::uint64_t credit_loop::owned() const {
  std::uint64_t f = free_;
  for (std::size_t i = 0; i < returning_.size(); ++i) f += returning_[i].n * returning_[i].each;
  return f;
}

bool pcie_address_map::add(unsigned device, std::uint64_t base, std::uint64_t size, std::uint64_t offset) {
  if (size == 0 || size - 1 > ~base) return false;
  const window w{base, base + size - 1, device, offset};
  const auto at = std::partition_point(windows_.begin(), windows_.end(), [&](const window& o) { return o.last < w.first; });
  if (at != windows_.end() && at->first <= w.last) return false;
  windows_.insert(at, w);
  return true;
}

pcie_route pcie_address_map::of_cpu(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t last = address + std::max<std::uint64_t>(bytes, 1) - 1;
  if (last < address) return {};
  for (const window& w : windows_) {
    if (address >= w.first && last <= w.last) return {pcie_place::device, w.device, address - w.first + w.offset};
  }
  return {};
}

pcie_route pcie_address_map::of_device(std::uint64_t address, std::uint64_t bytes, bool write) const {
  const std::uint64_t last = address + std::max<std::uint64_t>(bytes, 1) - 1;
  if (last < address) return {};
  for (const window& w : windows_) {
    if (last < w.first || address > w.last) continue;
    if (address < w.first || last > w.last) return {};
    return {pcie_place::device, w.device, address - w.first + w.offset};
  }
  const bool below = last < msi_window;
  const bool above = address >= msi_window + msi_window_bytes;
  if (!below && !above)
    return {write && address >= msi_window && bytes == 4 ? pcie_place::interrupts : pcie_place::nowhere, 0, 0};
  if (memory_top_ && last >= memory_top_) return {};
  return {pcie_place::memory, 0, address};
}

}  // namespace hcasim
