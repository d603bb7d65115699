// Registration: TC-K01, TC-M*, TC-R* as far as they need no traffic. The control firmware is the real one.
#include <algorithm>

#include "models/driver/testing/bench.h"

namespace hcasim::testing {
namespace {

using namespace verbs;

constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct memory_test : ::testing::Test {
  std::unique_ptr<bench> made = std::make_unique<bench>(config());
  bench& b = *made;
  std::uint64_t at = b.memory.allocate(16 * 4096);

  static driver::driver_config config() { return {}; }
  void run(std::function<void(cpu&)> program) {
    b.run([&](cpu& c) {
      b.pd = ibv_alloc_pd(c, b.context);
      pinned_before = b.memory.pinned_bytes();
      program(c);
    });
  }
  [[nodiscard]] std::uint64_t pinned() const { return b.memory.pinned_bytes() - pinned_before; }
  // nullptr, this errno, nothing pinned and nothing on the adapter.
  void refused(cpu& c, std::uint64_t addr, std::uint64_t length, int access, int expected) {
    const std::uint64_t before = pinned();
    const std::uint32_t mrs = b.adapter.usage().mrs;
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(c, b.pd, addr, length, access), nullptr);
    EXPECT_EQ(errno, expected);
    EXPECT_EQ(pinned(), before);
    EXPECT_EQ(b.adapter.usage().mrs, mrs);
  }
  std::uint64_t pinned_before = 0;
};

TEST_F(memory_test, TC_K01_KeysAreDistinct) {
  run([&](cpu& c) {
    std::vector<std::uint32_t> indices;
    for (int i = 0; i < 3; ++i) {
      const ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, rights);
      ASSERT_NE(mr, nullptr);
      EXPECT_EQ(mr->lkey, mr->rkey);
      EXPECT_NE(mr->lkey, 0U);
      EXPECT_GE(hca_key_index(mr->lkey), 1U);
      indices.push_back(hca_key_index(mr->lkey));
    }
    std::sort(indices.begin(), indices.end());
    EXPECT_EQ(std::adjacent_find(indices.begin(), indices.end()), indices.end());
  });
}

TEST_F(memory_test, DescribesTheRegionToTheAdapter) {
  run([&](cpu& c) {
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at + 0x234, 3 * 4096, rights);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(mr->addr, at + 0x234);
    EXPECT_EQ(mr->length, 3 * 4096U);
    EXPECT_EQ(mr->pd, b.pd);
    EXPECT_EQ(pinned(), 4 * 4096U);
    hca_mrc m{};
    EXPECT_EQ(hcax_query_mr(c, mr, &m), 0);
    EXPECT_EQ(m.kind, HCA_MRC_REGION);
    EXPECT_EQ(m.state, HCA_MRC_VALID);
    EXPECT_EQ(m.key_byte, hca_key_byte(mr->lkey));
    EXPECT_EQ(m.start, at + 0x234);
    EXPECT_EQ(m.length, 3 * 4096U);
    EXPECT_EQ(m.access, static_cast<std::uint32_t>(rights));
    // The table leads to the frames of the process.
    for (std::uint64_t i = 0; i < 4; ++i) {
      const auto entry = b.machine.memory_bytes().get<hca_pte>(m.table + 8 * i);
      EXPECT_EQ(hca_pte_address(entry), b.memory.translate(at + 4096 * i));
    }
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    EXPECT_EQ(pinned(), 0U);
    EXPECT_EQ(b.adapter.usage().mrs, 0U);
    EXPECT_EQ(b.adapter.usage().table_bytes, 0U);
  });
}

TEST_F(memory_test, TC_M01_M02_M03_Access) {
  run([&](cpu& c) {
    refused(c, at, 4096, IBV_ACCESS_REMOTE_WRITE, EINVAL);
    refused(c, at, 4096, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
    refused(c, at, 4096, 1 << 10, EINVAL);
    refused(c, at, 4096, IBV_ACCESS_ON_DEMAND, EOPNOTSUPP);
    refused(c, at, 4096, IBV_ACCESS_FLUSH_GLOBAL, EOPNOTSUPP);
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE | 1 << 25);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).access, static_cast<std::uint32_t>(IBV_ACCESS_LOCAL_WRITE));
    mr = ibv_reg_mr(c, b.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).access, static_cast<std::uint32_t>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING));
  });
}

