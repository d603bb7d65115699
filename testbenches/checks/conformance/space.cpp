#include "testbenches/checks/conformance/space.h"

namespace hcasim::kit {
namespace {

constexpr int space_rights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

}  // namespace

space_case::space_case(cpu& c, node& n, std::uint64_t pages, unsigned space_flags, bool tied)
    : base(c, n), flags(space_flags), memory(base.p.memory.allocate(pages * page)), last_memory(memory) {
  const x_buffer buffer{memory, pages * page};
  EXPECT_EQ(x_register(c, p().pd, tied ? base.b : nullptr, {&buffer, 1}, space_rights, flags, &r), 0);
}

std::uint64_t space_case::add(std::uint64_t pages, std::uint64_t va) {
  last_memory = p().memory.allocate(pages * page);
  const x_buffer buffer{last_memory, pages * page};
  EXPECT_EQ(x_reregister_add(base.c, p().context, r.key, {&buffer, 1}, &r, va, flags), 0);
  return last_memory;
}

bool space_case::reaches(std::uint64_t va, std::uint64_t at) {
  p().fill(base.here.addr, 64, static_cast<std::uint8_t>(va >> 12));
  const auto sent = p().bytes(base.here.addr, 64);
  if (base.write(va, r.key).status != IBV_WC_SUCCESS || p().bytes(at, 64) != sent) return false;
  p().fill(at, 64, static_cast<std::uint8_t>(va >> 11 | 1));
  return base.read(va, r.key).status == IBV_WC_SUCCESS && p().bytes(base.here.addr, 64) == p().bytes(at, 64);
}

void space_case::denied(std::uint64_t va, std::uint32_t key) {
  const auto before = p().bytes(memory, 64);
  EXPECT_EQ(base.write(va, key).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(p().bytes(memory, 64), before);
  base.reconnect();
}

}  // namespace hcasim::kit
