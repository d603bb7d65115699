// The payload of a stream as a string of bits, lowest first, as a packed structure of SystemVerilog lies on its pins.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hcasim::rtl {

static_assert(std::endian::native == std::endian::little, "words of 32 bits are read two at a time");

// The bits inside the payload itself; a wider payload has memory of its own.
inline constexpr unsigned payload_bits = 1280;

struct payload {
  alignas(8) std::array<std::uint32_t, payload_bits / 32> words{};
  std::vector<std::uint32_t> more;

  // Returns bits [at, at + bits), 1..64 of them; bits never set are 0.
  [[nodiscard]] std::uint64_t get(unsigned at, unsigned bits) const {
    if (at + bits > payload_bits) [[unlikely]]
      return get_beyond(at, bits);
    return pieces(at, bits, [this](unsigned n) { return words[n]; });
  }
  void set(unsigned at, unsigned bits, std::uint64_t v) {
    if (at + bits > payload_bits) [[unlikely]]
      return set_beyond(at, bits, v);
    set_pieces(at, bits, v, [this](unsigned n) -> std::uint32_t& { return words[n]; });
  }
  // Copies the whole payload from or to a port of `bytes` bytes.
  void take(const void* from, unsigned bytes) {
    std::memcpy(words.data(), from, std::min<std::size_t>(bytes, sizeof words));
    if (bytes <= sizeof words) [[likely]]
      return;
    more.resize((bytes - sizeof words) / 4);
    std::memcpy(more.data(), static_cast<const char*>(from) + sizeof words, bytes - sizeof words);
  }
  void put(void* to, unsigned bytes) const {
    std::memcpy(to, words.data(), std::min<std::size_t>(bytes, sizeof words));
    for (unsigned at = sizeof words; at < bytes; at += 4) {
      const std::uint32_t w = word(at / 4);
      std::memcpy(static_cast<char*>(to) + at, &w, 4);
    }
  }
  bool operator==(const payload& o) const {
    if (words != o.words) return false;
    for (std::size_t i = 0; i < std::max(more.size(), o.more.size()); ++i) {
      const auto n = static_cast<unsigned>(words.size() + i);
      if (word(n) != o.word(n)) return false;
    }
    return true;
  }

 private:
  template <class Word>
  static std::uint64_t pieces(unsigned at, unsigned bits, Word word_at) {
    std::uint64_t v = 0;
    for (unsigned done = 0; done < bits;) {
      const unsigned shift = (at + done) % 32;
      const unsigned n = std::min(bits - done, 32 - shift);
      const std::uint64_t part = (word_at((at + done) / 32) >> shift) & ((std::uint64_t{1} << n) - 1);
      v |= part << done;
      done += n;
    }
    return v;
  }
  template <class Word>
  static void set_pieces(unsigned at, unsigned bits, std::uint64_t v, Word word_at) {
    for (unsigned done = 0; done < bits;) {
      const unsigned shift = (at + done) % 32;
      const unsigned n = std::min(bits - done, 32 - shift);
      const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
      std::uint32_t& w = word_at((at + done) / 32);
      w = (w & ~(mask << shift)) | ((static_cast<std::uint32_t>(v >> done) & mask) << shift);
      done += n;
    }
  }
  [[nodiscard, gnu::noinline]] std::uint64_t get_beyond(unsigned at, unsigned bits) const {
    return pieces(at, bits, [this](unsigned n) { return word(n); });
  }
  [[gnu::noinline]] void set_beyond(unsigned at, unsigned bits, std::uint64_t v) {
    const std::size_t last = (at + bits - 1) / 32 - words.size();
    if (last >= more.size()) more.resize(last + 1);
    set_pieces(at, bits, v,
               [this](unsigned n) -> std::uint32_t& { return n < words.size() ? words[n] : more[n - words.size()]; });
  }
  [[nodiscard]] std::uint32_t word(unsigned n) const {
    if (n < words.size()) return words[n];
    return n - words.size() < more.size() ? more[n - words.size()] : 0;
  }
};

// Writes fields one after the other, from the lowest bit up; the rest of the last 64-bit word is 0. With constant widths the
// compiler reduces all of it to a few words.
class writer {
 public:
  explicit writer(payload& p) : p_(p) {}
  [[gnu::always_inline]] writer& put(std::uint64_t v, unsigned bits) {
    const unsigned shift = at_ % 64;
    if (bits < 64) v &= (std::uint64_t{1} << bits) - 1;
    if (at_ + bits > payload_bits) [[unlikely]] {
      p_.set(at_, bits, v);
    } else {
      word_ |= v << shift;
      store(at_ / 64);
      if (shift + bits >= 64) {
        word_ = shift == 0 ? 0 : v >> (64 - shift);
        if (shift + bits > 64) store(at_ / 64 + 1);
      }
    }
    at_ += bits;
    return *this;
  }
  [[gnu::always_inline]] writer& bytes(const void* from, unsigned n) {
    if (at_ % 64 == 0 && n % 8 == 0 && at_ + 8 * n <= payload_bits) {
      std::memcpy(reinterpret_cast<char*>(p_.words.data()) + at_ / 8, from, n);
      at_ += 8 * n;
      return *this;
    }
    for (unsigned i = 0; i < n; i += 4) {
      std::uint32_t w = 0;
      std::memcpy(&w, static_cast<const char*>(from) + i, 4);
      put(w, 32);
    }
    return *this;
  }
  [[nodiscard]] unsigned bits() const { return at_; }

 private:
  [[gnu::always_inline]] void store(unsigned n) { std::memcpy(&p_.words[2 * n], &word_, sizeof word_); }

  payload& p_;
  unsigned at_ = 0;
  std::uint64_t word_ = 0;  // the one that `at_` lies in, so far
};

class reader {
 public:
  explicit reader(const payload& p) : p_(p) {}
  [[gnu::always_inline]] std::uint64_t get(unsigned bits) {
    const unsigned at = at_;
    at_ += bits;
    if (at_ > payload_bits) [[unlikely]]
      return p_.get(at, bits);
    const unsigned shift = at % 64;
    std::uint64_t v = load(at / 64) >> shift;
    if (shift + bits > 64) v |= load(at / 64 + 1) << (64 - shift);
    return bits < 64 ? v & ((std::uint64_t{1} << bits) - 1) : v;
  }
  std::uint32_t get32(unsigned bits = 32) { return static_cast<std::uint32_t>(get(bits)); }
  [[gnu::always_inline]] void bytes(void* to, unsigned n) {
    if (at_ % 8 == 0 && at_ + 8 * n <= payload_bits) {
      std::memcpy(to, reinterpret_cast<const char*>(p_.words.data()) + at_ / 8, n);
      at_ += 8 * n;
      return;
    }
    for (unsigned i = 0; i < n; i += 4) {
      const std::uint32_t w = get32();
      std::memcpy(static_cast<char*>(to) + i, &w, 4);
    }
  }

 private:
  [[gnu::always_inline]] [[nodiscard]] std::uint64_t load(unsigned n) const {
    std::uint64_t v = 0;
    std::memcpy(&v, &p_.words[2 * n], sizeof v);
    return v;
  }

  const payload& p_;
  unsigned at_ = 0;
};

}  // namespace hcasim::rtl
