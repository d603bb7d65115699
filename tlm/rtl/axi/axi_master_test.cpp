// RTL that masters AXI4 against a TLM memory: what it copies, its errors, and RTL that does not keep to AXI.
#include "tlm/rtl/axi/axi_master.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include "rtl/axi_copy_design.h"
#include "rtl/axi_lite_copy_design.h"
#include "tlm/base/random.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

// Answers each access after a while; what lies at the top is refused.
class ram : public unit {
 public:
  tlm_utils::simple_target_socket<ram, 64> in{"in"};
  std::vector<unsigned char> bytes = std::vector<unsigned char>(1 << 16);
  static constexpr std::uint64_t top = 0xf000;

  ram(const sc_core::sc_module_name& n, unsigned cycles) : unit(n), cycles_(cycles) {
    in.register_nb_transport_fw(this, &ram::access);
  }

 private:
  struct job {
    ram* self;
    tlm::tlm_generic_payload* p;
  };
  tlm::tlm_sync_enum access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    EXPECT_EQ(p.get_byte_enable_ptr(), nullptr) << "host memory and PCIe refuse them";
    const std::uint64_t at = p.get_address();
    for (unsigned i = 0; i < p.get_data_length() && at < top; ++i) {
      if (p.is_read()) {
        p.get_data_ptr()[i] = bytes[at + i];
      } else {
        bytes[at + i] = p.get_data_ptr()[i];
      }
    }
    p.set_response_status(at < top ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (cycles_ == 0) return tlm::TLM_COMPLETED;
    jobs_.push_back({this, &p});
    queue_.at(now() + clock_400.cycles(cycles_), {[](void* context) {
                                                    const job& j = *static_cast<job*>(context);
                                                    tlm::tlm_phase respond = tlm::BEGIN_RESP;
                                                    sc_core::sc_time none;
                                                    j.self->in->nb_transport_bw(*j.p, respond, none);
                                                  },
                                                  &jobs_.back()});
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  const unsigned cycles_;
  std::deque<job> jobs_;
};

// A design that copies at a command and says when it is done.
class copying_master : public shell {
 public:
  axi_master m0{"m0", *this};

