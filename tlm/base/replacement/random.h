// Any way that is not locked, each as likely as the others.
#pragma once

#include "tlm/base/random.h"
#include "tlm/base/replacement/replacement.h"

namespace hcasim {

class random_replacement final : public replacement {
 public:
  random_replacement(std::uint32_t, std::uint32_t ways, std::uint64_t seed) : ways_(ways), random_(seed, "replacement") {}

  void used(std::uint32_t, std::uint32_t) override {}

  std::uint32_t victim(std::uint32_t, const std::uint8_t* locked) override {
    std::uint32_t eligible = 0;
    for (std::uint32_t w = 0; w < ways_; ++w) eligible += !locked[w];
    auto left = static_cast<std::uint32_t>(random_.below(eligible));
    for (std::uint32_t w = 0;; ++w) {
      if (!locked[w] && left-- == 0) return w;
    }
  }

 private:
  std::uint32_t ways_;
  random_stream random_;
};

}  // namespace hcasim