TEST_F(memory_test, TC_M04_M05_Ranges) {
  run([&](cpu& c) {
    refused(c, ~0ULL - 4095, 8192, rights, EINVAL);
    refused(c, ~0ULL - 10, 4, rights, EINVAL);
    refused(c, 0x1000, 4096, rights, EFAULT);          // unmapped
    refused(c, at + 15 * 4096, 8192, rights, EFAULT);  // half mapped
    errno = 0;
    EXPECT_EQ(ibv_reg_mr_iova(c, b.pd, at, 4096, 0x10001, rights), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_mr* mr = ibv_reg_mr_iova(c, b.pd, at + 0x10, 4096, 0x777010, rights);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).start, 0x777010U);
  });
}

TEST_F(memory_test, PinLimit) {
  run([&](cpu& c) {
    b.memory.set_pin_limit(b.memory.pinned_bytes() + 2 * 4096);
    refused(c, at, 3 * 4096, rights, ENOMEM);
    EXPECT_NE(ibv_reg_mr(c, b.pd, at, 2 * 4096, rights), nullptr);
  });
}

TEST_F(memory_test, TC_M06_ZeroLength) {
  run([&](cpu& c) {
    for (const std::uint64_t addr : {at, at + 8}) {
      ibv_mr* mr = ibv_reg_mr(c, b.pd, addr, 0, rights);
      ASSERT_NE(mr, nullptr) << errno;
      EXPECT_EQ(b.adapter.mrc(mr->lkey).length, 0U);
      EXPECT_EQ(pinned(), 0U);
      EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    }
  });
}

TEST(Registration, TC_M06_ZeroLengthAsLinuxCounts) {
  driver::driver_config config;
  config.zero_length_mr = driver::zero_length_policy::page_count;
  bench b(config);
  const std::uint64_t at = b.memory.allocate(4096);
  b.run([&](cpu& c) {
    b.pd = ibv_alloc_pd(c, b.context);
    EXPECT_EQ(ibv_reg_mr(c, b.pd, at, 0, rights), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_NE(ibv_reg_mr(c, b.pd, at + 8, 0, rights), nullptr);
  });
}

TEST_F(memory_test, TC_M07_ReadOnlyPages) {
  const std::uint64_t ro = b.memory.allocate(4096, page_policy::scattered, 0, false);
  run([&](cpu& c) {
    EXPECT_NE(ibv_reg_mr(c, b.pd, ro, 4096, IBV_ACCESS_REMOTE_READ), nullptr);
    refused(c, ro, 4096, IBV_ACCESS_MW_BIND, EFAULT);
    refused(c, ro, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT);
  });
}

TEST_F(memory_test, TC_M08_M09_HandlesAndUsers) {
  run([&](cpu& c) {
    ibv_mr bogus{};
    bogus.context = b.context;
    bogus.handle = 12345;
    EXPECT_EQ(ibv_dereg_mr(c, &bogus), ENOENT);

    ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, rights);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), EBUSY);
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), 0);

    ibv_qp* qp = b.connected_qp(c);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(c, b.cq), EBUSY);
    EXPECT_EQ(ibv_destroy_qp(c, qp), 0);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), 0);
    EXPECT_EQ(ibv_destroy_cq(c, b.cq), 0);
  });
}

TEST_F(memory_test, TC_M14_ZeroBased) {
  run([&](cpu& c) {
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at + 0x123, 8192, rights | IBV_ACCESS_ZERO_BASED);
    ASSERT_NE(mr, nullptr) << errno;
    hca_mrc m = b.adapter.mrc(mr->lkey);
    EXPECT_EQ(m.start, 0U);
    EXPECT_EQ(m.table_va, 0ULL - 0x123);
    mr = ibv_reg_mr_iova(c, b.pd, at, 8192, 0, rights);
    ASSERT_NE(mr, nullptr);
    m = b.adapter.mrc(mr->lkey);
    EXPECT_EQ(m.start, 0U);
    EXPECT_EQ(m.table_va, 0U);
  });
}

