// The host's side of the ways: how a buffer of the stream is mapped, and what the target has to be told when it changes.
#pragma once

#include <memory>

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/scenarios/reuse_state.h"

namespace hcasim::kit {

// Buffer number b of the stream lies in slot b % buffers while it is mapped.
class reuse_mapping {
 public:
  reuse_mapping(process_context& p, const std::vector<ibv_qp*>& qps, const reuse_options& o, std::uint64_t total);
  virtual ~reuse_mapping() = default;

  virtual bool open(std::vector<grant>& tell) = 0;
  // Buffer b was filled and read; makes room for buffer b + buffers, if the stream has one.
  virtual bool swap(std::uint64_t b, std::vector<grant>& tell) = 0;
  virtual bool close() = 0;
  // Buffers that come and go together: the first and the last of them decide for all.
  [[nodiscard]] virtual std::uint32_t at_once() const { return 1; }
  // One key over all buffers: every target holds it. Otherwise a buffer's key is for the target that fills it.
  [[nodiscard]] virtual bool shares_its_key() const { return false; }
  [[nodiscard]] virtual std::uint64_t host_address(std::uint64_t b) const;

  static std::unique_ptr<reuse_mapping> make(reuse_mode m, process_context& p, const std::vector<ibv_qp*>& qps,
                                             const reuse_options& o, std::uint64_t total);

 protected:
  [[nodiscard]] std::uint64_t mapped_at_first() const { return std::min<std::uint64_t>(o_.buffers, total_); }
  [[nodiscard]] bool has(std::uint64_t b) const { return b < total_; }
  // The buffers that come and go with buffer b: the first of them, and how many there are.
  [[nodiscard]] std::uint64_t batch_of(std::uint64_t b) const { return b - b % o_.batch; }
  [[nodiscard]] std::uint64_t batch_size(std::uint64_t first) const {
    return std::min<std::uint64_t>(o_.batch, total_ - first);
  }
  // Buffer b was filled; are all that go with it?
  bool all_filled(std::uint64_t b) { return ++filled_[b / o_.batch] == batch_size(batch_of(b)); }
  [[nodiscard]] grant grant_of(std::uint64_t b, std::uint64_t count, std::uint64_t va, std::uint32_t key) const;

  process_context& p_;
  const std::vector<ibv_qp*>& qps_;  // of each target
  const reuse_options o_;
  std::uint64_t total_;  // buffers of the whole stream
  std::uint64_t memory_;
  std::vector<std::uint32_t> filled_;  // of each batch
};

}  // namespace hcasim::kit
