#include "models/adapter/send_queue/protection_changes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "firmware/abi/access.h"

namespace hcasim {
namespace {

constexpr std::size_t reserved_bytes = sizeof(hca_wqe_bind::reserved);

template <class Body>
work_request request(std::uint8_t opcode, const Body& body) {
  work_request w{};
  hca_wqe_control c{};
  c.opcode = opcode;
  std::memcpy(w.bytes.data(), &c, sizeof c);
  std::memcpy(w.bytes.data() + sizeof c, &body, sizeof body);
  return w;
}

// A copy that a compiler leaves out finds these bytes.
[[gnu::noinline]] void fill_stack() {
  volatile std::uint8_t bytes[4096];
  for (volatile std::uint8_t& b : bytes) b = 0xa5;
}

bool read(const work_request& w, window_request& out) {
  const hca_qpc q{};
  fill_stack();
  return read_change(w, q, out);
}

TEST(protection_changes, a_bind_is_read_whole) {
  hca_wqe_bind b{};
  b.va = 0x1122334455667788;
  b.length = 0x99aabbccddeeff;
  b.window_key = 0x101;
  b.new_key = 0x102;
  b.region_key = 0x203;
  b.access = HCA_ACCESS_REMOTE_READ;
  b.type = 2;
  window_request out;
  ASSERT_TRUE(read(request(HCA_WQE_BIND, b), out));
  EXPECT_EQ(out.op, window_op::bind);
  EXPECT_EQ(out.va, b.va);
  EXPECT_EQ(out.length, b.length);
  EXPECT_EQ(out.key, b.window_key);
  EXPECT_EQ(out.new_key, b.new_key);
  EXPECT_EQ(out.region_key, b.region_key);
  EXPECT_EQ(out.access, b.access);
  EXPECT_EQ(out.type, b.type);
}

TEST(protection_changes, a_fast_registration_is_read_whole) {
  hca_wqe_fast_reg f{};
  f.va = 0x1122334455667788;
  f.length = 0x99aabbccddeeff;
  f.list = 0x40;
  f.key = 0x101;
  f.access = HCA_ACCESS_REMOTE_WRITE;
  f.page_shift = 12;
  window_request out;
  ASSERT_TRUE(read(request(HCA_WQE_FAST_REG, f), out));
  EXPECT_EQ(out.op, window_op::fast_register);
  EXPECT_EQ(out.va, f.va);
  EXPECT_EQ(out.length, f.length);
  EXPECT_EQ(out.list, f.list);
  EXPECT_EQ(out.key, f.key);
  EXPECT_EQ(out.access, f.access);
  EXPECT_EQ(out.page_shift, f.page_shift);
}

TEST(protection_changes, every_reserved_byte_must_be_zero) {
  window_request out;
  for (std::size_t i = 0; i < reserved_bytes; ++i) {
    hca_wqe_bind b{};
    b.reserved[i] = 1;
    EXPECT_FALSE(read(request(HCA_WQE_BIND, b), out)) << i;
    hca_wqe_fast_reg f{};
    f.reserved[i] = 0x80;
    EXPECT_FALSE(read(request(HCA_WQE_FAST_REG, f), out)) << i;
  }
}

}  // namespace
}  // namespace hcasim
