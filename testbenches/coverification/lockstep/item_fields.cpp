#include "testbenches/coverification/lockstep/item_fields.h"

#include <array>
#include <stdexcept>

namespace hcasim::lockstep {
namespace {

constexpr std::string_view key_kinds[] = {"check", "element", "drain", "change", "set_mrc", "set_line"};
constexpr std::string_view context_kinds[] = {"fetch", "write",    "drop",   "replace", "set_area",
                                              "put",   "set_read", "update", "more",    "renew"};
constexpr std::string_view walk_kinds[] = {"walk", "drop", "remap", "set_read"};
constexpr std::string_view write_kinds[] = {"sq", "rq", "cq", "eq", "blueflame", "broken_blueflame", "bad", "qp"};

constexpr std::uint32_t accesses = 0x3;  // check, element
constexpr item_field of_keys[] = {
    {"gap", 0, 8, 16, 0xf, true},       {"hold", 0, 24, 16, 0x1, true}, {"remote", 0, 48, 1, accesses},
    {"privileged", 0, 49, 1, accesses}, {"aimed", 0, 50, 1, 0x4},       {"key", 1, 0, 32, 0xf},
    {"rights", 1, 32, 32, 0x1},         {"pd", 2, 0, 32, 0x1},          {"qpn", 2, 32, 32, 0x1},
    {"generation", 3, 0, 32, 0x1},      {"function", 3, 32, 16, 0x1},   {"va", 4, 0, 64, accesses},
    {"length", 5, 0, 64, 0x1}};
constexpr std::uint32_t of_entries = 0x28f;  // fetch, write, drop, replace, update, renew
constexpr item_field of_contexts[] = {
    {"gap", 0, 8, 16, 0x29f, true}, {"hold", 0, 24, 16, 0x83, true}, {"index", 1, 0, 32, of_entries}};
constexpr std::uint32_t translations = 0x7;  // walk, drop, remap
constexpr item_field of_walks[] = {{"gap", 0, 8, 16, translations, true},
                                   {"write", 0, 24, 1, 0x1},
                                   {"races", 0, 25, 1, 0x4},
                                   {"map", 0, 32, 32, translations},
                                   {"va", 1, 0, 64, translations},
                                   {"length", 3, 0, 64, 0x1},
                                   {"index", 4, 0, 32, translations},
                                   {"levels", 4, 32, 8, translations},
                                   {"page_shift", 4, 40, 8, translations},
                                   {"null", 4, 48, 1, translations},
                                   {"indirect", 4, 49, 1, translations},
                                   {"on_demand", 4, 50, 1, translations}};
constexpr std::uint32_t with_wqe = 0x30;  // blueflame, broken_blueflame
constexpr item_field of_writes[] = {{"gap", 0, 8, 16, 0x7f, true},  {"page", 0, 24, 16, 0x7f},  {"offset", 1, 0, 16, 0x7f},
                                    {"blocks", 1, 16, 8, with_wqe}, {"bytes", 1, 32, 32, 0x7f}, {"number", 2, 0, 32, 0x7f},
                                    {"value", 2, 32, 32, 0x7f}};

struct unit_items {
  std::string_view unit;
  std::span<const std::string_view> kinds;
  std::uint32_t of_memory;
  std::uint32_t of_events;
  std::span<const item_field> fields;
};
constexpr std::uint32_t changed_entries = 0x28c;  // drop, replace, update, renew
constexpr unit_items all_units[] = {{"doorbell", write_kinds, 0x80, 0, of_writes},
                                    {"key_check", key_kinds, 0x30, 0xc, of_keys},
                                    {"context_cache", context_kinds, 0x140, changed_entries, of_contexts},
                                    {"qpc_cache", context_kinds, 0x140, changed_entries, of_contexts},
                                    {"page_walker", walk_kinds, 0x8, 0x6, of_walks}};

const unit_items& items_of(std::string_view unit) {
  for (const unit_items& u : all_units) {
    if (u.unit == unit) return u;
  }
  throw std::invalid_argument("lockstep: there is no unit '" + std::string(unit) + "'");
}

}  // namespace

std::span<const std::string_view> item_kinds(std::string_view unit) {
  return items_of(unit).kinds;
}

std::uint32_t kinds_of_memory(std::string_view unit) {
  return items_of(unit).of_memory;
}

std::uint32_t kinds_of_events(std::string_view unit) {
  return items_of(unit).of_events;
}

std::span<const item_field> item_fields(std::string_view unit) {
  return items_of(unit).fields;
}

}  // namespace hcasim::lockstep
