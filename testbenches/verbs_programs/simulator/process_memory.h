// The memory of a program's process: bytes by process_vm_readv and process_vm_writev, rights as /proc has them.
#pragma once

#include <sys/types.h>

#include "models/machine/host/outside_memory.h"
#include "testbenches/verbs_programs/simulator/activity.h"

namespace hcasim::applications {

class process_memory final : public outside_memory {
 public:
  explicit process_memory(activity& a) : activity_(a) {}

  void attach(pid_t process) { process_ = process; }
  void detach() { process_ = 0; }
  // The kernel does not let this process touch the program's memory.
  [[nodiscard]] bool forbidden() const { return forbidden_; }

  bool read(std::uint64_t va, std::span<std::byte> to) const override;
  bool write(std::uint64_t va, std::span<const std::byte> from) override;
  [[nodiscard]] std::vector<piece> mapped(std::uint64_t va, std::uint64_t bytes) const override;

 private:
  bool complete(ssize_t moved, std::size_t wanted) const;

  activity& activity_;
  pid_t process_ = 0;
  mutable bool forbidden_ = false;
};

// The lines of a `maps` file that lie in [va, va + bytes), cut to it, those with equal rights joined.
std::vector<outside_memory::piece> parse_maps(const std::string& text, std::uint64_t va, std::uint64_t bytes);

}  // namespace hcasim::applications
