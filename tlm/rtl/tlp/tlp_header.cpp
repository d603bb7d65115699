#include "tlm/rtl/tlp/tlp_header.h"

#include <algorithm>
#include <bit>

namespace hcasim::rtl {
namespace {

constexpr std::uint32_t type_memory = 0x00, type_completion = 0x0a;

std::uint32_t bits(std::uint32_t word, unsigned low, unsigned n) {
  return word >> low & ((1U << n) - 1);
}

std::string hex(std::uint64_t v) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[v & 15]);
  } while (v >>= 4);
  return "0x" + text;
}

}  // namespace

tlp_words pack(const tlp_header& h) {
  tlp_words w{};
  const std::uint32_t format = (h.has_payload() ? 2U : 0U) | (h.four_words ? 1U : 0U);
  w[0] = format << 29 | (h.is_request() ? type_memory : type_completion) << 24 | bits(h.tag, 9, 1) << 23 |
         std::uint32_t{h.traffic_class} << 20 | bits(h.tag, 8, 1) << 19 | (h.poisoned ? 1U << 14 : 0) |
         (h.relaxed_ordering ? 1U << 13 : 0) | (h.no_snoop ? 1U << 12 : 0) | std::uint32_t{h.address_type} << 10 |
         (h.words & 1023);
  const std::uint32_t who = std::uint32_t{h.requester} << 16 | bits(h.tag, 0, 8) << 8;
  if (!h.is_request()) {
    w[1] = std::uint32_t{h.completer} << 16 | static_cast<std::uint32_t>(h.status) << 13 | (h.byte_count & 4095);
    w[2] = who | h.lower_address;
    return w;
  }
  w[1] = who | std::uint32_t{h.last_enables} << 4 | h.first_enables;
  w[h.four_words ? 3 : 2] = static_cast<std::uint32_t>(h.address);
  if (h.four_words) w[2] = static_cast<std::uint32_t>(h.address >> 32);
  return w;
}

std::string unpack(const tlp_words& w, tlp_header& h) {
  const std::uint32_t format = bits(w[0], 29, 3);
  const std::uint32_t type = bits(w[0], 24, 5);
  const bool is_completion = type == type_completion;
  if (format > 3 || (type != type_memory && !is_completion) || (is_completion && (format & 1) != 0))
    return "has format " + std::to_string(format) + " and type " + std::to_string(type) +
           ", which are no memory access and no completion";
  if (bits(w[0], 15, 1) != 0) return "has a digest";
  if (bits(w[0], 16, 1) != 0) return "has processing hints";
  h = {};
  h.four_words = (format & 1) != 0;
  const bool with_payload = (format & 2) != 0;
  h.kind = is_completion  ? with_payload ? tlp_kind::completion_data : tlp_kind::completion
           : with_payload ? tlp_kind::memory_write
                          : tlp_kind::memory_read;
  h.traffic_class = static_cast<std::uint8_t>(bits(w[0], 20, 3));
  h.poisoned = bits(w[0], 14, 1) != 0;
  h.relaxed_ordering = bits(w[0], 13, 1) != 0;
  h.no_snoop = bits(w[0], 12, 1) != 0;
  h.address_type = static_cast<std::uint8_t>(bits(w[0], 10, 2));
  h.words = h.kind == tlp_kind::completion ? 0 : (bits(w[0], 0, 10) + 1023) % 1024 + 1;
  const std::uint32_t who = is_completion ? w[2] : w[1];
  h.requester = static_cast<std::uint16_t>(who >> 16);
  h.tag = static_cast<std::uint16_t>(bits(who, 8, 8) | bits(w[0], 19, 1) << 8 | bits(w[0], 23, 1) << 9);
  if (is_completion) {
    h.completer = static_cast<std::uint16_t>(w[1] >> 16);
    h.status = static_cast<tlp_status>(bits(w[1], 13, 3));
    h.byte_count = (bits(w[1], 0, 12) + 4095) % 4096 + 1;
    h.lower_address = static_cast<std::uint8_t>(bits(w[2], 0, 7));
    return {};
  }
  h.last_enables = static_cast<std::uint8_t>(bits(w[1], 4, 4));
  h.first_enables = static_cast<std::uint8_t>(bits(w[1], 0, 4));
  h.address = h.four_words ? std::uint64_t{w[2]} << 32 | w[3] : w[2];
  if ((h.address & 3) != 0) return "has address " + hex(h.address) + ", whose two lowest bits are reserved";
  return {};
}

unsigned payload_words(const tlp_words& w) {
  return bits(w[0], 30, 1) == 0 ? 0 : (bits(w[0], 0, 10) + 1023) % 1024 + 1;
}

std::string refusal(const tlp_header& h) {
  const auto at = [&h] { return "at " + hex(h.address) + " "; };
  const unsigned bytes = 4 * h.words;
  if (h.address % tlp_most_bytes + bytes > tlp_most_bytes) return at() + "crosses 4 KiB";
  if (h.four_words && h.address < tlp_short_addresses) return at() + "has 4 words of header, below 4 GiB there are 3";
  const auto enables = [&h] {
    return "enables " + hex(h.first_enables) + " of the first word and " + hex(h.last_enables) + " of the last";
  };
  if (h.words == 1) return h.last_enables == 0 ? "" : at() + enables() + ", which is the first";
  if (h.first_enables == 0 || h.last_enables == 0) return at() + enables() + ": of several words each has a byte";
  if (h.words == 2 && h.address % 8 == 0) return {};
  // Bytes up from the first one, and down from the last one.
  const bool from_above = (h.first_enables | (h.first_enables - 1)) == 15;
  const bool from_below = (h.last_enables & (h.last_enables + 1)) == 0;
  return from_above && from_below ? "" : at() + enables() + ": bytes left out in the middle";
}

tlp_range range_of(const tlp_header& h) {
  if (h.first_enables == 0) return {h.address, 0};
  const auto skipped = static_cast<unsigned>(std::countr_zero(h.first_enables));
  const std::uint8_t last = h.words == 1 ? h.first_enables : h.last_enables;
  const unsigned end = 4 * (h.words - 1) + static_cast<unsigned>(std::bit_width(last));
  return {h.address + skipped, end - skipped};
}

void set_range(tlp_header& h, std::uint64_t first, unsigned bytes) {
  const auto skipped = static_cast<unsigned>(first % 4);
  const unsigned end = skipped + bytes;
  const auto up_to = [](unsigned n) { return static_cast<std::uint8_t>((1U << n) - 1); };
  h.address = first - skipped;
  h.four_words = h.address >= tlp_short_addresses;
  h.words = (end + 3) / 4;
  h.first_enables = static_cast<std::uint8_t>(up_to(std::min(end, 4U)) & ~up_to(skipped));
  h.last_enables = h.words == 1 ? std::uint8_t{0} : up_to((end - 1) % 4 + 1);
}

bool is_enabled(const tlp_header& h, unsigned n) {
  if (n < 4) return (h.first_enables >> n & 1) != 0;
  return n / 4 + 1 < h.words || (h.last_enables >> n % 4 & 1) != 0;
}

}  // namespace hcasim::rtl
