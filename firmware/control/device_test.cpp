#include <gtest/gtest.h>

#include "firmware/control/commands.h"
#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

TEST(device, query_works_before_init) {
  firmware_bench b(small_limits(), false);
  ASSERT_EQ(b.query(HCA_CMD_QUERY_DEVICE, 0, sizeof(hca_device_info)), HCA_OK);
  const auto i = b.h.get<hca_device_info>(b.out);
  EXPECT_EQ(i.log_max_qps, 6U);
  EXPECT_EQ(i.log_max_cqs, 6U);
  EXPECT_EQ(i.log_max_mrs, 8U);
  EXPECT_EQ(i.max_wqe_blocks, 16U);
  EXPECT_EQ(i.max_inline, 512U);
  EXPECT_EQ(i.max_sge, 16U);
  EXPECT_EQ(i.max_read_depth, 16U);
  EXPECT_EQ(i.page_shifts, small_limits().page_shifts);
  EXPECT_EQ(i.blueflame_bytes, 1024U);
  EXPECT_EQ(i.max_table_levels, 4U);
  EXPECT_EQ(i.port_lid, 7U);
  EXPECT_EQ(i.firmware_version, static_cast<std::uint32_t>(FW_VERSION));
  EXPECT_EQ(b.command.token, 0x1234U);
}

// Every command, refused in turn for the opcode, the state and the length of its mailboxes.
TEST(device, every_opcode_is_checked) {
  struct shape {
    std::uint16_t opcode;
    bool in;
    std::uint32_t out;
  };
#define SHAPE(name, handler, needs_init, in, out, locks) {HCA_CMD_##name, in, out},
  std::vector<shape> shapes{FW_COMMANDS(SHAPE)};
#undef SHAPE
  std::erase_if(shapes, [](const shape& s) { return s.opcode == HCA_CMD_QUERY_DEVICE || s.opcode == HCA_CMD_INIT; });
  firmware_bench b(small_limits(), false);
  std::vector<bool> known(0x10000);
  known[HCA_CMD_QUERY_DEVICE] = known[HCA_CMD_INIT] = true;
  for (const shape& s : shapes) {
    known[s.opcode] = true;
    EXPECT_EQ(b.raw(s.opcode, 0, 0, 0, 0), HCA_BAD_STATE) << s.opcode;
  }
  for (std::uint32_t opcode = 0; opcode < 0x10000; opcode++) {
    if (!known[opcode]) {
      ASSERT_EQ(b.raw(static_cast<std::uint16_t>(opcode), 0, 0, 0, 0), HCA_BAD_OPCODE);
    }
  }
  ASSERT_EQ(b.init(), HCA_OK);
  for (const shape& s : shapes) {
    EXPECT_EQ(b.raw(s.opcode, 0, 0, s.in ? 64 : 0, s.out + 1), HCA_BAD_LENGTH) << s.opcode;
    if (s.out != 0) {
      EXPECT_EQ(b.raw(s.opcode, 0, 0, 0, 0), HCA_BAD_LENGTH) << s.opcode;
    }
    EXPECT_EQ(b.raw(s.opcode, 0, 0, s.in ? 0 : 1, s.out), HCA_BAD_LENGTH) << s.opcode;
    EXPECT_EQ(b.raw(s.opcode, 0, 0, s.in ? 7 : 8, s.out), HCA_BAD_LENGTH) << s.opcode;
  }
  b.h.hole = b.in;
  b.h.hole_bytes = 4096;
  EXPECT_EQ(b.raw(HCA_CMD_REGISTER, 0, 0, 64, 0), HCA_MEMORY_FAULT);
  b.h.hole = b.out;
  EXPECT_EQ(b.query(HCA_CMD_QUERY_DEVICE, 0, sizeof(hca_device_info)), HCA_MEMORY_FAULT);
}

TEST(device, init_tells_the_units_where_contexts_lie) {
  firmware_bench b;
  EXPECT_EQ(b.h.area_base[HAL_CACHE_QPC], b.areas().qpc_base);
  EXPECT_EQ(b.h.area_base[HAL_CACHE_CQC], b.areas().cqc_base);
  EXPECT_EQ(b.h.area_base[HAL_CACHE_MRC], b.areas().mrc_base);
  EXPECT_EQ(b.h.area_base[HAL_CACHE_EXTENT], b.areas().extent_base);
  EXPECT_EQ(b.h.area_entries, (std::array<std::uint64_t, 4>{64, 64, 256, 32}));
  EXPECT_EQ(b.init(), HCA_BAD_STATE);
  EXPECT_EQ(b.run(HCA_CMD_CLOSE), HCA_OK);
  EXPECT_EQ(b.h.area_entries, (std::array<std::uint64_t, 4>{0, 0, 0, 0}));
  EXPECT_EQ(b.run(HCA_CMD_CLOSE), HCA_BAD_STATE);
  EXPECT_EQ(b.init(), HCA_OK);
}

TEST(device, init_refuses_bad_areas) {
  firmware_bench b(small_limits(), false);
  const auto with = [&](auto change) {
    hca_init a = b.areas();
    change(a);
    return b.run(HCA_CMD_INIT, 0, 0, a);
  };
  EXPECT_EQ(with([](hca_init& a) { a.log_qps = 7; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.log_cqs = 7; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.log_mrs = 9; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.log_mrs = 0; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.qpc_base += 64; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.cqc_base += 32; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.mrc_base += 8; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.table_base += 8; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.table_bytes += 64; }), HCA_BAD_PARAMETER) << "more than the firmware can keep track of";
  EXPECT_EQ(with([](hca_init& a) { a.table_base = ~0ULL << 12; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.extent_base += 16; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.extent_lines++; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.reserved0 = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.map_base = 4096; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init&) {}), HCA_OK);
}

TEST(device, init_takes_a_map_of_icm_if_the_adapter_has_one) {
  fw_limits l = small_limits();
  l.flags |= FW_ICM_MAP;
  firmware_bench b(l, false);
  const auto with = [&](auto change) {
    hca_init a = b.areas();
    a.map_base = 0x7008;
    change(a);
    return b.run(HCA_CMD_INIT, 0, 0, a);
  };
  EXPECT_EQ(with([](hca_init& a) { a.map_base = 0; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.map_base += 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_init& a) { a.mrc_base += 64; }), HCA_BAD_PARAMETER) << "areas begin on pages";
  EXPECT_EQ(with([](hca_init&) {}), HCA_OK);
  EXPECT_EQ(b.h.map_base, 0x7008U);
  EXPECT_EQ(b.run(HCA_CMD_CLOSE), HCA_OK);
  EXPECT_EQ(b.h.map_base, 0U);
}

TEST(device, close_is_refused_while_anything_lives) {
  firmware_bench b;
  ASSERT_EQ(b.create_eq(), 0U);
  EXPECT_EQ(b.run(HCA_CMD_CLOSE), HCA_BUSY);
  ASSERT_EQ(b.run(HCA_CMD_DESTROY_EQ, 0), HCA_OK);
  ASSERT_EQ(b.register_region(region(0, 4096), {{0x1000, 0x1000}}), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  EXPECT_EQ(b.run(HCA_CMD_CLOSE), HCA_BUSY);
  ASSERT_EQ(b.deregister(key), HCA_OK);
  EXPECT_EQ(b.run(HCA_CMD_CLOSE), HCA_OK);
}

}  // namespace
