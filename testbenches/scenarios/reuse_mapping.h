// The host's side of the ways: the mapping of a stream's buffer, and the message to the target when it changes.
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
  // Swaps out buffer b, which was filled and read; makes room for buffer b + buffers, if the stream has one.
  virtual bool swap(std::uint64_t b, std::vector<grant>& tell) = 0;
  virtual bool close() = 0;
  // Buffers that come and go together: the first and the last of them decide for all.
  [[nodiscard]] virtual std::uint32_t at_once() const { return 1; }
  // Returns whether one key over all buffers is held by every target. False = a key is for the target that fills its buffer.
  [[nodiscard]] virtual bool shares_its_key() const { return false; }
  [[nodiscard]] virtual std::uint64_t host_address(std::uint64_t b) const;

  static std::unique_ptr<reuse_mapping> make(reuse_mode m, process_context& p, const std::vector<ibv_qp*>& qps,
                                             const reuse_options& o, std::uint64_t total);

 protected:
  [[nodiscard]] std::uint64_t mapped_at_first() const { return std::min<std::uint64_t>(o_.buffers, total_); }
  [[nodiscard]] bool has(std::uint64_t b) const { return b < total_; }
  // Returns the first buffer of b's batch, whose buffers come and go together; batch_size returns their number.
  [[nodiscard]] std::uint64_t batch_of(std::uint64_t b) const { return b - b % o_.batch; }
  [[nodiscard]] std::uint64_t batch_size(std::uint64_t first) const {
    return std::min<std::uint64_t>(o_.batch, total_ - first);
  }
  // Counts buffer b as filled; returns whether its whole batch is.
  bool all_filled(std::uint64_t b) { return ++filled_[b / o_.batch] == batch_size(batch_of(b)); }
  [[nodiscard]] grant grant_of(std::uint64_t b, std::uint64_t count, std::uint64_t va, std::uint32_t key) const;

  process_context& p_;
  const std::vector<ibv_qp*>& qps_;  // one for each target
  const reuse_options o_;
  std::uint64_t total_;  // buffers of the whole stream
  std::uint64_t memory_;
  std::vector<std::uint32_t> filled_;  // filled buffers of each batch
};

}  // namespace hcasim::kit
