#include "models/machine/host/host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tlm/testing/burst_memory.h"
#include "tlm/testing/burst_source.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim {
namespace {

using testing::burst_memory;
using testing::burst_source;
using testing::run_until_idle;

// Lands DMA or interrupts at given times.
class root_port : public burst_source {
 public:
  using burst_source::burst_source;
  ~root_port() override {
    EXPECT_TRUE(all_in_call());
    for (const burst& b : bursts) EXPECT_TRUE(b.sent == never || b.ok());
  }
};

// Registers behind MMIO: a write is done in the call, a read is answered later, with 0x5a.
class registers : public burst_memory {
 public:
  explicit registers(const sc_core::sc_module_name& n) : burst_memory(n) { bytes.assign(bytes.size(), std::byte{0x5a}); }
  bool refuse = false;

 private:
  void move(tlm::tlm_generic_payload& p) override {
    answers = p.is_write() ? style::in_call : style::taken_then_backward;
    latency = p.is_write() ? 0_ps : 600_ns;
    if (p.is_read()) burst_memory::move(p);
    p.set_response_status(refuse ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
  }
};

struct machine {
  host_config config;
  host h;
  root_port root{"root"};
  root_port msi{"msi"};
  registers mmio{"mmio"};
  explicit machine(const host_config& c = {}) : config(c), h("host", c, 1) {
    root.out.bind(h.memory);
    msi.out.bind(h.interrupts);
    h.mmio.bind(mmio.in);
  }
  burst_source::burst& dma(bool write, std::uint64_t address, std::size_t bytes, ps at, unsigned fill = 0) {
    burst_source::burst& b = root.send(write, address, at, bytes);
    b.fill(static_cast<std::byte>(fill));
    return b;
  }
  void interrupt(std::uint32_t vector, ps at) { msi.send(true, msi_window, at, sizeof vector).fill(&vector, sizeof vector); }
};

std::span<const std::byte> word(const std::uint64_t& v) {
  return std::as_bytes(std::span(&v, 1));
}
std::uint64_t load(cpu& c, std::uint64_t address) {
  std::uint64_t v = 0;
  c.load(address, std::as_writable_bytes(std::span(&v, 1)));
  return v;
}

TEST(cpu, costs_add_up_exactly_without_a_thread_switch) {
  machine m;
  ps end{0};
  m.h.run("program", [&](cpu& c) {
    std::vector<std::byte> line(64);
    c.spend(10_ns);
    c.store(0x1000, line);  // 1 line
    c.store(0x1020, line);  // 2 lines
    c.load(0x1000, line);   // 1 line; nothing else happens: no switch
    c.mmio_write(0xe0000000, std::span(line).first(8));
    c.combined_write(0xe0000800, line);
    c.system_call();
    c.copy(10000);
    c.pin_pages(3);
    EXPECT_EQ(now(), 0_ps);
    end = c.time();
  });
  run_until_idle();
  const host_config& k = m.config;
  EXPECT_EQ(end, 10_ns + 3 * k.store_cost + k.load_cost + k.mmio_write_cost + k.combined_line_cost + k.system_call_cost +
                     k.copy_rate.time_for(10000) + 3 * k.pin_page_cost);
  EXPECT_EQ(now(), end);  // the kernel has caught up at the end of the program
  ASSERT_EQ(m.mmio.log.size(), 2u);
  EXPECT_EQ(m.mmio.log[0].at, 10_ns + 3 * k.store_cost + k.load_cost + k.mmio_write_cost);
  EXPECT_EQ(m.mmio.log[1].bytes, 64u);
}

TEST(cpu, load_sees_what_has_landed_by_its_local_time) {
  machine m;
  m.dma(true, 0x1000, 8, 100_ns, 1);
  m.dma(true, 0x1000, 8, 200_ns, 2);
  std::vector<std::uint64_t> seen;
  m.h.run("program", [&](cpu& c) {
    c.spend(100_ns - 1_ps);
    seen.push_back(load(c, 0x1000));
    c.spend(150_ns - c.time());
    seen.push_back(load(c, 0x1000));
    c.spend(250_ns - c.time());
    seen.push_back(load(c, 0x1000));
  });
  run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 0x0101010101010101, 0x0202020202020202}));
}

