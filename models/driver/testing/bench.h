// A host with the fake adapter, its driver and one process.
#pragma once

#include <gtest/gtest.h>

#include "models/driver/device/device.h"
#include "models/driver/testing/fake_adapter.h"
#include "models/driver/verbs/connect.h"
#include "models/driver/verbs/verbs.h"

namespace hcasim::testing {

class bench {
 public:
  explicit bench(const driver::driver_config& config = {}, const fw_limits& limits = small_limits())
      : machine("host", host_config{}, 1),
        adapter("adapter", machine, limits),
        device(machine, {.bar = fake_adapter::bar}, config),
        memory(machine.memory_bytes(), 1) {}

  // Opens the device and a context, runs the program, and closes again unless the program set `context` to nullptr.
  void run(std::function<void(cpu&)> program, ps limit = 1000_ms) {
    bool done = false;
    machine.run("test", [&](cpu& c) {
      ASSERT_EQ(device.open(c), 0);
      context = verbs::ibv_open_device(c, device, memory);
      ASSERT_NE(context, nullptr);
      program(c);
      done = !context || verbs::ibv_close_device(c, context) == 0;
    });
    sc_core::sc_start(to_sc(limit));
    EXPECT_TRUE(done) << "the program did not end, or left something that could not be destroyed";
  }

  // A PD, a CQ and an RC QP that is connected to QPN 99 at LID 3.
  verbs::ibv_qp* connected_qp(cpu& c, const verbs::ibv_qp_cap& cap = {16, 16, 4, 4, 64}, bool signal_all = false) {
    pd = verbs::ibv_alloc_pd(c, context);
    cq = verbs::ibv_create_cq(c, context, 256, nullptr, nullptr, 0);
    verbs::ibv_qp_init_attr init{nullptr, cq, cq, nullptr, cap, verbs::IBV_QPT_RC, signal_all ? 1 : 0};
    verbs::ibv_qp* qp = verbs::ibv_create_qp(c, pd, &init);
    EXPECT_NE(qp, nullptr);
    EXPECT_EQ(verbs::connect(c, qp, verbs::local_endpoint(qp, 5), {3, 99, 6}), 0);
    return qp;
  }

  // Returns when the program's register writes have come to the adapter.
  static void settle(cpu& c) {
    c.spend(1_ns);
    c.sync();
  }

  // Returns the bytes of a WQE as the adapter would fetch them.
  std::vector<std::byte> sq_bytes(const verbs::ibv_qp* qp, std::uint32_t block, std::uint32_t blocks) {
    std::vector<std::byte> out(blocks * 64ULL);
    const hca_qpc q = adapter.qpc(qp->qp_num);
    for (std::uint32_t i = 0; i < blocks; ++i) {
      const std::uint64_t at = adapter.locate(q.sq, ((block + i) * 64ULL) & ((1ULL << q.sq.log_bytes) - 1));
      machine.memory_bytes().read(at, std::span(out).subspan(i * 64ULL, 64));
    }
    return out;
  }
  template <class T>
  static T at(const std::vector<std::byte>& bytes, std::size_t offset) {
    T v;
    std::memcpy(&v, bytes.data() + offset, sizeof v);
    return v;
  }

  host machine;
  fake_adapter adapter;
  driver::device device;
  virtual_memory memory;
  verbs::ibv_context* context = nullptr;
  verbs::ibv_pd* pd = nullptr;
  verbs::ibv_cq* cq = nullptr;
};

inline verbs::ibv_send_wr make_send(std::uint64_t id, verbs::ibv_wr_opcode opcode, verbs::ibv_sge* sges, int n,
                                    unsigned flags) {
  verbs::ibv_send_wr wr{};
  wr.wr_id = id;
  wr.opcode = opcode;
  wr.sg_list = sges;
  wr.num_sge = n;
  wr.send_flags = flags;
  return wr;
}

}  // namespace hcasim::testing
