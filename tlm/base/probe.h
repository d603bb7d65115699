// A signal that can be watched in a waveform: queue occupancy, state, key, verdict, valid. Unwatched it is one untaken branch.
// Values may be set for a time ahead of the kernel (annotated delays); the sink puts them in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {

class probe_sink {
 public:
  virtual ~probe_sink() = default;
  virtual void change(std::uint32_t signal, std::uint64_t value, ps at) = 0;
};

class probe {
 public:
  void set(std::uint64_t value, ps at) {
    if (sink_) [[unlikely]] {
      sink_->change(id_, value, at);
    }
  }
  // Sets a strobe: `value` from `at` on, 0 again after `width`.
  void pulse(std::uint64_t value, ps at, ps width) {
    if (sink_) [[unlikely]] {
      sink_->change(id_, value, at);
      sink_->change(id_, 0, at + width);
    }
  }
  [[nodiscard]] bool watched() const { return sink_ != nullptr; }
  void watch(probe_sink* sink, std::uint32_t id) {
    sink_ = sink;
    id_ = id;
  }

 private:
  probe_sink* sink_ = nullptr;
  std::uint32_t id_ = 0;
};

struct probe_entry {
  std::string name;
  unsigned width;                   // bits, 1..64
  std::vector<std::string> labels;  // names of values 0, 1, ...; empty = a number
  probe* signal;
};

class probes {
 public:
  void add(std::string name, unsigned width, probe& p, std::vector<std::string> labels = {}) {
    list_.push_back({std::move(name), width, std::move(labels), &p});
  }
  [[nodiscard]] const std::vector<probe_entry>& all() const { return list_; }
  [[nodiscard]] bool has(std::string_view name) const {
    return std::any_of(list_.begin(), list_.end(), [name](const probe_entry& e) { return e.name == name; });
  }

 private:
  std::vector<probe_entry> list_;
};

}  // namespace hcasim
