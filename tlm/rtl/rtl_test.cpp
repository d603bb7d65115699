// The layouts of hca_pkg against the C headers; the shell against RTL with and without violations of the protocol.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "firmware/abi/access.h"
#include "firmware/abi/mrc.h"
#include "firmware/abi/registers.h"
#include "rtl/layouts_design.h"
#include "rtl/suspect_design.h"
#include "tlm/base/random.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"
#include "tlm/verdict.h"

namespace hcasim::rtl {
namespace {

class layout_shell : public shell {
 public:
  layout_shell() : shell("layouts", clock_400, make_layouts_design, {}), in_(into("in", 515)), out_(out_of("out", 1152)) {
    out_.on_transfer = [this](const payload& p, std::uint64_t, ps) { answers.push_back(p); };
  }
  void ask(unsigned which, const void* line, unsigned bytes) {
    payload p;
    writer(p).bytes(line, bytes);
    p.set(512, 3, which);
    push(in_, p, now());
  }
  std::vector<payload> answers;

 private:
  stream& in_;
  stream& out_;
};

std::uint64_t lane(const payload& p, unsigned n) {
  return p.get(64 * n, 64);
}

template <class T>
T random_bytes(random_stream& r) {
  T v;
  std::array<std::uint8_t, sizeof(T)> bytes;
  for (auto& b : bytes) b = static_cast<std::uint8_t>(r.next());
  std::memcpy(&v, bytes.data(), sizeof v);
  return v;
}

// Fields of any width, bit by bit, in a used payload and in one wider than its content.
TEST(rtl_payload, fields_lie_one_after_the_other_from_the_lowest_bit_up) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    random_stream r(seed, "fields");
    const auto limit = static_cast<unsigned>(1 + r.below(seed % 4 == 0 ? payload_bits + 900 : payload_bits));
    payload p;
    if (seed % 2 == 0) p.words.fill(~0U);
    std::vector<bool> expected;
    std::vector<std::pair<std::uint64_t, unsigned>> fields;  // more than 64 bits: bytes of a line
    std::array<std::uint8_t, 64> line;
    for (auto& b : line) b = static_cast<std::uint8_t>(r.next());
    writer w(p);
    while (expected.size() < limit) {
      if (r.chance(0.1)) {
        const auto n = static_cast<unsigned>(4 * (1 + r.below(16)));
        w.bytes(line.data(), n);
        for (unsigned i = 0; i < 8 * n; ++i) expected.push_back(line[i / 8] >> i % 8 & 1);
        fields.emplace_back(0, 8 * n + 64);
      } else {
        const auto bits = static_cast<unsigned>(r.chance(0.2) ? 64 : 1 + r.below(64));
        const std::uint64_t v = r.next();
        w.put(v, bits);
        for (unsigned i = 0; i < bits; ++i) expected.push_back(v >> i & 1);
        fields.emplace_back(bits == 64 ? v : v & ((std::uint64_t{1} << bits) - 1), bits);
      }
    }
    ASSERT_EQ(w.bits(), expected.size());
    for (unsigned i = 0; i < expected.size(); ++i) ASSERT_EQ(p.get(i, 1), expected[i]) << "bit " << i << ", seed " << seed;
    reader in(p);
    for (const auto& [v, bits] : fields) {
      if (bits <= 64) {
        ASSERT_EQ(in.get(bits), v) << "seed " << seed;
        continue;
      }
      std::array<std::uint8_t, 64> read{};
      in.bytes(read.data(), (bits - 64) / 8);
      ASSERT_TRUE(std::equal(read.begin(), read.begin() + (bits - 64) / 8, line.begin())) << "seed " << seed;
    }
  }
}

