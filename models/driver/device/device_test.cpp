// Bringing the device up, and commands: order, several in flight, refusals, a device that does not answer.
#include "models/driver/device/device.h"

#include <algorithm>

#include "models/driver/testing/bench.h"

namespace hcasim::testing {
namespace {

using namespace verbs;

TEST(Device, ComesUp) {
  driver::driver_config config;
  config.completion_vectors = 3;
  config.first_vector = 100;
  bench b(config);
  b.run([&](cpu&) {
    EXPECT_EQ(b.adapter.codes[0], HCA_CMD_QUERY_DEVICE);
    EXPECT_EQ(b.adapter.codes[1], HCA_CMD_INIT);
    EXPECT_EQ(b.adapter.usage().eqs, 4U);
    EXPECT_EQ(b.device.info().port_lid, 7U);
    EXPECT_EQ(b.adapter.areas().log_qps, 10);  // the adapter's limit is below the driver's knob
    EXPECT_EQ(b.adapter.areas().mrc_base % 64, 0U);
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(b.adapter.msix[i].address, msi_window);
      EXPECT_EQ(b.adapter.msix[i].data, 100 + i);
      EXPECT_EQ(b.adapter.msix[i].masked, 0U);
    }
    EXPECT_EQ(b.context->num_comp_vectors, 3);
  });
}

TEST(Device, RefusesWhatIsNoAdapter) {
  host machine("host", host_config{}, 1);
  fake_adapter adapter("adapter", machine, small_limits());
  driver::device device(machine, {.bar = fake_adapter::bar + 8}, {});
  int result = 0;
  machine.run("test", [&](cpu& c) { result = device.open(c); });
  sc_core::sc_start(to_sc(1_ms));
  EXPECT_EQ(result, ENODEV);
  EXPECT_FALSE(device.opened());
}

TEST(Device, ThreadsThatOpenItTogetherOpenItOnce) {
  host machine("host", host_config{}, 1);
  fake_adapter adapter("adapter", machine, small_limits());
  driver::device device(machine, {.bar = fake_adapter::bar}, {});
  std::vector<int> results;
  for (const char* name : {"one", "two", "three"}) {
    machine.run(name, [&](cpu& c) {
      results.push_back(device.open(c));
      EXPECT_TRUE(device.opened());
    });
  }
  sc_core::sc_start(to_sc(1_ms));
  EXPECT_EQ(results, (std::vector<int>{0, 0, 0}));
}

TEST(Device, ClosesWhatAProcessLeaves) {
  bench b;
  b.run([&](cpu& c) {
    b.connected_qp(c);
    const std::uint64_t at = b.memory.allocate(3 * 4096);
    EXPECT_NE(ibv_reg_mr(c, b.pd, at, 3 * 4096, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(b.adapter.usage().qps, 1U);
    EXPECT_EQ(ibv_close_device(c, b.context), 0);
    b.context = nullptr;
    EXPECT_EQ(b.adapter.usage().qps, 0U);
    EXPECT_EQ(b.adapter.usage().cqs, 0U);
    EXPECT_EQ(b.adapter.usage().mrs, 0U);
  });
  EXPECT_EQ(b.memory.pinned_bytes(), 0U);
}

// TC-M22: 256 threads register and de-register; the ring has 32 slots, so most of them wait for one.
TEST(Commands, TC_M22_ManyInFlight) {
  bench b;
  constexpr int threads = 256;
  int running = threads;
  std::vector<std::uint32_t> keys;
  b.run([&](cpu& c) {
    b.pd = ibv_alloc_pd(c, b.context);
    const std::uint64_t at = b.memory.allocate(threads * 4096ULL);
    driver::wait_queue finished;
    for (int i = 0; i < threads; ++i) {
      b.machine.run("worker", [&, i](cpu& w) {
        for (int turn = 0; turn < 3; ++turn) {
          ibv_mr* mr = ibv_reg_mr(w, b.pd, at + static_cast<std::uint64_t>(i) * 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
          ASSERT_NE(mr, nullptr);
          keys.push_back(mr->lkey);
          w.spend(ps(i * 7000));
          ASSERT_EQ(ibv_dereg_mr(w, mr), 0);
        }
        w.sync();
        --running;
        finished.wake();
      });
    }
    finished.sleep_until(c, [&] { return running == 0; });
    EXPECT_EQ(b.adapter.usage().mrs, 0U);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), 0);
  });
  EXPECT_EQ(keys.size(), 3U * threads);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end()) << "a key was handed out twice";
  EXPECT_EQ(b.adapter.most_outstanding, 32U);
  EXPECT_EQ(b.device.counters().commands_in_flight.peak(), 32U);
}

TEST(Commands, RefusalsBecomeErrno) {
  bench b;
  b.run([&](cpu& c) {
    b.pd = ibv_alloc_pd(c, b.context);
    const std::uint64_t at = b.memory.allocate(4096);
    const std::uint64_t pinned = b.memory.pinned_bytes();
    b.adapter.refuse_code = HCA_CMD_REGISTER;
    for (const auto& [status, expected] : {std::pair{HCA_BAD_PARAMETER, EINVAL},
                                           {HCA_BAD_OBJECT, ENOENT},
                                           {HCA_BAD_STATE, EINVAL},
                                           {HCA_NO_RESOURCES, ENOMEM},
                                           {HCA_BUSY, EBUSY},
                                           {HCA_BAD_LENGTH, EINVAL},
                                           {HCA_MEMORY_FAULT, EFAULT},
                                           {HCA_UNSUPPORTED, EOPNOTSUPP}}) {
      b.adapter.refuse_with = static_cast<std::uint8_t>(status);
      errno = 0;
      EXPECT_EQ(ibv_reg_mr(c, b.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE), nullptr);
      EXPECT_EQ(errno, expected) << status;
      EXPECT_EQ(b.memory.pinned_bytes(), pinned);
    }
    EXPECT_EQ(b.device.counters().command_errors.value(), 8U);
  });
}

TEST(Commands, ADeviceThatDoesNotAnswerIsDead) {
  driver::driver_config config;
  config.command_timeout = 5_ms;
  config.log_command_slots = 1;
  bench b(config);
  b.run([&](cpu& c) {
    b.pd = ibv_alloc_pd(c, b.context);
    const std::uint64_t at = b.memory.allocate(8 * 4096);
    b.adapter.answers = false;
    c.sync();
    std::vector<int> errors;
    driver::wait_queue finished;
    for (int i = 0; i < 4; ++i) {  // two get a slot, two wait for one
      b.machine.run("worker", [&](cpu& w) {
        const ibv_mr* mr = ibv_reg_mr(w, b.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE);
        errors.push_back(mr ? 0 : errno);
        w.sync();
        finished.wake();
      });
    }
    const ps begin = c.time();
    finished.sleep_until(c, [&] { return errors.size() == 4; });
    EXPECT_GE(c.time() - begin, 5_ms);
    EXPECT_LT(c.time() - begin, 5100_us);
    std::sort(errors.begin(), errors.end());
    EXPECT_TRUE(std::count(errors.begin(), errors.end(), ETIMEDOUT) >= 1);
    for (const int e : errors) EXPECT_TRUE(e == ETIMEDOUT || e == EIO) << e;
    EXPECT_TRUE(b.device.dead());
    EXPECT_EQ(ibv_reg_mr(c, b.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EIO);
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(c, b.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
    EXPECT_EQ(ibv_open_device(c, b.device, b.memory), nullptr);
    EXPECT_EQ(errno, ENODEV);
    b.context = nullptr;  // nothing can be destroyed any more
  });
}

}  // namespace
}  // namespace hcasim::testing
