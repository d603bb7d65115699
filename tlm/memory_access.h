// The way from (key, VA, length) to bytes in memory, as requester and responder go it: verdict, translation, DMA.
//
//   transfer& tr = memory.begin(operation);
//   verdict v = co_await memory.move(tr, access, data, n, t);   // any number of times; returns when the DMA is requested
//   co_await memory.landed(tr, t);  or  memory.detach(tr, done) // wait for the bytes, or be told when they have moved
//
// Every granted verdict holds its key reference until the last byte of the whole transfer has moved. `data` must live until
// then. No byte moves when the verdict is not `granted`.
//
// An indirect region is a list of pieces of other regions [E7]. Before the first byte moves, every piece of the range is judged
// under its own key, as a local access of the same QP.
//
// page_fault: a page of an on-demand region is missing (transfer::missing); bytes before it may have been requested. The caller
// ends the transfer, so that no key reference is held while the access waits for the page, and begins again [E9]. Lists may
// name lists, up to max_indirection deep.
#pragma once

#include <vector>

#include "firmware/abi/context.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/dma.h"
#include "tlm/protection.h"
#include "tlm/translate.h"

namespace hcasim {

// The user of a key.
struct access_owner {
  std::uint32_t pd = 0;
  std::uint32_t qpn = 0;
  std::uint32_t generation = 0;
  std::uint16_t function = 0;
  bool privileged = false;
};
inline access_owner owner_of(const hca_qpc& q, std::uint32_t qpn) {
  return {q.pd, qpn, q.generation, q.function, (q.flags & HCA_QP_PRIVILEGED) != 0};
}

struct memory_range {
  std::uint32_t key = 0;
  bool remote = false;
  std::uint32_t rights = 0;  // enum hca_access
  access_owner owner;
  std::uint64_t va = 0;
  std::uint64_t checked = 0;  // bytes from va on that the verdict must cover, at least the moved ones
  std::uint64_t before = 0;   // bytes in front of va that the verdict must cover as well
};

// The place where an access to an on-demand region found no page.
struct missing_page {
  std::uint32_t index = 0;  // index of the region's key
  bool write = false;
  std::uint64_t va = 0;      // VA in the region's table
  std::uint64_t length = 0;  // bytes from va on that the access still needs
  std::uint64_t operation = 0;
};

class memory_access {
 public:
  struct transfer;
  struct lease : key_request {
    lease* next = nullptr;
  };
  struct piece : dma_request {
    memory_access* access = nullptr;
    transfer* owner = nullptr;
  };
  struct transfer {
    std::uint64_t operation = 0;
    std::uint32_t pending = 0;
    bool open = true;      // more may be requested
    bool failed = false;   // a DMA could not reach its address
    missing_page missing;  // the page of a move that ended in page_fault
    lease* leases = nullptr;
    ps last{0};
    std::coroutine_handle<> waiter;
    void (*done)(void*, transfer&, ps) = nullptr;
    void* context = nullptr;
  };

  memory_access(initiator_socket<key_request>& keys, initiator_socket<translate_request>& walker,
                initiator_socket<dma_request>& dma)
      : keys_(keys), walker_(walker), dma_(dma) {}

  transfer& begin(std::uint64_t operation);  // tlm/operation.h; 0 = none
  // Arguments by reference must live until the answer is there.
  task<verdict> move(transfer& tr, dma_op op, const memory_range& range, std::byte* data, std::uint32_t bytes, ps& t);
  // Returns the verdict alone; of an on-demand region also whether the first `bytes` have their pages. Nothing moves.
  task<verdict> look(transfer& tr, const memory_range& range, std::uint32_t bytes, ps& t);
  // Moves bytes of a queue buffer: translated, but without a key. False = no translation, or the DMA failed.
  task<bool> move_mapped(transfer& tr, dma_op op, dma_source source, const translation& map, std::uint64_t va, std::byte* data,
                         std::uint32_t bytes, ps& t);
  // Executes an 8-byte atomic; the original value goes to `original`.
  task<verdict> atomic(transfer& tr, dma_op op, const memory_range& range, std::uint64_t operand, std::uint64_t compare,
                       std::byte* original, ps& t);

  // Waits until every byte has moved; false = a DMA failed. The transfer is gone afterwards.
  [[nodiscard]] auto landed(transfer& tr, ps& t) {
    struct awaiter {
      memory_access& self;
      transfer& tr;
      ps& t;
      bool await_ready() {
        tr.open = false;
        return tr.pending == 0;
      }
      void await_suspend(std::coroutine_handle<> h) { tr.waiter = h; }
      bool await_resume() {
        t = std::max(t, tr.last);
        return self.close(tr);
      }
    };
    return awaiter{*this, tr, t};
  }
  // Calls done(context, transfer, time) when every byte has moved, possibly at once.
  void detach(transfer& tr, void (*done)(void*, transfer&, ps), void* context, ps t);

  [[nodiscard]] std::uint64_t in_flight() const { return transfers_.in_use(); }

 private:
  static constexpr unsigned max_indirection = 4;
  // A stretch of an indirect region, resolved to a region with a table.
  struct leaf {
    translation map;
    std::uint64_t va = 0;
    std::uint64_t bytes = 0;
  };

  void on_piece(piece& p, ps t) { finish_piece(*p.owner, p, t); }
  static void ask(lease& k, const transfer& tr, const memory_range& range, std::uint64_t length);
  task<verdict> resolve(transfer& tr, const memory_range& range, unsigned depth, std::vector<leaf>& leaves, ps& t);
  task<verdict> move_indirect(transfer& tr, dma_op op, const memory_range& range, std::byte* data, std::uint32_t bytes, ps& t);
  static void note_missing(transfer& tr, const translate_request& w);
  static verdict failure(transfer& tr, std::uint64_t va, std::uint64_t wanted);
  void request(transfer& tr, dma_request& d, ps t);
  void finish_piece(transfer& tr, piece& p, ps t);
  bool close(transfer& tr);

  initiator_socket<key_request>& keys_;
  initiator_socket<translate_request>& walker_;
  initiator_socket<dma_request>& dma_;
  pool<transfer> transfers_;
  pool<lease> leases_;
  pool<piece> pieces_;
  pool<translate_request> walks_;
};

}  // namespace hcasim
