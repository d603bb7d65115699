// Bits of every table flip under load, with each integrity code. No flip causes a crash or a hang, and the other QPs' work goes
// on. With a code no byte moves outside a grant and nothing goes wrong unnoticed. The normal form draws bits, HCASIM_FULL=1
// takes all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "testbenches/checks/icm_faults/bed.h"
#include "tlm/base/random.h"

namespace hcasim::icm {
namespace {

constexpr std::array check_names{"none", "parity", "secded"};

enum class outcome : std::uint8_t { masked, corrected, contained, lost };
constexpr std::array outcome_names{"masked", "corrected", "contained", "lost"};

struct strike {
  table where;
  std::uint64_t bit;
  bool two;  // another bit of the same 32-bit word as well
};

// Returns whether the bit is of an address in a context, which only a code protects.
bool is_address(table t, std::uint64_t bit) {
  const std::uint64_t byte = bit / 8;
  const auto within = [byte](std::size_t first, std::size_t bytes) { return byte >= first && byte < first + bytes; };
  switch (t) {
    case table::qpc:
    case table::responder_qpc:
    case table::srqc:
      return within(offsetof(hca_qpc, record), 8) || within(offsetof(hca_qpc, sq), 8) || within(offsetof(hca_qpc, rq), 8) ||
             within(offsetof(hca_qpc, in_address), 8);
    case table::cqc:
      return within(offsetof(hca_cqc, buffer), 8) || within(offsetof(hca_cqc, record), 8);
    case table::mrc:
    case table::space_mrc:
      return within(offsetof(hca_mrc, start), sizeof(hca_mrc) - offsetof(hca_mrc, start)) || within(offsetof(hca_mrc, kind), 8);
    case table::pte:
    case table::space_pte:
    case table::queue_pte:
    case table::extents:
      return true;
    default:
      return false;
  }
}

bool is_wqe(table t) {
  return t == table::send_wqe || t == table::receive_wqe;
}

class fuzz {
 public:
  fuzz(cpu& c, node& n, icm_check check) : b_(c, n), check_(check), bystander_(b_.make_pair(false, true, 0x400000)) {}

  // Strikes once; returns false when later results in this world tell nothing.
  bool strike_once(const strike& s) {
    pair v = b_.make_pair(s.where == table::srqc,
                          s.where == table::space_mrc || s.where == table::extents || s.where == table::space_pte);
    if (v.to.mr == nullptr) {
      ADD_FAILURE() << "no victim could be made";
      return false;
    }
    const unsigned each = bed::operations + (v.space.key != 0 ? 1 : 0);
    EXPECT_EQ(b_.work(v, 1), each);
    EXPECT_EQ(b_.work(bystander_, 1), bed::operations + 1);
    b_.p.c.sync();
    const place at = b_.find(v, s.where);
    const double corrected = sum("corrected");
    const double detected = sum("detected") + sum("unbelievable");
    std::vector<std::uint64_t> bits{s.bit % (8 * at.bytes)};
    if (s.two) bits.push_back(bits[0] ^ (1 + s.bit % 31));
    if (s.where == table::send_wqe) b_.in_send_wqe = bits;
    if (s.where == table::receive_wqe) b_.in_receive_wqe = bits;
    for (const std::uint64_t bit : bits) {
      if (!is_wqe(s.where)) b_.flip(at.address, bit);
    }
    unsigned well = b_.work(v, 1);
    const unsigned other = b_.work(bystander_, 1);
    well += b_.work(v, 1);
    const bool astray = check_ == icm_check::none && is_address(s.where, bits[0]);
    if (!astray) judge(s, v, other);
    const bool fixed = sum("corrected") > corrected;
    const bool noticed = sum("detected") + sum("unbelievable") > detected;
    const bool heard = !b_.events().empty();
    const bool all = well == 2 * each;
    const outcome o = all ? (fixed ? outcome::corrected : outcome::masked)
                          : (noticed || heard || is_wqe(s.where) ? outcome::contained : outcome::lost);
    ++counts[{s.where, o}];
    if (check_ != icm_check::none && !is_wqe(s.where)) {
      EXPECT_NE(o, outcome::lost);
      EXPECT_TRUE(all || check_ != icm_check::secded || s.two) << "one bit is put right";
    }
    bury(v);
    return !astray;
  }

  std::map<std::pair<table, outcome>, unsigned> counts;

