#include "tlm/icm_sound.h"

#include <cstring>

#include "firmware/abi/sound.h"

namespace hcasim {
namespace {

template <class T, class Rule>
bool sound(std::span<const std::byte> bytes, Rule rule) {
  if (bytes.size() != sizeof(T)) return true;
  T entry;
  std::memcpy(&entry, bytes.data(), sizeof entry);
  return rule(entry);
}

bool ptes_sound(std::span<const std::byte> bytes) {
  for (; bytes.size() >= sizeof(hca_pte); bytes = bytes.subspan(sizeof(hca_pte))) {
    hca_pte entry = 0;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    if (!hca_pte_sound(entry)) return false;
  }
  return true;
}

}  // namespace

bool is_sound(icm_entry kind, std::span<const std::byte> bytes, unsigned mtu_shift) {
  switch (kind) {
    case icm_entry::qpc:
      return sound<hca_qpc>(bytes, [&](const hca_qpc& q) {
        const bool group = q.transport == HCA_TRANSPORT_GROUP;  // a group has no path
        return hca_qpc_sound(&q) && (group || q.mtu_shift <= mtu_shift);
      });
    case icm_entry::cqc:
      return sound<hca_cqc>(bytes, [](const hca_cqc& c) { return hca_cqc_sound(&c); });
    case icm_entry::mrc:
      return sound<hca_mrc>(bytes, [](const hca_mrc& m) { return hca_mrc_sound(&m); });
    case icm_entry::pte:
      return ptes_sound(bytes);
    default:
      return true;
  }
}

}  // namespace hcasim
