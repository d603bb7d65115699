// Headers of the TLPs that a requester of memory and its completer exchange [PCIe base specification, 2.2]: memory reads and
// writes with 3 or 4 words, completions with and without data. Plain C++.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace hcasim::rtl {

enum class tlp_kind : std::uint8_t { memory_read, memory_write, completion, completion_data };
enum class tlp_status : std::uint8_t { success = 0, unsupported_request = 1, configuration_retry = 2, completer_abort = 4 };

// Words as they are on the wire, the first one first; that of 3 words has a last one of 0.
using tlp_words = std::array<std::uint32_t, 4>;

inline constexpr unsigned tlp_most_bytes = 4096;  // of a TLP, and no request crosses as many
inline constexpr std::uint64_t tlp_short_addresses = std::uint64_t{1} << 32;

struct tlp_header {
  tlp_kind kind = tlp_kind::memory_read;
  bool four_words = false;
  std::uint8_t traffic_class = 0;
  bool relaxed_ordering = false;
  bool no_snoop = false;
  bool poisoned = false;
  std::uint8_t address_type = 0;  // of a request [ATS]
  unsigned words = 0;             // of payload, of a read those it asks for: 1 to 1024, of a completion without data 0
  std::uint16_t requester = 0;
  std::uint16_t tag = 0;  // 10 bits

  // The fields of a request.
  std::uint64_t address = 0;  // a multiple of 4
  std::uint8_t first_enables = 0;
  std::uint8_t last_enables = 0;

  // The fields of a completion.
  std::uint16_t completer = 0;
  tlp_status status = tlp_status::success;
  unsigned byte_count = 0;         // that are still to come, with this one: 1 to 4096
  std::uint8_t lower_address = 0;  // 7 bits, of the first byte

  bool operator==(const tlp_header&) const = default;
  [[nodiscard]] bool is_request() const { return kind == tlp_kind::memory_read || kind == tlp_kind::memory_write; }
  [[nodiscard]] bool has_payload() const { return kind == tlp_kind::memory_write || kind == tlp_kind::completion_data; }
};

[[nodiscard]] tlp_words pack(const tlp_header& h);
// Why it is no such TLP; empty = it is, and `h` is filled in.
[[nodiscard]] std::string unpack(const tlp_words& w, tlp_header& h);

// Words of payload that follow a header, whatever its kind.
[[nodiscard]] unsigned payload_words(const tlp_words& w);
// Why PCIe has no such request; empty = it has.
[[nodiscard]] std::string refusal(const tlp_header& request);

// The bytes that a request enables, from the first one to behind the last one. `bytes` is 0 if it enables none.
struct tlp_range {
  std::uint64_t first = 0;
  unsigned bytes = 0;
};
[[nodiscard]] tlp_range range_of(const tlp_header& request);
// The other way: `bytes` of at least 1 that do not cross 4 KiB.
void set_range(tlp_header& request, std::uint64_t first, unsigned bytes);
// Whether byte `n` of the payload of a request is enabled.
[[nodiscard]] bool is_enabled(const tlp_header& request, unsigned n);

}  // namespace hcasim::rtl