// [E5]: three adjacent frames and a hole become one chunk of 12 KiB and one of 4.
TEST_F(memory_test, AdjacentFramesAreMerged) {
  constexpr std::uint64_t va = 0x5000'0000'0000;
  const std::uint64_t frames = b.machine.reserve_physical(64 * 4096, 1 << 16);
  const virtual_memory::frame_run runs[] = {{frames, 3 * 4096}, {frames + 5 * 4096, 4096}};
  ASSERT_TRUE(b.memory.map(va, runs));
  run([&](cpu& c) {
    const std::uint64_t before = b.device.counters().chunks.value();
    ASSERT_NE(ibv_reg_mr(c, b.pd, va, 4 * 4096, rights), nullptr);
    EXPECT_EQ(b.device.counters().chunks.value() - before, 2U);
    const hca_command& r = b.adapter.commands.back();
    const auto first = b.machine.memory_bytes().get<hca_chunk>(r.in_address + sizeof(hca_region));
    EXPECT_EQ(first.address, frames);
    EXPECT_EQ(first.length, 3 * 4096U);
  });
}

TEST_F(memory_test, TC_R01_R20_Translation) {
  const std::uint64_t large = b.memory.allocate(600 * 4096);
  run([&](cpu& c) {
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, rights);
    ASSERT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, large, 600 * 4096, 0), 0);
    EXPECT_EQ(mr->addr, large);
    EXPECT_EQ(mr->length, 600 * 4096U);
    EXPECT_EQ(pinned(), 600 * 4096U);
    const hca_mrc m = b.adapter.mrc(mr->lkey);
    EXPECT_EQ(m.start, large);
    EXPECT_EQ(m.levels, 2);
    EXPECT_EQ(m.access, static_cast<std::uint32_t>(rights));
    ASSERT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, at, 4096, 0), 0);
    EXPECT_EQ(pinned(), 4096U);
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    EXPECT_EQ(b.adapter.usage().table_bytes, 0U);
  });
}

TEST_F(memory_test, TC_R04_ProtectionDomain) {
  run([&](cpu& c) {
    ibv_pd* other = ibv_alloc_pd(c, b.context);
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, rights);
    const std::uint32_t old = b.adapter.mrc(mr->lkey).pd;
    ASSERT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_PD, other, 0, 0, 0), 0);
    EXPECT_EQ(mr->pd, other);
    EXPECT_NE(b.adapter.mrc(mr->lkey).pd, old);
    EXPECT_EQ(ibv_dealloc_pd(c, other), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), 0);
  });
}

TEST_F(memory_test, TC_R05_R06_R15_AccessAndAllAtOnce) {
  run([&](cpu& c) {
    ibv_pd* other = ibv_alloc_pd(c, b.context);
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE);
    ASSERT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, rights), 0);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).access, static_cast<std::uint32_t>(rights));
    ASSERT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_FLAGS_SUPPORTED, other, at + 4096, 8192, IBV_ACCESS_REMOTE_READ), 0);
    const hca_mrc m = b.adapter.mrc(mr->lkey);
    EXPECT_EQ(m.access, static_cast<std::uint32_t>(IBV_ACCESS_REMOTE_READ));
    EXPECT_EQ(m.start, at + 4096);
    EXPECT_EQ(m.length, 8192U);
    EXPECT_EQ(mr->pd, other);
  });
}

// -1 = nothing happened. The order is that of libibverbs.
TEST_F(memory_test, TC_R11_R13_InputErrors) {
  run([&](cpu& c) {
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, rights);
    const std::size_t commands = b.adapter.codes.size();
    const auto input_error = [&](int flags, std::uint64_t addr, std::uint64_t length, int access) {
      errno = 0;
      EXPECT_EQ(ibv_rereg_mr(c, mr, flags, nullptr, addr, length, access), IBV_REREG_MR_ERR_INPUT);
      EXPECT_EQ(errno, EINVAL);
    };
    input_error(1 << 3, 0, 0, 0);
    input_error(IBV_REREG_MR_CHANGE_TRANSLATION, at, 0, 0);
    input_error(IBV_REREG_MR_CHANGE_TRANSLATION, 0, 4096, 0);
    input_error(IBV_REREG_MR_CHANGE_TRANSLATION, at, 4096, rights);
    EXPECT_EQ(b.adapter.codes.size(), commands);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).state, HCA_MRC_VALID);
  });
}

