// The payload of a stream as a string of bits, lowest first, as a packed structure of SystemVerilog lies on its pins.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hcasim::rtl {

// That lie in the payload itself; what is wider has memory of its own.
inline constexpr unsigned payload_bits = 1280;

struct payload {
  std::array<std::uint32_t, payload_bits / 32> words{};
  std::vector<std::uint32_t> more;

  // `bits` 1..64, anywhere; 0 where nothing was set.
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
  // All of it, from or to a port of so many bytes.
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

// Fields one after the other, from the lowest bit up.
class writer {
 public:
  explicit writer(payload& p) : p_(p) {}
  writer& put(std::uint64_t v, unsigned bits) {
    p_.set(at_, bits, v);
    at_ += bits;
    return *this;
  }
  writer& bytes(const void* from, unsigned n) {
    for (unsigned i = 0; i < n; i += 4) {
      std::uint32_t w = 0;
      std::memcpy(&w, static_cast<const char*>(from) + i, 4);
      put(w, 32);
    }
    return *this;
  }
  [[nodiscard]] unsigned bits() const { return at_; }

 private:
  payload& p_;
  unsigned at_ = 0;
};

class reader {
 public:
  explicit reader(const payload& p) : p_(p) {}
  std::uint64_t get(unsigned bits) {
    const std::uint64_t v = p_.get(at_, bits);
    at_ += bits;
    return v;
  }
  std::uint32_t get32(unsigned bits = 32) { return static_cast<std::uint32_t>(get(bits)); }
  void bytes(void* to, unsigned n) {
    for (unsigned i = 0; i < n; i += 4) {
      const std::uint32_t w = get32();
      std::memcpy(static_cast<char*>(to) + i, &w, 4);
    }
  }

 private:
  const payload& p_;
  unsigned at_ = 0;
};

}  // namespace hcasim::rtl
