// Streams of a shell that belong together, under one name in PINS of hca_add_rtl: an AXI port, an AXI-Stream. A shell may have
// any number of endpoints, as its members or outside.
//
// Contract: an endpoint is made before the simulation starts, and lives as long as its shell.
#pragma once

#include <string>
#include <vector>

#include "tlm/rtl/shell.h"

namespace hcasim::rtl {

class endpoint {
 public:
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;
  virtual ~endpoint() = default;

  [[nodiscard]] unsigned clock() const { return clock_; }
  // Ends work under way, reported in `losses`: the endpoint's clock is in reset from now on.
  virtual void was_reset(ps t, std::vector<lost>& losses) = 0;

 protected:
  // Throws std::invalid_argument, which names the design, the endpoint and the fault. `into`: the RTL answers, or takes.
  endpoint(shell& of, const std::string& name, const char* kind, bool into) : shell_(of), name_(name) {
    of.design().check_endpoint(name, kind, into);
    of.endpoints_.push_back(this);
  }
  // Returns the stream; null = the RTL has no such channel.
  stream* channel(const char* channel_name, bool into) {
    const std::string bundle_name = name_ + "." + channel_name;
    if (!shell_.design().has_bundle(bundle_name)) return nullptr;
    stream& s = shell_.add(bundle_name, into, 0);
    clock_ = s.clock();
    return &s;
  }
  void push(stream& s, const payload& p, ps t, std::uint64_t cookie = 0) { shell_.push(s, p, t, cookie); }
  void owe(std::int64_t n) {
    owed_ += n;
    shell_.owe(n);
  }
  void await(std::int64_t n) {
    awaited_ += n;
    shell_.await(n);
  }
  void owe_and_await_nothing() {
    owe(-owed_);
    await(-awaited_);
  }
  void run() { shell_.run(); }
  void violation(const std::string& what) { shell_.violation(what); }
  [[nodiscard]] std::string who() const { return "endpoint " + name_; }
  [[nodiscard]] std::uint64_t seed() const { return shell_.options_.seed; }

 private:
  shell& shell_;
  const std::string name_;
  unsigned clock_ = 0;
  std::int64_t owed_ = 0;
  std::int64_t awaited_ = 0;
};

}  // namespace hcasim::rtl