// -4: the key is dead, the MR can be de-registered, nothing leaks.
TEST_F(memory_test, TC_R08_R10_R13_R19_CommandErrors) {
  const std::uint64_t ro = b.memory.allocate(4096, page_policy::scattered, 0, false);
  run([&](cpu& c) {
    const auto fails = [&](ibv_mr* mr, int flags, std::uint64_t addr, std::uint64_t length, int access, int expected) {
      const std::uint32_t key = mr->lkey;
      errno = 0;
      EXPECT_EQ(ibv_rereg_mr(c, mr, flags, nullptr, addr, length, access), IBV_REREG_MR_ERR_CMD);
      EXPECT_EQ(errno, expected);
      EXPECT_NE(b.adapter.mrc(key).state, HCA_MRC_VALID);
      EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
      EXPECT_EQ(pinned(), 0U);
      EXPECT_EQ(b.adapter.usage().mrs, 0U);
    };
    fails(ibv_reg_mr(c, b.pd, ro, 4096, IBV_ACCESS_REMOTE_READ), IBV_REREG_MR_CHANGE_ACCESS, 0, 0, IBV_ACCESS_LOCAL_WRITE,
          EACCES);
    fails(ibv_reg_mr(c, b.pd, at, 4096, rights), IBV_REREG_MR_CHANGE_ACCESS, 0, 0, IBV_ACCESS_REMOTE_WRITE, EINVAL);
    fails(ibv_reg_mr(c, b.pd, at, 4096, rights), 0, 0, 0, 0, EINVAL);
    fails(ibv_reg_mr(c, b.pd, at, 4096, rights), IBV_REREG_MR_CHANGE_TRANSLATION, 0x1000, 4096, 0, EFAULT);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), 0);
  });
}

TEST_F(memory_test, TC_R09_AccessWithTranslationPinsAgain) {
  const std::uint64_t ro = b.memory.allocate(4096, page_policy::scattered, 0, false);
  run([&](cpu& c) {
    ibv_mr* mr = ibv_reg_mr(c, b.pd, ro, 4096, IBV_ACCESS_REMOTE_READ);
    EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, at, 4096, rights), 0);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).access, static_cast<std::uint32_t>(rights));
  });
}

// TC-R17: a busy region (windows are bound) stays as it was.
TEST_F(memory_test, TC_R17_BusyChangesNothing) {
  run([&](cpu& c) {
    ibv_mr* mr = ibv_reg_mr(c, b.pd, at, 4096, rights);
    hca_mrc m = b.adapter.mrc(mr->lkey);
    m.parent = 1;
    const std::uint64_t entry = b.adapter.areas().mrc_base + hca_key_index(mr->lkey) * 64ULL;
    b.machine.memory_bytes().put(entry, m);
    EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, at + 4096, 4096, 0), IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).state, HCA_MRC_VALID);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).start, at);
    EXPECT_EQ(pinned(), 4096U);
    EXPECT_EQ(ibv_dereg_mr(c, mr), EBUSY);
    EXPECT_EQ(pinned(), 4096U);
    m.parent = 0;
    b.machine.memory_bytes().put(entry, m);
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  });
}

TEST_F(memory_test, ForkErrors) {
  const std::uint64_t other = b.memory.allocate(4096);
  run([&](cpu& c) {
    EXPECT_EQ(ibv_fork_init(b.context), 0);
    refused(c, 0x1000, 4096, rights, ENOMEM);
    ibv_mr* mr = ibv_reg_mr(c, b.pd, other, 4096, rights);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(ibv_fork_init(b.context), EINVAL);
    EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, 0x1000, 4096, 0), IBV_REREG_MR_ERR_DONT_FORK_NEW);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).start, other);
    b.memory.free(other);  // the application has unmapped what is registered
    EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, at, 4096, 0), IBV_REREG_MR_ERR_DO_FORK_OLD);
    EXPECT_EQ(mr->addr, at);
    EXPECT_EQ(b.adapter.mrc(mr->lkey).start, at);
  });
}

}  // namespace
}  // namespace hcasim::testing
