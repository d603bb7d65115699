// The checkers of a whole run: `set.watch(unit.socket)` for each initiator socket, `set.finish(limit)` at the end.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tlm/checker/loan_checker.h"
#include "tlm/checker/packet_checker.h"

namespace hcasim {

class checker_set {
 public:
  explicit checker_set(violation_log::action a = violation_log::action::report) : log_(a) {}

  // `next` listens on the same binding: a socket has one observer.
  template <class P>
  void watch(initiator_socket<P>& s, socket_observer<P>* next = nullptr) {
    attach(s, std::make_unique<protocol_checker<P>>(s.name(), log_, next));
  }
  void watch(initiator_socket<packet>& s, packet_rules r = {}, socket_observer<packet>* next = nullptr) {
    attach(s, std::make_unique<packet_checker>(s.name(), log_, r, next));
  }
  // All bindings of one context cache, or of one key_check, share a book.
  template <class P>
  void watch(initiator_socket<P>& s, loan_book& book, socket_observer<P>* next = nullptr) {
    attach(s, std::make_unique<loan_checker<P>>(s.name(), log_, book, next));
  }
  loan_book& new_book() { return books_.emplace_back(); }

  void check_hangs(ps limit) {
    for (const auto& c : checkers_) c->check_hangs(limit);
  }
  void finish(ps limit) {
    for (const auto& c : checkers_) c->finish(limit);
  }
  [[nodiscard]] const violation_log& log() const { return log_; }
  [[nodiscard]] std::size_t size() const { return checkers_.size(); }

 private:
  template <class P, class C>
  void attach(initiator_socket<P>& s, std::unique_ptr<C> c) {
    s.observe(c.get());
    checkers_.push_back(std::move(c));
  }

  violation_log log_;
  std::deque<loan_book> books_;
  std::vector<std::unique_ptr<checker>> checkers_;
};

}  // namespace hcasim
