// Memory behind AXI4 and AXI-Lite against a copy of its bytes; its timing; and RTL that does not keep to AXI.
#include "tlm/rtl/axi/axi_memory.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <map>

#include "rtl/axi_lite_design.h"
#include "rtl/axi_ram_design.h"
#include "tlm/access.h"
#include "tlm/base/random.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

// Sends accesses at their times and keeps a copy of what the memory must hold.
class bench : public unit {
 public:
  tlm_utils::simple_initiator_socket<bench, 64> out{"out"};

  explicit bench(const sc_core::sc_module_name& n) : unit(n) { out.register_nb_transport_bw(this, &bench::answered); }

  struct access : tlm::tlm_generic_payload {
    bench* self = nullptr;
    std::vector<unsigned char> bytes, wanted, enables;
    ps answered_at{-1};
  };
  access& at(ps t, bool write, std::uint64_t address, std::size_t n) {
    access& a = accesses_.emplace_back();
    a.self = this;
    a.bytes.resize(n);
    set_access(a, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, a.bytes.data(), n);
    queue_.at(t, {[](void* p) { static_cast<access*>(p)->self->go(*static_cast<access*>(p)); }, &a});
    return a;
  }
  void write(ps t, std::uint64_t address, std::size_t n, random_stream& r, bool masked = false) {
    access& a = at(t, true, address, n);
    for (std::size_t i = 0; i < n; ++i) {
      a.bytes[i] = static_cast<unsigned char>(r.next());
      if (masked) a.enables.push_back(r.chance(0.5) ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED);
      if (!masked || a.enables[i]) memory_[address + i] = a.bytes[i];
    }
    if (masked) {
      a.set_byte_enable_ptr(a.enables.data());
      a.set_byte_enable_length(static_cast<unsigned>(n));
    }
  }
  void read(ps t, std::uint64_t address, std::size_t n) {
    access& a = at(t, false, address, n);
    for (std::size_t i = 0; i < n; ++i) a.wanted.push_back(memory_[address + i]);
  }
  void check() const {
    for (const access& a : accesses_) {
      ASSERT_GE(a.answered_at.count(), 0) << "never answered: " << a.get_address();
      EXPECT_EQ(a.get_response_status(), tlm::TLM_OK_RESPONSE);
      if (a.is_read()) {
        EXPECT_EQ(a.bytes, a.wanted) << a.get_address();
      }
    }
  }
  [[nodiscard]] const std::deque<access>& accesses() const { return accesses_; }

 private:
  void go(access& a) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    if (out->nb_transport_fw(a, phase, delay) == tlm::TLM_COMPLETED) a.answered_at = now();
  }
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& p, tlm::tlm_phase&, sc_core::sc_time&) {
    static_cast<access&>(p).answered_at = now();
    return tlm::TLM_COMPLETED;
  }

  std::deque<access> accesses_;
  std::map<std::uint64_t, unsigned char> memory_;
};

constexpr unsigned axi4 = 16, lite = 12;  // bits of an address

class axi_suspect : public shell {
 public:
  axi_memory s0{"s0", *this};
  std::vector<std::string> violations;

