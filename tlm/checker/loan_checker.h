// Checkers of loans through several bindings: lines of one context cache, references to the keys of one key_check.
//
// A drop or drain may be answered only when every earlier loan has come back, at the latest at the time of the answer.
// Otherwise an access under the old state could outlive the change.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tlm/checker/protocol_checker.h"

namespace hcasim {

// Shared by the checkers of all bindings of one lender.
class loan_book {
 public:
  void lend(std::uint32_t index) { entries_[index].loans.push_back(serial_++); }
  // Ends the loan that `lend` counted as `serial`.
  void give_back(std::uint32_t index, std::uint64_t serial, ps t) {
    entry& e = entries_[index];
    std::erase(e.loans, serial);
    for (change& c : e.changes) {
      if (serial < c.serial) c.earliest = std::max(c.earliest, t);
    }
    e.last_return = std::max(e.last_return, t);
  }
  void request_change(std::uint32_t index, const void* by) {
    entry& e = entries_[index];
    e.changes.push_back({by, serial_, e.last_return});
  }
  // Returns the violation of an answer at `t`; empty = none.
  std::string answer_change(std::uint32_t index, const void* by, ps t) {
    entry& e = entries_[index];
    const auto c = std::find_if(e.changes.begin(), e.changes.end(), [by](const change& x) { return x.by == by; });
    if (c == e.changes.end()) return {};
    const change asked = *c;
    e.changes.erase(c);
    const auto open = std::count_if(e.loans.begin(), e.loans.end(), [&](std::uint64_t s) { return s < asked.serial; });
    const std::string what = "index " + std::to_string(index) + ": ";
    if (open != 0) return what + std::to_string(open) + " not given back";
    if (t < asked.earliest) return what + "given back only at " + std::to_string(asked.earliest.count()) + " ps";
    return {};
  }
  [[nodiscard]] std::uint64_t next_serial() const { return serial_; }
  [[nodiscard]] std::size_t open(std::uint32_t index) const {
    const auto e = entries_.find(index);
    return e == entries_.end() ? 0 : e->second.loans.size();
  }

 private:
  struct change {
    const void* by;
    std::uint64_t serial;  // loans before this one count
    ps earliest;
  };
  struct entry {
    std::vector<std::uint64_t> loans;
    std::vector<change> changes;
    ps last_return{0};
  };
  std::map<std::uint32_t, entry> entries_;
  std::uint64_t serial_ = 0;
};

template <class P>
class loan_checker : public protocol_checker<P> {
 public:
  loan_checker(std::string binding, violation_log& log, loan_book& book, socket_observer<P>* next = nullptr)
      : protocol_checker<P>(std::move(binding), log, next), book_(book) {}

 private:
  void requested(const P& p, ps) override {
    if (loan_traits<P>::changes(p)) book_.request_change(loan_traits<P>::index(p), &p);
  }
  void lent(const P& p, std::uint32_t index) override {
    serials_.insert(&p, book_.next_serial());
    book_.lend(index);
    if (loan_traits<P>::lends_two(p)) book_.lend(loan_traits<P>::other(p));
  }
  void released(const P& p, std::uint32_t index, ps t) override {
    if (const std::uint64_t* serial = serials_.find(&p)) {
      book_.give_back(index, *serial, t);
      if (loan_traits<P>::lends_two(p)) book_.give_back(loan_traits<P>::other(p), *serial + 1, t);
    }
    serials_.erase(&p);
  }
  void changed(const P& p, std::uint32_t index, ps t) override {
    const std::string wrong = book_.answer_change(index, &p, t);
    if (!wrong.empty()) this->broken(rule::changed_while_lent, t, wrong);
  }

  loan_book& book_;
  pointer_map<std::uint64_t> serials_;
};

using context_checker = loan_checker<context_request>;
using key_checker = loan_checker<key_request>;

}  // namespace hcasim
