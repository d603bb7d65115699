#include "testbenches/program/recording/recorded_memory.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "models/driver/device/device.h"
#include "testbenches/program/recording/node_of.h"

namespace hcasim {
namespace {

using namespace driver;  // NOLINT(google-build-using-namespace): objects of verbs
using namespace verbs;   // NOLINT(google-build-using-namespace): verbs

constexpr std::uint64_t page = 4096;

// Returns false for whole address spaces, kept keys and the like: what is behind an address may change under the key.
bool has_memory_of_its_own(const memory_region& mr) {
  switch (mr.kind) {
    case region_kind::plain:
    case region_kind::dma_buf:
    case region_kind::device_memory:
      return true;
    case region_kind::on_demand:
      return mr.length <= std::uint64_t{1} << 40;
    default:
      return false;
  }
}

const char* memory_name(const memory_region& mr) {
  switch (mr.kind) {
    case region_kind::plain:
      return mr.peer ? "gpu" : "host";
    case region_kind::dma_buf:
      return "gpu";
    case region_kind::device_memory:
      return "device";
    case region_kind::on_demand:
      return "on_demand";
    default:
      return "host";
  }
}

}  // namespace

void recorded_memory::add_region(std::size_t node, const region& r, const char* memory) {
  objects_.push_back(
      fmt::format("region {} node {} bytes {} offset {} memory {}", r.number, node, r.length, r.begin % page, memory));
}

// Finds the region of a key, or else a plain region with the address, or else memory around the address.
const recorded_memory::region& recorded_memory::find_region(const ibv_context* context, std::uint32_t key,
                                                            std::uint64_t address, std::uint64_t bytes) {
  const auto holds = [&](std::uint64_t begin, std::uint64_t length) { return address >= begin && address - begin <= length; };
  const auto known = regions_.find({node_of(context), key});
  if (known != regions_.end() && holds(known->second.begin, known->second.length)) return known->second;
  const memory_region* found = nullptr;
  for (const memory_region* mr : static_cast<const process*>(context)->mrs.slots()) {
    if (!mr || !holds(mr->iova, mr->length)) continue;
    if (mr->lkey == key || mr->rkey == key || mr->key == key) {
      found = mr;
      break;
    }
    if (!found && mr->kind == region_kind::plain && mr->iova != 0) found = mr;
  }
  if (!found) return range(context, address, bytes, "host");
  if (!has_memory_of_its_own(*found)) return range(context, address, bytes, memory_name(*found));
  region& r = regions_[{node_of(context), key}] = {region_count_++, found->iova, found->length};
  add_region(node_of(context), r, memory_name(*found));
  return r;
}

// Returns a region around memory that has none of its own, in whole steps.
const recorded_memory::region& recorded_memory::range(const ibv_context* context, std::uint64_t address, std::uint64_t bytes,
                                                      const char* memory) {
  constexpr std::uint64_t step = 2 << 20;
  const std::uint64_t begin = address / step * step;
  const std::uint64_t length = (address + std::max<std::uint64_t>(bytes, 1) - begin + step - 1) / step * step;
  const auto [at, fresh] = ranges_.try_emplace({node_of(context), begin, length}, region{region_count_, begin, length});
  if (fresh) {
    ++region_count_;
    add_region(node_of(context), at->second, memory);
  }
  return at->second;
}

std::size_t recorded_memory::number_of(const ibv_context* context, std::uint32_t key, const char* kind, unsigned pages) {
  const auto [at, fresh] = keys_.try_emplace({node_of(context), key >> 8, kind}, keys_.size());
  if (fresh) objects_.push_back(fmt::format("key {} node {} kind {} pages {}", at->second, node_of(context), kind, pages));
  return at->second;
}

void recorded_memory::add_place(const ibv_context* context, std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                                std::string& out) {
  const auto end = std::back_inserter(out);
  if (const auto k = covered_.find({node_of(context), key}); k != covered_.end()) {
    fmt::format_to(end, "k{}+{}", k->second.number, address - k->second.begin);
    return;
  }
  const region& r = find_region(context, key, address, bytes);
  fmt::format_to(end, "{}+{}", r.number, address - r.begin);
}

void recorded_memory::add_made_key(const ibv_send_wr& wr, std::string& out) {
  const auto end = std::back_inserter(out);
  if (wr.opcode == IBV_WR_REG_MR) {
    const auto& mr = static_cast<const memory_region&>(*wr.reg_mr.mr);
    const std::size_t number = number_of(mr.context, wr.reg_mr.key, "fast", mr.max_pages);
    const region& r = range(mr.context, mr.iova, mr.length, "host");
    fmt::format_to(end, " {}@{}+{} to key {} {}", mr.length, r.number, mr.iova - r.begin, number, wr.reg_mr.access);
    covered_[{node_of(mr.context), wr.reg_mr.key}] = {number, mr.iova};
    return;
  }
  const ibv_mw& mw = *wr.bind_mw.mw;
  const ibv_mw_bind_info& info = wr.bind_mw.bind_info;
  const std::size_t number = number_of(mw.context, wr.bind_mw.rkey, mw.type == IBV_MW_TYPE_1 ? "window1" : "window2", 0);
  if (info.mr && info.length != 0) {
    fmt::format_to(end, " {}@", info.length);
    add_place(mw.context, info.mr->lkey, info.addr, info.length, out);
  } else {
    out += " -";
  }
  // Addresses within a zero-based window are offsets; the window of a replay begins at its memory.
  const bool zero_based = (info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0;
  fmt::format_to(end, " to key {} {}", number, info.mw_access_flags & ~unsigned{IBV_ACCESS_ZERO_BASED});
  covered_[{node_of(mw.context), wr.bind_mw.rkey}] = {number, zero_based ? 0 : info.addr};
}

bool recorded_memory::add_ended_key(const ibv_context* context, std::uint32_t key, std::string& out) {
  const auto at = context ? covered_.find({node_of(context), key}) : covered_.end();
  if (at == covered_.end()) {
    out += " to key ?";
    return false;
  }
  fmt::format_to(std::back_inserter(out), " to key {}", at->second.number);
  return true;
}

}  // namespace hcasim