 private:
  void judge(const strike&, const pair& v, unsigned other) {
    EXPECT_EQ(other, bed::operations + 1) << "the bystander's work";
    EXPECT_TRUE(b_.guards_intact(v));
    EXPECT_TRUE(b_.guards_intact(bystander_));
  }
  // Destroys the pair as far as possible.
  void bury(const pair& v) {
    ibv_destroy_qp(b_.p.c, v.a);
    ibv_destroy_qp(b_.p.c, v.b);
    ibv_dereg_mr(b_.p.c, v.to.mr);
    ibv_dereg_mr(b_.p.c, v.from.mr);
    if (v.space.key != 0) x_teardown(b_.p.c, b_.p.context, v.space.key);
    if (v.srq) ibv_destroy_srq(b_.p.c, v.srq);
    ibv_destroy_cq(b_.p.c, v.cq);
  }
  double sum(const std::string& what) const {
    double total = 0;
    for (const char* kind : icm_entry_names) total += b_.counted(("icm_" + what + "_" + kind).c_str());
    return total;
  }

  bed b_;
  icm_check check_;
  pair bystander_;
};

void print(icm_check check, const std::map<std::pair<table, outcome>, unsigned>& counts) {
  for (std::size_t t = 0; t < tables; ++t) {
    std::string line;
    unsigned all = 0;
    for (std::size_t o = 0; o < outcome_names.size(); ++o) {
      const auto found = counts.find({static_cast<table>(t), static_cast<outcome>(o)});
      const unsigned n = found == counts.end() ? 0 : found->second;
      all += n;
      line += std::string("  ") + outcome_names[o] + " " + std::to_string(n);
    }
    if (all != 0) std::printf("%-6s %-13s%s\n", check_names[static_cast<std::size_t>(check)], table_names[t], line.c_str());
  }
}

// The strikes that one world takes, from `first` on; the next one to give to another.
std::size_t run(icm_check check, const std::vector<strike>& strikes) {
  std::size_t done = 0;
  bool ended = false;
  world w(config(check));
  w.run({[&](cpu& c, node& n) {
    fuzz f(c, n, check);
    while (done < strikes.size() && !::testing::Test::HasFailure()) {
      const strike& s = strikes[done];
      SCOPED_TRACE(std::string(check_names[static_cast<std::size_t>(check)]) + " " +
                   table_names[static_cast<std::size_t>(s.where)] + " bit " + std::to_string(s.bit) +
                   (s.two ? " and another" : ""));
      ++done;
      if (!f.strike_once(s)) break;
    }
    print(check, f.counts);
    ended = true;
    c.sync();
    sc_core::sc_stop();
  }});
  EXPECT_TRUE(ended) << "the program stands still";
  return done;
}

std::uint64_t bits_of(table t) {
  static constexpr std::array<std::uint64_t, tables> bytes{256, 256, 256, 64, 64, 64, 64, 24, 24, 24, 128, 64};
  return 8 * bytes[static_cast<std::size_t>(t)];
}

class icm_fuzz : public ::testing::TestWithParam<unsigned> {};

TEST_P(icm_fuzz, drawn_bits) {
  const unsigned seed = GetParam();
  const auto check = static_cast<icm_check>(seed % 3);
  random_stream random(seed, "strikes");
  std::vector<strike> strikes;
  for (int i = 0; i < 40; ++i) {
    const auto t = static_cast<table>(random.below(tables));
    strikes.push_back({t, random.below(bits_of(t)), check == icm_check::secded && random.below(2) != 0});
  }
  // Faults that may lead anywhere without a code come last: they end their world.
  if (check == icm_check::none) {
    std::stable_partition(strikes.begin(), strikes.end(), [](const strike& s) { return !is_address(s.where, s.bit); });
  }
  EXPECT_GT(run(check, strikes), 0U);
}

INSTANTIATE_TEST_SUITE_P(seeds, icm_fuzz, ::testing::Range(0U, 48U));

// Bits of one table, with one code.
class icm_bits : public ::testing::TestWithParam<std::tuple<unsigned, unsigned>> {};

TEST_P(icm_bits, each_wrong_bit_is_noticed_or_harmless) {
  if (!std::getenv("HCASIM_FULL")) GTEST_SKIP() << "takes minutes; HCASIM_FULL=1 runs it";
  const auto check = static_cast<icm_check>(std::get<0>(GetParam()));
  const auto t = static_cast<table>(std::get<1>(GetParam()));
  std::vector<strike> strikes;
  for (std::uint64_t bit = 0; bit < bits_of(t); ++bit) {
    if (check == icm_check::none && is_address(t, bit)) continue;
    strikes.push_back({t, bit, false});
    if (check == icm_check::secded) strikes.push_back({t, bit, true});
  }
  if (!strikes.empty()) {
    EXPECT_EQ(run(check, strikes), strikes.size());
  }
}

INSTANTIATE_TEST_SUITE_P(all, icm_bits, ::testing::Combine(::testing::Range(0U, 3U), ::testing::Range(0U, unsigned{tables})));

}  // namespace
}  // namespace hcasim::icm