TEST(rtl_layouts, every_field_lies_where_the_c_header_has_it) {
  layout_shell s;
  random_stream r(1, "layouts");
  std::vector<hca_mrc> mrcs;
  for (int i = 0; i < 100; ++i) mrcs.push_back(random_bytes<hca_mrc>(r));
  for (const hca_mrc& m : mrcs) s.ask(0, &m, sizeof m);
  const auto extent = random_bytes<hca_extent>(r);
  const auto node = random_bytes<hca_extent_node>(r);
  const auto element = random_bytes<hca_element>(r);
  const auto bell = random_bytes<hca_doorbell>(r);
  const auto record = random_bytes<hca_qp_record>(r);
  s.ask(1, &extent, sizeof extent);
  s.ask(2, &element, sizeof element);
  s.ask(3, &bell, sizeof bell);
  s.ask(4, &record, sizeof record);
  s.ask(7, &node, sizeof node);
  testing::run_until_idle();
  ASSERT_EQ(s.answers.size(), mrcs.size() + 5);
  for (std::size_t i = 0; i < mrcs.size(); ++i) {
    const hca_mrc& m = mrcs[i];
    const std::vector<std::uint64_t> fields{m.kind,     m.state,  m.key_byte, m.page_shift, m.levels,      m.flags,
                                            m.function, m.access, m.pd,       m.qpn,        m.parent,      m.start,
                                            m.length,   m.table,  m.table_va, m.extent,     m.extent_count};
    for (unsigned f = 0; f < fields.size(); ++f) EXPECT_EQ(lane(s.answers[i], f), fields[f]) << "field " << f;
  }
  const std::size_t n = mrcs.size();
  EXPECT_EQ(lane(s.answers[n], 0), extent.start);
  EXPECT_EQ(lane(s.answers[n], 1), extent.length);
  EXPECT_EQ(lane(s.answers[n + 1], 0), element.va);
  EXPECT_EQ(lane(s.answers[n + 1], 1), element.key);
  EXPECT_EQ(lane(s.answers[n + 1], 2), element.length);
  EXPECT_EQ(lane(s.answers[n + 2], 0), bell.number);
  EXPECT_EQ(lane(s.answers[n + 2], 1), bell.value);
  EXPECT_EQ(lane(s.answers[n + 3], 0), record.sq_pi);
  EXPECT_EQ(lane(s.answers[n + 3], 1), record.rq_pi);
  for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(lane(s.answers[n + 4], i), node.start[i]) << "start " << i;
  for (unsigned i = 0; i < 6; ++i) EXPECT_EQ(lane(s.answers[n + 4], 5 + i), node.child[i]) << "child " << i;
}

TEST(rtl_layouts, constants_are_those_of_the_c_headers) {
  layout_shell s;
  const std::uint32_t nothing = 0;
  s.ask(5, &nothing, sizeof nothing);
  s.ask(6, &nothing, sizeof nothing);
  testing::run_until_idle();
  ASSERT_EQ(s.answers.size(), 2U);
  const std::vector<std::uint64_t> wanted{HCA_QPN_ANY,
                                          HCA_ACCESS_ZERO_BASED,
                                          static_cast<std::uint64_t>(verdict::bad_index),
                                          static_cast<std::uint64_t>(verdict::bad_key),
                                          static_cast<std::uint64_t>(verdict::bad_state),
                                          static_cast<std::uint64_t>(verdict::bad_association),
                                          static_cast<std::uint64_t>(verdict::bad_rights),
                                          static_cast<std::uint64_t>(verdict::bad_bounds),
                                          static_cast<std::uint64_t>(verdict::table_error),
                                          HCA_MRC_FREE,
                                          HCA_MRC_VALID,
                                          HCA_MRC_PHYSICAL,
                                          HCA_MRC_NULL,
                                          HCA_MRC_ADDRESS_SPACE,
                                          HCA_MRC_WINDOW_1,
                                          HCA_MRC_WINDOW_2,
                                          HCA_MRC_INDIRECT,
                                          HCA_MRC_KINDS};
  for (unsigned i = 0; i < wanted.size(); ++i) EXPECT_EQ(lane(s.answers[0], i), wanted[i]) << "constant " << i;
  const std::vector<std::uint64_t> others{HCA_MRC_NONE,
                                          HCA_MRC_REGION,
                                          HCA_MRC_FAST,
                                          HCA_MRC_DEVICE_MEMORY,
                                          HCA_MRC_DMABUF,
                                          HCA_MRC_INVALID,
                                          HCA_MRC_PRIVILEGED,
                                          HCA_MRC_ON_DEMAND,
                                          HCA_EXTENTS_PER_LINE,
                                          HCA_PTE_BITS,
                                          static_cast<std::uint64_t>(verdict::granted),
                                          HCA_EXTENT_CHILDREN,
                                          HCA_EXTENT_LEVELS,
                                          HCA_EXTENT_NONE};
  for (unsigned i = 0; i < others.size(); ++i) EXPECT_EQ(lane(s.answers[1], i), others[i]) << "constant " << i;
}

