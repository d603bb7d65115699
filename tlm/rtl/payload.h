// The payload of a stream as a string of bits, lowest first, as a packed structure of SystemVerilog lies on its pins.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace hcasim::rtl {

inline constexpr unsigned payload_bits = 2176;

struct payload {
  std::array<std::uint32_t, payload_bits / 32> words{};

  // `bits` 1..64, anywhere.
  [[nodiscard]] std::uint64_t get(unsigned at, unsigned bits) const {
    std::uint64_t v = 0;
    for (unsigned done = 0; done < bits;) {
      const unsigned shift = (at + done) % 32;
      const unsigned n = std::min(bits - done, 32 - shift);
      const std::uint64_t part = (words[(at + done) / 32] >> shift) & ((std::uint64_t{1} << n) - 1);
      v |= part << done;
      done += n;
    }
    return v;
  }
  void set(unsigned at, unsigned bits, std::uint64_t v) {
    for (unsigned done = 0; done < bits;) {
      const unsigned shift = (at + done) % 32;
      const unsigned n = std::min(bits - done, 32 - shift);
      const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
      std::uint32_t& w = words[(at + done) / 32];
      w = (w & ~(mask << shift)) | ((static_cast<std::uint32_t>(v >> done) & mask) << shift);
      done += n;
    }
  }
  bool operator==(const payload&) const = default;
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
