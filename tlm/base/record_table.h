// Records of objects that have a number, as a QP has one of 24 bits. A record is made together with its object, so that an
// invented number leaves no trace. A record keeps its place.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace hcasim {

template <class T>
class record_table {
 public:
  // Returns the record; null = none has this number.
  [[nodiscard]] T* find(std::uint32_t number) const { return number < records_.size() ? records_[number].get() : nullptr; }

  // Returns the record of this number; makes T(number, more...) when there is none yet.
  template <class... More>
  T& make(std::uint32_t number, More&&... more) {
    if (number >= records_.size()) records_.resize(number + 1);
    auto& r = records_[number];
    if (!r) r = std::make_unique<T>(number, std::forward<More>(more)...);
    return *r;
  }

  template <class F>
  void each(F f) const {
    for (const auto& r : records_) {
      if (r) f(*r);
    }
  }

 private:
  std::vector<std::unique_ptr<T>> records_;
};

}  // namespace hcasim