  axi_suspect(unsigned fault, design_factory make, const shell_options& o) : shell("ram", clock_400, make, o) {
    strap("fault", fault);
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
};

// Fills the memory, then any mixture; reads that overtake writes or each other would show.
void random_traffic(unsigned address_bits, design_factory make, std::uint64_t seed, double stall) {
  shell_options o;
  o.stall = stall;
  o.seed = seed;
  o.check_x = true;
  bench b("bench");
  axi_suspect ram(0, make, o);
  b.out.bind(ram.s0.memory);
  random_stream r(seed, "axi");
  const std::uint64_t size = (std::uint64_t{1} << address_bits) - 64;
  ps t = 1_us;
  for (std::uint64_t at = 0; at < size; at += 1024) b.write(t, at, std::min<std::uint64_t>(1024, size - at), r);
  for (int i = 0; i < 3000; ++i) {
    if (r.chance(0.3)) t += clock_400.cycles(static_cast<double>(r.below(30)));
    const std::uint64_t n = 1 + r.below(r.chance(0.2) ? 700 : 24);
    const std::uint64_t at = r.below(r.chance(0.5) ? 512 : size - n);
    if (r.chance(0.5)) {
      b.read(t, at, n);
    } else {
      b.write(t, at, n, r, r.chance(0.3));
    }
  }
  testing::run_until_idle();
  EXPECT_EQ(ram.violations, std::vector<std::string>{});
  for (const stream& s : ram.streams()) {
    EXPECT_GT(s.transfers(), 0U) << s.name();
    if (stall > 0) {
      EXPECT_GT(s.stalled_cycles(), 0U) << s.name();
    }
  }
  b.check();
}

TEST(axi, axi4_without_stalls) {
  random_traffic(axi4, make_axi_ram_design, 1, 0);
}
TEST(axi, axi4_with_stalls_of_every_channel) {
  random_traffic(axi4, make_axi_ram_design, 2, 0.4);
}
TEST(axi, axi_lite_without_stalls) {
  random_traffic(lite, make_axi_lite_design, 3, 0);
}
TEST(axi, axi_lite_with_stalls_of_every_channel) {
  random_traffic(lite, make_axi_lite_design, 4, 0.4);
}

// AR in cycle 0, 8 beats in the cycles after it; a write's AW, its beats, B.
TEST(axi, a_burst_takes_its_beats) {
  bench b("bench");
  axi_suspect ram(0, make_axi_ram_design, {});
  b.out.bind(ram.s0.memory);
  random_stream r(1, "x");
  b.write(clock_400.cycles(10), 64, 64, r);
  b.read(clock_400.cycles(40), 64, 64);
  b.read(clock_400.cycles(60), 4096 - 32, 64);  // two bursts: it crosses a boundary
  testing::run_until_idle();
  EXPECT_EQ(b.accesses()[0].answered_at, clock_400.cycles(19));
  EXPECT_EQ(b.accesses()[1].answered_at, clock_400.cycles(48));
  EXPECT_EQ(b.accesses()[2].answered_at, clock_400.cycles(69));
  EXPECT_EQ(ram.s0.bursts(), 4U);
}

TEST(axi, what_the_memory_refuses_is_an_error_of_that_access_alone) {
  bench b("bench");
  axi_suspect ram(0, make_axi_ram_design, {});
  b.out.bind(ram.s0.memory);
  auto& bad_read = b.at(1_us, false, 0xfff8, 8);
  auto& bad_write = b.at(1_us, true, 0xfff8, 8);
  auto& good = b.at(1_us, false, 0, 8);
  auto& beyond = b.at(1_us, false, 0xfffc, 8);
  testing::run_until_idle();
  EXPECT_EQ(bad_read.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bad_write.get_response_status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
  EXPECT_EQ(good.get_response_status(), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(beyond.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

std::string first_violation(unsigned fault, double stall = 0, int accesses = 20) {
  shell_options o;
  o.hang_cycles = 500;
  o.stall = stall;
  bench b("bench");
  axi_suspect ram(fault, make_axi_ram_design, o);
  b.out.bind(ram.s0.memory);
  random_stream r(1, "x");
  for (int i = 0; i < accesses; ++i) {
    b.write(clock_400.cycles(10), 64, 64, r);
    b.read(clock_400.cycles(40), 64, 64);
  }
  testing::run_for(10_us);
  return ram.violations.empty() ? "none" : ram.violations.front();
}

TEST(axi, no_fault_no_violation) {
  EXPECT_EQ(first_violation(0), "none");
}
TEST(axi, a_write_that_is_never_answered_is_a_hang) {
  EXPECT_EQ(first_violation(1),
            "ram (axi_ram_design): hang: 1 answers are missing, nothing has moved for 501 cycles (bvalid, rvalid stay low)");
}
TEST(axi, a_last_that_comes_early_is_found) {
  EXPECT_EQ(first_violation(2), "ram (axi_ram_design): stream s0.r: `last` is wrong on beat 7 of 8");
}
TEST(axi, an_answer_to_another_id_is_found) {
  EXPECT_EQ(first_violation(3, 0, 1), "ram (axi_ram_design): stream s0.r answers id 0, which has read nothing");
}
TEST(axi, a_write_answered_before_its_last_beat_is_found) {
  EXPECT_EQ(first_violation(4), "ram (axi_ram_design): stream s0.b answers id 0 before its last beat was taken");
}
TEST(axi, an_exclusive_answer_is_found) {
  EXPECT_EQ(first_violation(5), "ram (axi_ram_design): stream s0.b answers EXOKAY, and nothing was exclusive");
}
TEST(axi, a_valid_that_falls_is_found) {
  EXPECT_EQ(first_violation(6, 0.5), "ram (axi_ram_design): bvalid fell before it was taken");
}
TEST(axi, data_that_change_are_found) {
  EXPECT_EQ(first_violation(7, 0.5),
            "ram (axi_ram_design): rdata changed from 0x9ec6f61927455378 to 0x9ec6f61927455379 while rvalid waited for ready");
}

TEST(axi, an_endpoint_that_is_not_there_or_of_another_kind_is_refused_by_name) {
  const auto design = make_axi_ram_design();
  const auto error_of = [&](const char* name, const char* kind, bool into) {
    try {
      design->check_endpoint(name, kind, into);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error_of("s0", "axi4", true), "none");
  EXPECT_EQ(error_of("s1", "axi4", true), "axi_ram_design: endpoint 's1' is not among its PINS");
  EXPECT_EQ(error_of("s0", "axis", true), "axi_ram_design: endpoint 's0' is of kind axi4, not axis");
  EXPECT_EQ(error_of("s0", "axi4", false), "axi_ram_design: endpoint 's0' is a slave: the RTL must be a master there");
}

}  // namespace
}  // namespace hcasim::rtl