// A user's RTL: other port names, a payload on two ports, a busy instead of a ready, a reset that is active high.
class suspect_shell : public shell {
 public:
  suspect_shell(unsigned fault, const shell_options& o)
      : shell("suspect", clock_400, make_suspect_design, o), in_(into("in", 40)), out_(out_of("out", 40)) {
    strap("fault", fault);
    in_.on_transfer = [this](const payload&, std::uint64_t, ps) { owe(1); };
    out_.on_transfer = [this](const payload& p, std::uint64_t, ps t) {
      owe(-1);
      answers.push_back(p.get(0, 40));
      times.push_back(t);
    };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void ask(std::uint64_t v, ps t) {
    payload p;
    p.set(0, 40, v);
    push(in_, p, t);
  }
  std::vector<std::uint64_t> answers;
  std::vector<ps> times;
  std::vector<std::string> violations;

 private:
  stream& in_;
  stream& out_;
};

std::string first_violation(unsigned fault, shell_options o) {
  o.hang_cycles = 500;
  suspect_shell s(fault, o);
  for (std::uint64_t i = 0; i < 50; ++i) s.ask(i << 30 | i, clock_400.cycles(static_cast<double>(10 * i)));
  testing::run_for(clock_400.cycles(5000));
  if (s.violations.empty()) {
    EXPECT_EQ(s.answers.size(), 50U);
    for (std::uint64_t i = 0; i < s.answers.size(); ++i) EXPECT_EQ(s.answers[i], (i << 30 | i) + 1);
    return "none";
  }
  const std::string& v = s.violations.front();
  return v.substr(v.find(": ") + 2);
}

shell_options stalled() {
  shell_options o;
  o.stall = 0.5;
  return o;
}

TEST(rtl_shell, rtl_that_keeps_to_the_protocol_is_let_through_under_stalls) {
  EXPECT_EQ(first_violation(0, stalled()), "none");
}
TEST(rtl_shell, an_answer_takes_its_cycles) {
  suspect_shell s(0, {});
  s.ask(1, clock_400.cycles(4));
  s.ask(2, clock_400.cycles(6) + 1_ps);
  testing::run_until_idle();
  EXPECT_EQ(s.times, (std::vector<ps>{clock_400.cycles(5), clock_400.cycles(8)}));
}
TEST(rtl_shell, a_valid_that_falls_is_found) {
  EXPECT_EQ(first_violation(1, stalled()), "o_v fell before it was taken");
}
TEST(rtl_shell, a_payload_that_changes_is_found) {
  EXPECT_EQ(first_violation(2, stalled()), "o_d changed from 0x80000003 to 0x80000004 while o_v waited for ready");
}
TEST(rtl_shell, an_answer_that_never_comes_is_found) {
  EXPECT_NE(first_violation(3, {}).find("hang: stream in has not been taken for"), std::string::npos);
}
TEST(rtl_shell, a_stream_that_is_never_taken_is_found) {
  const std::string found = first_violation(4, {});
  EXPECT_NE(found.find("hang: stream in has not been taken for"), std::string::npos);
  EXPECT_NE(found.find("cycles (i_busy)"), std::string::npos) << found;
}
TEST(rtl_shell, an_unknown_control_output_is_found) {
  shell_options o;
  o.check_x = true;
  EXPECT_EQ(first_violation(5, o), "i_busy is unknown (X): it depends on a register that reset does not set");
}
// Its outputs are known: the second copy ends alone.
TEST(rtl_shell, an_assertion_on_an_unknown_register_is_found) {
  shell_options o;
  o.check_x = true;
  const std::string found = first_violation(6, o);
  EXPECT_NE(found.find("assertion 'suspect_design.suspect.never_set, suspect.sv:"), std::string::npos) << found;
  EXPECT_NE(found.find("' failed: 'assert' failed., in the second copy of the design alone, whose registers begin as ones "
                       "(check_x): it depends on a register that reset does not set"),
            std::string::npos)
      << found;
}
TEST(rtl_shell, an_assertion_on_an_unknown_register_needs_check_x) {
  EXPECT_EQ(first_violation(6, {}), "none");
}
// An assertion of the RTL, `stays`, fails before the reset in the second copy.
TEST(rtl_shell, nothing_is_unknown_in_rtl_with_a_reset) {
  shell_options o;
  o.check_x = true;
  EXPECT_EQ(first_violation(0, o), "none");
}
TEST(rtl_shell, an_idle_design_is_not_clocked) {
  suspect_shell s(0, {});
  s.ask(1, 1_us);
  s.ask(2, 1_ms);
  testing::run_until_idle();
  EXPECT_EQ(s.answers.size(), 2U);
  EXPECT_LT(s.cycles(), 200U);
}
TEST(rtl_shell, a_bundle_that_is_not_there_is_refused_by_name) {
  const auto error_of = [](const char* bundle_name, bool into, unsigned bits) {
    try {
      (void)make_suspect_design()->find(bundle_name, into, bits);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error_of("in", true, 40), "none");
  EXPECT_EQ(error_of("request", true, 40), "suspect_design: bundle 'request' is not among its PINS");
  EXPECT_EQ(error_of("in", false, 40), "suspect_design: bundle 'in' goes the wrong way: it must lead out of the RTL");
  EXPECT_EQ(error_of("in", true, 41), "suspect_design: bundle 'in' has 40 bits on i_low, 41 are needed");
}

}  // namespace
}  // namespace hcasim::rtl
