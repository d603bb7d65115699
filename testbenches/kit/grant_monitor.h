// Watches the PCIe side of a host's memory, or the port of a peer device: whether DMA touches a byte of the arena without a
// grant.
//
// A byte may be touched from the moment an order is given that may grant it until the moment that its taking away has
// completed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/machine/host/host.h"
#include "models/machine/peer_device/peer_device.h"

namespace hcasim::kit {

class grant_monitor final : public dma_monitor, public peer_monitor {
 public:
  static constexpr std::uint8_t readable = 1;
  static constexpr std::uint8_t writable = 2;
  static constexpr std::uint64_t page_bytes = 4096;

  // [va, va + bytes) of `memory`, on pages.
  grant_monitor(host& h, const virtual_memory& memory, std::uint64_t va, std::uint64_t bytes)
      : host_(&h), va_(va), may_(bytes) {
    for (std::uint64_t at = 0; at < bytes; at += page_bytes) frames_[memory.translate(va + at) / page_bytes] = at;
    host_->observe_dma(this);
  }
  // [va, va + bytes) of the device's memory; `place` gives the offset of a page in it.
  template <class Place>
  grant_monitor(peer_device& d, std::uint64_t va, std::uint64_t bytes, Place place) : device_(&d), va_(va), may_(bytes) {
    for (std::uint64_t at = 0; at < bytes; at += page_bytes) frames_[place(va + at) / page_bytes] = at;
    device_->observe(this);
  }
  ~grant_monitor() override {
    if (host_) host_->observe_dma(nullptr);
    if (device_) device_->observe(nullptr);
  }
  grant_monitor(const grant_monitor&) = delete;
  grant_monitor& operator=(const grant_monitor&) = delete;

  void forbid_all() { may_.assign(may_.size(), 0); }
  void allow(std::uint64_t va, std::uint64_t bytes, std::uint8_t what) {
    for (std::uint64_t i = 0; i < bytes; ++i) may_.at(va - va_ + i) |= what;
  }
  void forbid(std::uint64_t va, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) may_.at(va - va_ + i) = 0;
  }

  [[nodiscard]] std::uint64_t bytes_seen() const { return seen_; }
  [[nodiscard]] std::uint64_t violations() const { return violations_; }  // bytes
  // Pages of physical memory, by number, that were written and are not of the arena.
  [[nodiscard]] const std::unordered_set<std::uint64_t>& written_outside() const { return outside_; }
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  void peer_access(bool write, std::uint64_t offset, std::uint64_t bytes, ps t) override { dma(write, offset, bytes, t); }
  void dma(bool write, std::uint64_t address, std::uint64_t bytes, ps t) override {
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t in_page = (address + done) % page_bytes;
      const std::uint64_t n = std::min(bytes - done, page_bytes - in_page);
      const auto frame = frames_.find((address + done) / page_bytes);
      if (frame != frames_.end()) {
        touched(write, frame->second + in_page, n, t);
      } else if (write) {
        outside_.insert((address + done) / page_bytes);
      }
      done += n;
    }
  }
  void touched(bool write, std::uint64_t first, std::uint64_t bytes, ps t) {
    seen_ += bytes;
    for (std::uint64_t at = first; at < first + bytes; ++at) {
      if (may_[at] & (write ? writable : readable)) continue;
      ++violations_;
      if (!violation_.empty()) continue;
      violation_ = std::string(write ? "a write landed on" : "a read fetched") + " byte " + std::to_string(at) +
                   " of the arena at " + std::to_string(t.count()) + " ps, without a grant";
    }
  }

  host* host_ = nullptr;
  peer_device* device_ = nullptr;
  std::uint64_t va_;
  std::vector<std::uint8_t> may_;
  std::unordered_map<std::uint64_t, std::uint64_t> frames_;  // physical page -> offset in the arena
  std::unordered_set<std::uint64_t> outside_;
  std::uint64_t seen_ = 0;
  std::uint64_t violations_ = 0;
  std::string violation_;
};

}  // namespace hcasim::kit
