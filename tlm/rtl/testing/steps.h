// Compares a design taken step by step with the same design evaluated as a whole.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tlm/base/random.h"
#include "tlm/rtl/design.h"

namespace hcasim::rtl {

// Steps leave the outputs of a full evaluation, whatever the inputs, resets and clocks are, and whatever falls as they rise.
// False = this design is not taken so.
inline bool expect_steps_alike(design_factory make, std::uint64_t seed) {
  const std::unique_ptr<design> whole = make(0);
  const std::unique_ptr<design> less = make(0);
  if (!less->steps()) return false;
  random_stream r(seed, whole->name());
  const auto clocks = static_cast<unsigned>(whole->clocks().size());
  bool in_reset = true;
  std::vector<bool> in_reset_of(clocks, true);
  int step = 0;
  const auto compare = [&](const char* when) {
    for (std::size_t i = 0; i < whole->pins().size(); ++i) {
      const pin& p = whole->pins()[i];
      if (!p.output) continue;
      EXPECT_EQ(std::memcmp(p.at, less->pins()[i].at, p.bytes()), 0)
          << whole->name() << " " << p.name << ", " << when << " of step " << step << ", seed " << seed;
    }
  };
  for (; step < 2000 && !::testing::Test::HasFailure(); ++step) {
    const bool inputs = step == 0 || r.chance(0.4);
    for (std::size_t i = 0; inputs && i < whole->pins().size(); ++i) {
      const pin& p = whole->pins()[i];
      for (unsigned bit = 0; !p.output && bit < p.bits; bit += 32) {
        const auto bits = static_cast<std::uint32_t>(r.next());
        for (design* d : {whole.get(), less.get()}) d->pins()[i].set_part(bit, std::min(32U, p.bits - bit), bits);
      }
    }
    const bool resets = step == 0 || step == 8 || (step > 8 && r.chance(0.04));
    if (resets) in_reset = step == 0 || (step > 8 && r.chance(0.3));
    for (unsigned n = 0; n < clocks; ++n) {
      if (resets) in_reset_of[n] = step == 0 || (step > 8 && r.chance(0.3));
    }
    for (design* d : {whole.get(), less.get()}) {
      d->reset(in_reset);
      for (unsigned n = 0; n < clocks; ++n) {
        d->reset(in_reset_of[n], n);
        d->clock(n, false);
      }
    }
    whole->eval();
    if (resets) {
      less->eval();
    } else if (inputs) {
      less->settle();
    }
    compare("inputs");
    std::uint64_t risen = 0;
    for (unsigned n = 0; n < clocks; ++n) {
      if (clocks > 1 && r.chance(0.4)) continue;
      risen |= std::uint64_t{1} << n;
      whole->clock(n, true);
    }
    whole->eval();
    for (std::size_t i = 0; i < whole->bundles().size(); ++i) {
      const bundle& b = whole->bundles()[i];
      if (!b.falls || r.chance(0.5)) continue;
      for (design* d : {whole.get(), less.get()}) d->bundles()[i].valid->set(b.inverted);
    }
    whole->eval();
    less->rise(risen);
    compare("clocks");
  }
  return true;
}

}  // namespace hcasim::rtl
