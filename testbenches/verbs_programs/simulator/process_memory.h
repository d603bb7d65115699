// The memory of a program's process: bytes by process_vm_readv and process_vm_writev, rights from /proc. A device uses
// /proc/PID/mem where the program has taken rights from itself.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "models/machine/host/outside_memory.h"
#include "testbenches/verbs_programs/simulator/activity.h"

namespace hcasim::applications {

class process_memory final : public outside_memory {
 public:
  explicit process_memory(activity& a) : activity_(a) {}

  void attach(pid_t process) { process_ = process; }
  void detach() { process_ = 0; }
  // Tells whether no other address shows the page's bytes. A page's first answer holds until forget_pages.
  [[nodiscard]] bool is_private(std::uint64_t va) const;
  void forget_pages() { private_.clear(); }
  // Tells whether the kernel has refused this process access to the program's memory.
  [[nodiscard]] bool forbidden() const { return forbidden_; }
  // Returns the address of a mapped page that a device could not access, once.
  std::optional<std::uint64_t> take_unreached() { return std::exchange(unreached_, std::nullopt); }

  bool read(std::uint64_t va, std::span<std::byte> to) const override;
  bool write(std::uint64_t va, std::span<const std::byte> from) override;
  bool device_read(std::uint64_t va, std::span<std::byte> to) const override;
  bool device_write(std::uint64_t va, std::span<const std::byte> from) override;
  [[nodiscard]] std::vector<piece> mapped(std::uint64_t va, std::uint64_t bytes) const override;

 private:
  bool complete(ssize_t moved, std::size_t wanted) const;
  // Returns the rights as in `maps`; "" = the address is unmapped.
  [[nodiscard]] std::string rights_at(std::uint64_t va) const;
  template <class Move>
  bool by_force(std::uint64_t va, std::size_t bytes, int mode, Move move) const;

  activity& activity_;
  pid_t process_ = 0;
  mutable bool forbidden_ = false;
  mutable std::optional<std::uint64_t> unreached_;
  mutable std::map<std::uint64_t, bool> private_;  // by page
};

// Returns the ranges of a `maps` file, cut to [va, va + bytes). Neighbours with equal rights are joined.
std::vector<outside_memory::piece> parse_maps(const std::string& text, std::uint64_t va, std::uint64_t bytes);

}  // namespace hcasim::applications