  copying_master(design_factory make, const shell_options& o, unsigned command_bits)
      : shell("copy", clock_400, make, o), cmd_(into("cmd", command_bits)), done_(out_of("done", 4)) {
    done_.on_transfer = [this](const payload& p, std::uint64_t, ps t) {
      owe(-1);
      done.push_back(static_cast<unsigned>(p.get(0, 4)));
      done_at = t;
    };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  std::vector<unsigned> done;
  ps done_at{0};
  std::vector<std::string> violations;

 protected:
  void command(const payload& p) {
    owe(1);
    push(cmd_, p, now());
  }

 private:
  stream& cmd_;
  stream& done_;
};

class copier : public copying_master {
 public:
  copier(unsigned fault, const shell_options& o) : copying_master(make_axi_copy_design, o, 44) { strap("fault", fault); }
  void copy(std::uint64_t from, std::uint64_t to, unsigned beats, unsigned size, bool w_first) {
    payload p;
    writer(p).put(from, 16).put(to, 16).put(beats - 1, 8).put(size, 3).put(w_first, 1);
    command(p);
  }
};

void expect_copied(const copying_master& c, const ram& memory, const std::vector<unsigned char>& wanted, unsigned copies,
                   std::uint64_t bursts) {
  testing::run_until_idle();
  EXPECT_EQ(c.violations, std::vector<std::string>{});
  EXPECT_EQ(c.done, std::vector<unsigned>(copies, 0));
  EXPECT_EQ(c.m0.bursts(), bursts);
  EXPECT_EQ(memory.bytes, wanted);
}

void random_copies(std::uint64_t seed, double stall, unsigned latency) {
  shell_options o;
  o.seed = seed;
  o.stall = stall;
  o.check_x = true;
  ram memory("memory", latency);
  copier c(0, o);
  c.m0.memory.bind(memory.in);
  random_stream r(seed, "copies");
  for (auto& b : memory.bytes) b = static_cast<unsigned char>(r.next());
  std::vector<unsigned char> wanted = memory.bytes;
  const unsigned copies = 400;
  for (unsigned i = 0; i < copies; ++i) {
    const auto size = static_cast<unsigned>(r.below(4));
    const auto beats = static_cast<unsigned>(1 + r.below(64));
    const std::uint64_t lane = r.below(8);
    const std::uint64_t bytes = std::uint64_t{beats} << size;
    const auto place = [&](std::uint64_t page) { return page * 4096 + r.below((4096 - bytes) / 8) * 8 + lane; };
    const std::uint64_t from = place(r.below(7));
    const std::uint64_t to = place(8 + r.below(7));
    const std::uint64_t length = bytes - (lane & ((1U << size) - 1));
    // The first beat may be unaligned: it is shorter then.
    for (std::uint64_t n = 0; n < length; ++n) wanted[to + n] = wanted[from + n];
    c.copy(from, to, beats, size, r.chance(0.3));
  }
  expect_copied(c, memory, wanted, copies, 2 * copies);
}

TEST(axi_master, copies_without_stalls) {
  random_copies(1, 0, 5);
}
TEST(axi_master, copies_with_stalls_of_every_channel) {
  random_copies(2, 0.4, 5);
}
TEST(axi_master, copies_through_memory_that_answers_in_the_call) {
  random_copies(3, 0.2, 0);
}

// CMD in cycle 0, AR in the next, 8 beats 5 cycles later, AW, 8 beats, B 5 cycles later, DONE.
TEST(axi_master, a_copy_takes_its_beats) {
  ram memory("memory", 5);
  copier c(0, {});
  c.m0.memory.bind(memory.in);
  c.copy(64, 1024, 8, 3, false);
  testing::run_until_idle();
  EXPECT_EQ(c.done_at, clock_400.cycles(1 + 5 + 8 + 1 + 8 - 1 + 5 + 1));
}

TEST(axi_master, errors_of_the_memory_reach_the_master) {
  ram memory("memory", 5);
  copier c(0, {});
  c.m0.memory.bind(memory.in);
  c.copy(ram::top, 64, 2, 3, false);
  c.copy(64, ram::top, 2, 3, false);
  testing::run_until_idle();
  EXPECT_EQ(c.done, (std::vector<unsigned>{3U << 2, 3U}));
}

std::string first_violation_of_copier(unsigned fault, std::uint64_t from = 64, unsigned size = 2, double stall = 0,
                                      unsigned copies = 20) {
  shell_options o;
  o.hang_cycles = 500;
  o.stall = stall;
  ram memory("memory", 5);
  copier c(fault, o);
  c.m0.memory.bind(memory.in);
  for (unsigned i = 0; i < copies; ++i) c.copy(from, 1024, 8, size, false);
  testing::run_for(100_us);
  return c.violations.empty() ? "none" : c.violations.front();
}

TEST(axi_master, no_fault_no_violation) {
  EXPECT_EQ(first_violation_of_copier(0, 64, 2, 0.5), "none");
}
TEST(axi_master, a_last_that_comes_early_is_found) {
  EXPECT_EQ(first_violation_of_copier(1), "copy (axi_copy_design): stream m0.w: `last` is wrong on beat 7 of 8");
}
TEST(axi_master, a_burst_of_another_kind_is_found) {
  EXPECT_EQ(first_violation_of_copier(2),
            "copy (axi_copy_design): stream m0.ar: a burst at 0x40 is of a kind that is reserved");
}
TEST(axi_master, a_valid_that_falls_is_found) {
  EXPECT_EQ(first_violation_of_copier(3, 64, 2, 0.5), "copy (axi_copy_design): awvalid fell before it was taken");
}
TEST(axi_master, an_address_that_changes_is_found) {
  EXPECT_EQ(first_violation_of_copier(4, 64, 2, 0.5),
            "copy (axi_copy_design): araddr changed from 0x40 to 0x41 while arvalid waited for ready");
}
TEST(axi_master, a_strobe_outside_its_beat_is_found) {
  EXPECT_EQ(first_violation_of_copier(5),
            "copy (axi_copy_design): stream m0.w: beat 1 of a burst at 0x400 has a strobe outside it, on byte 4");
}
TEST(axi_master, an_answer_that_is_never_taken_is_a_hang) {
  EXPECT_EQ(first_violation_of_copier(6, 64, 2, 0, 1),
            "copy (axi_copy_design): hang: stream m0.r has not been taken for 501 cycles (rready)");
}
TEST(axi_master, beats_wider_than_the_bus_are_found) {
  EXPECT_EQ(first_violation_of_copier(7),
            "copy (axi_copy_design): stream m0.ar: a burst at 0x40 has beats of 128 bytes, the bus has 8");
}
TEST(axi_master, a_burst_across_4_kib_is_found) {
  EXPECT_EQ(first_violation_of_copier(0, 4080), "copy (axi_copy_design): stream m0.ar: a burst at 0xff0 crosses 4 KiB");
}

class lite_copier : public copying_master {
 public:
  explicit lite_copier(const shell_options& o) : copying_master(make_axi_lite_copy_design, o, 48) {}
  void copy(std::uint64_t from, std::uint64_t to, unsigned words, unsigned keep = 0xff) {
    payload p;
    writer(p).put(from, 16).put(to, 16).put(words - 1, 8).put(keep, 8);
    command(p);
  }
};

void random_words(std::uint64_t seed, double stall, unsigned latency) {
  shell_options o;
  o.seed = seed;
  o.stall = stall;
  o.check_x = true;
  ram memory("memory", latency);
  lite_copier c(o);
  c.m0.memory.bind(memory.in);
  random_stream r(seed, "words");
  for (auto& b : memory.bytes) b = static_cast<unsigned char>(r.next());
  std::vector<unsigned char> wanted = memory.bytes;
  std::uint64_t words = 0;
  const unsigned copies = 200;
  for (unsigned i = 0; i < copies; ++i) {
    const auto n = static_cast<unsigned>(1 + r.below(40));
    const std::uint64_t from = r.below(3000) * 8;
    const std::uint64_t to = 0x6800 + r.below(3000) * 8;
    const auto keep = static_cast<unsigned>(r.below(256));
    for (std::uint64_t b = 0; b < 8 * n; ++b) {
      if (keep >> b % 8 & 1) wanted[to + b] = wanted[from + b];
    }
    c.copy(from, to, n, keep);
    words += n;
  }
  expect_copied(c, memory, wanted, copies, 2 * words);
}

TEST(axi_lite_master, copies_without_stalls) {
  random_words(4, 0, 5);
}
TEST(axi_lite_master, copies_with_stalls_of_every_channel) {
  random_words(5, 0.4, 5);
}
TEST(axi_lite_master, copies_through_memory_that_answers_in_the_call) {
  random_words(6, 0.2, 0);
}

// CMD in cycle 0; for each word AR, R 5 cycles later, AW with W, B 5 cycles later; DONE.
TEST(axi_lite_master, a_copy_takes_its_words) {
  ram memory("memory", 5);
  lite_copier c({});
  c.m0.memory.bind(memory.in);
  c.copy(64, 1024, 3);
  testing::run_until_idle();
  EXPECT_EQ(c.done_at, clock_400.cycles(1 + 3 * (5 + 1 + 5 + 1)));
}

TEST(axi_lite_master, errors_of_the_memory_reach_the_master) {
  ram memory("memory", 5);
  lite_copier c({});
  c.m0.memory.bind(memory.in);
  c.copy(ram::top, 64, 1);
  c.copy(64, ram::top, 1);
  testing::run_until_idle();
  EXPECT_EQ(c.done, (std::vector<unsigned>{3U << 2, 3U}));
}

}  // namespace
}  // namespace hcasim::rtl