TEST(cpu, store_takes_effect_at_its_local_time) {
  machine m;
  auto& before = m.dma(false, 0x2000, 8, 299_ns);
  auto& after = m.dma(false, 0x2000, 8, 301_ns);
  auto& overwritten = m.dma(true, 0x3000, 8, 200_ns, 7);
  m.h.run("program", [&](cpu& c) {
    const std::uint64_t v = 0x1122;
    c.spend(300_ns);
    c.store(0x2000, word(v));
    c.store(0x3000, word(v));
    EXPECT_EQ(m.h.memory_bytes().get<std::uint64_t>(0x2000), v);  // untimed: program order
  });
  run_until_idle();
  EXPECT_EQ(before.data[0], std::byte{0});
  EXPECT_EQ(after.data[0], std::byte{0x22});
  EXPECT_TRUE(overwritten.is_response_ok());
  EXPECT_EQ(m.h.memory_bytes().get<std::uint64_t>(0x3000), 0x1122u);  // the later of the two
}

TEST(cpu, a_loop_of_loads_lets_the_kernel_go_on) {
  machine m;
  m.h.run("program", [&](cpu& c) {
    while (load(c, 0x1000) == 0) c.spend(50_ns);
  });
  testing::run_for(1_ms);
  EXPECT_EQ(m.h.threads_running(), 1u);
}

TEST(cpu, mmio_read_stalls_for_the_round_trip) {
  machine m;
  ps end{0};
  m.h.run("program", [&](cpu& c) {
    std::uint64_t v = 0;
    c.spend(50_ns);
    c.mmio_read(0xe0000010, std::as_writable_bytes(std::span(&v, 1)));
    EXPECT_EQ(v, 0x5a5a5a5a5a5a5a5au);
    end = c.time();
    m.mmio.refuse = true;
    c.mmio_read(0, std::as_writable_bytes(std::span(&v, 1)));
    EXPECT_EQ(v, ~0ULL);
  });
  run_until_idle();
  EXPECT_EQ(m.mmio.log[0].at, 50_ns + m.config.mmio_read_cost);
  EXPECT_EQ(end, 50_ns + m.config.mmio_read_cost + 600_ns);
}

TEST(cpu, wait_write_wakes_at_the_next_turn_of_the_polling_loop) {
  machine m;
  m.dma(true, 0x5010, 8, 1001_ns, 1);
  ps end{0};
  m.h.run("program", [&](cpu& c) {
    const auto w = c.watch(0x5000, 64);
    c.spend(5_ns);
    EXPECT_TRUE(c.wait_write(w));
    end = c.time();
    EXPECT_NE(load(c, 0x5010), 0u);
    c.unwatch(w);
  });
  run_until_idle();
  // The loop began at 5 ns and looks every 20 ns: the first look at or after 1001 ns is at 1005 ns.
  EXPECT_EQ(end, 1005_ns + m.config.poll_cost);
}

TEST(cpu, wait_write_that_lands_at_a_turn_is_seen_by_that_turn) {
  machine m;
  m.dma(true, 0x5010, 8, 1005_ns, 1);
  ps end{0};
  m.h.run("program", [&](cpu& c) {
    const auto w = c.watch(0x5000, 64);
    c.spend(5_ns);
    EXPECT_TRUE(c.wait_write(w));
    end = c.time();
  });
  run_until_idle();
  EXPECT_EQ(end, 1005_ns + m.config.poll_cost);
}

TEST(cpu, wait_write_returns_at_once_when_it_has_landed) {
  machine m;
  m.dma(true, 0x5000, 4096, 100_ns, 1);
  m.dma(true, 0x5000, 8, 150_ns, 1);
  m.h.run("program", [&](cpu& c) {
    const auto w = c.watch(0x5fff, 1);
    c.spend(500_ns);
    c.sync();
    EXPECT_TRUE(c.wait_write(w));
    EXPECT_EQ(c.time(), 500_ns + m.config.poll_cost);
    EXPECT_FALSE(c.wait_write(w, 100_ns));  // nothing new
    EXPECT_EQ(c.time(), 600_ns + m.config.poll_cost);
  });
  run_until_idle();
}

