#include "testbenches/coverification/lockstep/context_cache/context_cache_entries.h"

#include <cstring>

#include "firmware/abi/context.h"
#include "firmware/abi/mrc.h"
#include "tlm/rtl/text.h"

namespace hcasim::lockstep {
namespace {

#define HCASIM_FIELD(type, field) \
  { #field, offsetof(type, field), sizeof(type::field) }
#define HCASIM_FIELD_IN(type, part, part_type, field) \
  { #part "." #field, offsetof(type, part) + offsetof(part_type, field), sizeof(part_type::field) }
#define HCASIM_BUFFER(type, part)                                                                           \
  HCASIM_FIELD_IN(type, part, hca_buffer, pages), HCASIM_FIELD_IN(type, part, hca_buffer, log_bytes),       \
      HCASIM_FIELD_IN(type, part, hca_buffer, page_shift), HCASIM_FIELD_IN(type, part, hca_buffer, levels), \
      HCASIM_FIELD_IN(type, part, hca_buffer, reserved0), HCASIM_FIELD_IN(type, part, hca_buffer, reserved1)

#define F(field) HCASIM_FIELD(hca_qpc, field)
constexpr entry_field of_qpc[] = {F(state),
                                  F(transport),
                                  F(mtu_shift),
                                  F(access),
                                  F(pd),
                                  F(send_cqn),
                                  F(recv_cqn),
                                  F(dest_qpn),
                                  F(dest_lid),
                                  F(service_level),
                                  F(retry_count),
                                  F(rnr_retry),
                                  F(timeout),
                                  F(min_rnr_timer),
                                  F(max_read_out),
                                  F(max_read_in),
                                  F(signal_all),
                                  F(function),
                                  F(qkey),
                                  F(srqn),
                                  F(record),
                                  F(generation),
                                  F(flags),
                                  F(uar),
                                  F(xrcd),
                                  HCASIM_BUFFER(hca_qpc, sq),
                                  F(next_psn),
                                  F(una_psn),
                                  F(sq_ci),
                                  F(sq_draining),
                                  F(port),
                                  F(bound_windows),
                                  HCASIM_FIELD_IN(hca_qpc, route, hca_route, dgid),
                                  HCASIM_FIELD_IN(hca_qpc, route, hca_route, flow),
                                  HCASIM_FIELD_IN(hca_qpc, route, hca_route, hop_limit),
                                  HCASIM_FIELD_IN(hca_qpc, route, hca_route, global),
                                  HCASIM_FIELD_IN(hca_qpc, route, hca_route, reserved),
                                  F(groups),
                                  F(reserved2),
                                  HCASIM_BUFFER(hca_qpc, rq),
                                  F(rq_stride_shift),
                                  F(nak_sent),
                                  F(rq_ci),
                                  F(expected_psn),
                                  F(msn),
                                  F(inbound),
                                  F(reserved3),
                                  F(in_address),
                                  F(in_key),
                                  F(in_remaining),
                                  F(in_received),
                                  F(in_wqe),
                                  F(in_wqe_held),
                                  F(reserved4),
                                  F(srq_limit),
                                  F(reserved5)};
#undef F
#define F(field) HCASIM_FIELD(hca_mrc, field)
constexpr entry_field of_mrc[] = {F(kind),     F(state),  F(key_byte), F(page_shift), F(levels),      F(flags),
                                  F(function), F(access), F(pd),       F(qpn),        F(parent),      F(start),
                                  F(length),   F(table),  F(table_va), F(extent),     F(extent_count)};
#undef F
#define F(field) HCASIM_FIELD(hca_cqc, field)
constexpr entry_field of_cqc[] = {HCASIM_BUFFER(hca_cqc, buffer),
                                  F(record),
                                  F(pi),
                                  F(ci),
                                  F(state),
                                  F(arm),
                                  F(eqn),
                                  F(reserved0),
                                  F(moderation_count),
                                  F(moderation_us),
                                  F(armed_ci),
                                  F(solicited_pi),
                                  F(since_arm),
                                  F(reserved1)};
#undef F
#undef HCASIM_BUFFER
#undef HCASIM_FIELD_IN
#undef HCASIM_FIELD

// Every byte is in a field.
constexpr bool covers(std::span<const entry_field> fields, std::size_t bytes) {
  std::size_t at = 0;
  for (const entry_field& f : fields) {
    if (f.at != at) return false;
    at += f.bytes;
  }
  return at == bytes;
}
static_assert(covers(of_qpc, sizeof(hca_qpc)));
static_assert(covers(of_mrc, sizeof(hca_mrc)));
static_assert(covers(of_cqc, sizeof(hca_cqc)));

constexpr entry_layout large_layouts[] = {{"qpc", of_qpc}};
constexpr entry_layout small_layouts[] = {{"mrc", of_mrc}, {"cqc", of_cqc}};

// Returns a number in hexadecimal, or the bytes of a longer field.
std::string text_of(const entry_field& f, const std::byte* entry) {
  std::uint64_t v = 0;
  if (f.bytes <= sizeof v) {
    std::memcpy(&v, entry + f.at, f.bytes);
    return rtl::hexadecimal(v);
  }
  std::string text;
  for (std::size_t i = 0; i < f.bytes; ++i) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned>(entry[f.at + i]);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

}  // namespace

std::span<const entry_layout> layouts_of(std::uint32_t entry_bytes) {
  if (entry_bytes == sizeof(hca_qpc)) return large_layouts;
  return small_layouts;
}

std::string fields_unlike(const std::byte* entry, const std::byte* other, std::uint32_t entry_bytes) {
  std::string text;
  for (const entry_layout& l : layouts_of(entry_bytes)) {
    std::string of_layout;
    for (const entry_field& f : l.fields) {
      if (std::memcmp(entry + f.at, other + f.at, f.bytes) != 0)
        of_layout += std::string(" ") + f.name + " " + text_of(f, entry);
    }
    if (!of_layout.empty()) text += (text.empty() ? "" : "; ") + std::string(l.name) + ":" + of_layout;
  }
  return "[" + text + "]";
}

void context_entries::answered(side s, std::uint64_t number, const std::byte* entry) {
  const auto [first, made] = first_.try_emplace(number, one_side{s, {}});
  if (made) {
    std::memcpy(first->second.bytes.data(), entry, entry_bytes_);
    return;
  }
  last_ = number;
  of_last_[first->second.of] = first->second.bytes;
  std::memcpy(of_last_[s].data(), entry, entry_bytes_);
  first_.erase(first);
}

void context_entries::mix(comparison::answer& a, const std::byte* entry, std::uint32_t entry_bytes) {
  for (unsigned w = 0; w < entry_bytes / 8; ++w) {
    std::uint64_t v = 0;
    std::memcpy(&v, entry + 8 * w, 8);
    a[1 + w % 7] = a[1 + w % 7] * 31 + v;
  }
}

std::vector<comparison::field> context_entries::describe(std::uint64_t number, const comparison::answer& a) const {
  std::vector<comparison::field> fields{{"result", a[0] ? "failed" : "an entry"}};
  if (a[0]) {
    fields.push_back({"entries of the area", std::to_string(a[1])});
  } else if (number == last_) {
    comparison::answer of_model{};
    mix(of_model, of_last_[model_side].data(), entry_bytes_);
    const side s = a == of_model ? model_side : rtl_side;
    const side other = s == model_side ? rtl_side : model_side;
    fields.push_back({"the entry", fields_unlike(of_last_[s].data(), of_last_[other].data(), entry_bytes_)});
  }
  return fields;
}

}  // namespace hcasim::lockstep
