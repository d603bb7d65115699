// Accesses of one unit that wait for a page of an on-demand region [E9]. The driver is told with an event, once for a page that
// several ask for; its answer comes as a page_answer.
//
//   page_outcome o = co_await faults.wait(missing, qpn, owner, t);    // cancelled: by cancel(owner)
//   faults.note(request, missing, qpn, owner, t);  ... request.status     // without waiting (RNR)
//
// An access that is told `ready` looks again: the page may have gone once more.
#pragma once

#include <coroutine>

#include "firmware/abi/cqe.h"
#include "tlm/base/event_queue.h"
#include "tlm/base/pool.h"
#include "tlm/base/statistics.h"
#include "tlm/base/waiting.h"
#include "tlm/control.h"
#include "tlm/memory_access.h"
#include "tlm/work.h"

namespace hcasim {

class page_faults {
 public:
  enum class state : std::uint8_t { idle, pending, ready, refused, cancelled };

  struct request {
    state status = state::idle;
    missing_page page;
    const void* owner = nullptr;
    std::coroutine_handle<> waiter;
    ps since{0};
    request* next = nullptr;
    request* previous = nullptr;

    [[nodiscard]] bool for_page(const missing_page& p) const {
      return page.index == p.index && page.write == p.write && page.va >> page_bits == p.va >> page_bits;
    }
  };

  // `remote`: the unit serves requests of peers.
  page_faults(event_queue& queue, initiator_socket<report>& reports, bool remote)
      : queue_(queue), reports_(reports), remote_(remote) {}
  page_faults(const page_faults&) = delete;
  page_faults& operator=(const page_faults&) = delete;

  // Asks for the page; `r` lives until it is no longer pending, or forgotten.
  void note(request& r, const missing_page& p, std::uint32_t qpn, const void* owner, ps t);
  void forget(request& r);
  // Suspends until the answer.
  [[nodiscard]] auto wait(const missing_page& p, std::uint32_t qpn, const void* owner, ps t) {
    struct awaiter {
      page_faults& self;
      missing_page page;
      std::uint32_t qpn;
      const void* owner;
      ps t;
      request r;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> h) {
        r.waiter = h;
        self.note(r, page, qpn, owner, t);
      }
      state await_resume() const { return r.status; }
    };
    return awaiter{*this, p, qpn, owner, t, {}};
  }

  tlm::tlm_sync_enum on_answer(page_answer& a, tlm::tlm_phase phase, ps& t);
  // Resumes all waiters of `owner` with `cancelled`.
  void cancel(const void* owner);

  [[nodiscard]] std::uint64_t pending() const { return pending_; }
  void list(statistics& s);
  void list_waiting(waiting_list& list, const std::string& at, const std::string& driver) const;

 private:
  static constexpr unsigned page_bits = 12;

  void end(request& r, state outcome);
  void raise(const request& r, std::uint32_t qpn, ps t);

  event_queue& queue_;
  initiator_socket<report>& reports_;
  bool remote_;
  request* first_ = nullptr;
  std::uint64_t pending_ = 0;
  pool<report> pool_;
  counter faults_, raised_, refused_;
  histogram time_;
};

}  // namespace hcasim