TEST(cpu, wait_write_that_lands_before_the_local_time_counts_as_landed) {
  machine m;
  m.dma(true, 0x5000, 8, 100_ns, 1);
  m.h.run("program", [&](cpu& c) {
    const auto w = c.watch(0x5000, 8);
    c.spend(500_ns);  // the kernel is still at 0
    EXPECT_TRUE(c.wait_write(w));
    EXPECT_EQ(c.time(), 500_ns + m.config.poll_cost);
  });
  run_until_idle();
}

TEST(cpu, wait_write_times_out_and_ignores_other_addresses) {
  machine m;
  m.dma(true, 0x4ff0, 16, 100_ns, 1);
  m.dma(true, 0x5040, 16, 100_ns, 1);
  m.dma(true, 0x5000 + 1024 * 4096, 16, 100_ns, 1);  // same bucket of the filter
  m.h.run("program", [&](cpu& c) {
    const auto w = c.watch(0x5000, 64);
    EXPECT_FALSE(c.wait_write(w, 333_ns));
    EXPECT_EQ(c.time(), 333_ns);
    EXPECT_FALSE(c.wait_write(w, 0_ps));
    EXPECT_EQ(c.time(), 333_ns);
  });
  run_until_idle();
}

TEST(cpu, watches_over_many_pages_and_many_watches) {
  machine m;
  for (int i = 0; i < 200; ++i) m.dma(true, 0x100000 + static_cast<std::uint64_t>(i) * 4096 + 8, 8, (i + 1) * 1_us, 1);
  m.dma(true, 0x9000'0000 + 3'000'000, 8, 300_us, 1);
  std::vector<ps> woken(200);
  for (std::size_t i = 0; i < 200; ++i) {
    m.h.run("program", [&woken, i](cpu& c) {
      const auto w = c.watch(0x100000 + i * 4096, 64);
      EXPECT_TRUE(c.wait_write(w));
      woken[i] = c.time();
      c.unwatch(w);
    });
  }
  bool big = false;
  m.h.run("big", [&](cpu& c) {
    const auto w = c.watch(0x9000'0000, 8_MiB);
    big = c.wait_write(w);
  });
  run_until_idle();
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(woken[i], static_cast<std::int64_t>(i + 1) * 1_us + m.config.poll_cost);
  EXPECT_TRUE(big);
}

TEST(cpu, interrupts_wake_sleepers_and_are_kept_for_late_ones) {
  machine m;
  m.interrupt(3, 1_us);
  m.interrupt(4, 2_us);
  m.interrupt(5, 9_us);
  const host_config& k = m.config;
  m.h.run("sleeper", [&](cpu& c) {
    EXPECT_TRUE(c.wait_interrupt(3));
    EXPECT_EQ(c.time(), 1_us + k.interrupt_latency + k.wake_up_cost);
    EXPECT_FALSE(c.wait_interrupt(3, 1_us));
    EXPECT_EQ(c.time(), 2_us + k.interrupt_latency + k.wake_up_cost);
  });
  m.h.run("late", [&](cpu& c) {
    c.spend(20_us);
    c.sync();
    EXPECT_TRUE(c.wait_interrupt(4));
    EXPECT_EQ(c.time(), 20_us);  // the handler ran long ago, no thread slept
    EXPECT_FALSE(c.wait_interrupt(4, 1_us));
  });
  m.h.run("in_handler", [&](cpu& c) {
    c.spend(9500_ns);
    c.sync();
    EXPECT_TRUE(c.wait_interrupt(5));
    EXPECT_EQ(c.time(), 9_us + k.interrupt_latency + k.wake_up_cost);
  });
  run_until_idle();
}

TEST(cpu, one_interrupt_wakes_all_who_sleep_for_it) {
  machine m;
  m.interrupt(3, 1_us);
  int woken = 0;
  for (int i = 0; i < 3; ++i) m.h.run("sleeper", [&](cpu& c) { woken += c.wait_interrupt(3) ? 1 : 0; });
  m.h.run("other", [&](cpu& c) { EXPECT_FALSE(c.wait_interrupt(2, 50_us)); });
  run_until_idle();
  EXPECT_EQ(woken, 3);
}

TEST(host, memory_answers_with_latency_and_bandwidth) {
  host_config c;
  c.memory_bandwidth = {100e9};
  machine m(c);
  auto& w = m.dma(true, 0x1000, 4096, 10_ns, 3);
  auto& r = m.dma(false, 0x1000, 64, 10_ns);
  run_until_idle();
  const ps page = c.memory_bandwidth.time_for(4096);
  EXPECT_EQ(w.answered, 10_ns + c.memory_write_latency);
  EXPECT_EQ(r.answered, 10_ns + page + c.memory_read_latency);  // behind the write
  EXPECT_EQ(r.data[63], std::byte{3});
}

TEST(host, lines_beyond_the_last_level_cache_come_from_dram) {
  host_config c;
  c.last_level_cache.size = 64_KiB;
  machine m(c);
  const ps dram = c.last_level_cache.dram_latency;
  auto& missing = m.dma(false, 0x1000, 64, 1_us);
  auto& written = m.dma(true, 0x2000, 64, 2_us, 3);
  auto& in_part = m.dma(false, 0x1fc0, 128, 3_us);
  auto& there = m.dma(false, 0x2000, 64, 4_us);
  auto& stored = m.dma(false, 0x3000, 64, 6_us);
  m.h.run("core", [&](cpu& core) {
    core.spend(5_us);
    const std::uint64_t value = 7;
    core.store(0x3000, std::as_bytes(std::span(&value, 1)));
    std::uint64_t got = 0;
    const ps begin = core.time();
    core.load(0x1000, std::as_writable_bytes(std::span(&got, 1)));
    EXPECT_EQ(core.time() - begin, c.load_cost + dram);
    core.load(0x1000, std::as_writable_bytes(std::span(&got, 1)));
    EXPECT_EQ(core.time() - begin, 2 * c.load_cost + dram);
  });
  run_until_idle();
  EXPECT_EQ(missing.answered, 1_us + c.memory_read_latency + dram);
  EXPECT_EQ(written.answered, 2_us + c.memory_write_latency);
  EXPECT_EQ(in_part.answered, 3_us + c.memory_read_latency + dram);
  EXPECT_EQ(there.answered, 4_us + c.memory_read_latency);
  EXPECT_EQ(stored.answered, 6_us + c.memory_read_latency);
}

TEST(host, debug_transport_and_stray_interrupts) {
  machine m;
  m.interrupt(5000, 1_ns);
  run_until_idle();
  std::uint32_t v = 0xabcd;
  tlm::tlm_generic_payload p;
  p.set_command(tlm::TLM_WRITE_COMMAND);
  p.set_address(0x2'0000'0000'0008);
  p.set_data_ptr(reinterpret_cast<unsigned char*>(&v));
  p.set_data_length(4);
  EXPECT_EQ(m.root.out->transport_dbg(p), 4u);
  EXPECT_EQ(m.h.memory_bytes().get<std::uint32_t>(0x2'0000'0000'0008), 0xabcdu);
  EXPECT_EQ(testing::count_of(m.h, "stray_interrupts"), 1u);
}

TEST(host, threads_may_start_threads) {
  machine m;
  ps end{0};
  m.h.run("first", [&](cpu& c) {
    c.spend(100_ns);
    c.sync();
    c.machine().run("second", [&](cpu& d) {
      d.spend(50_ns);
      end = d.time();
    });
  });
  run_until_idle();
  EXPECT_EQ(end, 150_ns);
  EXPECT_EQ(m.h.threads_running(), 0u);
}

}  // namespace
}  // namespace hcasim
