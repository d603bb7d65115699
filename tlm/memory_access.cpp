#include "tlm/memory_access.h"

#include <cstring>

#include "tlm/base/delegate.h"

namespace hcasim {

memory_access::transfer& memory_access::begin(std::uint64_t operation) {
  transfer& tr = transfers_.get();
  tr.operation = operation;
  tr.open = true;
  tr.failed = false;
  tr.missing.length = 0;
  tr.last = ps(0);
  tr.done = nullptr;
  return tr;
}

task<verdict> memory_access::move(transfer& tr, dma_op op, const memory_range& range, std::byte* data, std::uint32_t bytes,
                                  ps& t) {
  lease& k = leases_.get();
  ask(k, tr, range, range.checked);
  co_await keys_.request(k, t);
  if (k.result != verdict::granted) {
    const verdict v = k.result;
    leases_.put(k);
    co_return v;
  }
  k.next = tr.leases;
  tr.leases = &k;
  if (k.map.null) {
    if (op == dma_op::read && bytes != 0) std::memset(data, 0, bytes);
    co_return verdict::granted;
  }
  if (k.map.indirect) co_return co_await move_indirect(tr, op, range, data, bytes, t);
  const std::uint64_t va = range.va + k.va_offset;
  const bool reached = co_await move_mapped(tr, op, dma_source::payload, k.map, va, data, bytes, t);
  if (reached) co_return verdict::granted;
  co_return failure(tr, va, range.checked);
}

// Tells why a move did not get to its end. `va`, `wanted`: range of the access.
verdict memory_access::failure(transfer& tr, std::uint64_t va, std::uint64_t wanted) {
  if (tr.missing.length == 0) return verdict::table_error;
  tr.missing.length = wanted - (tr.missing.va - va);
  return verdict::page_fault;
}

task<verdict> memory_access::look(transfer& tr, const memory_range& range, std::uint32_t bytes, ps& t) {
  const verdict v = co_await move(tr, dma_op::read, range, nullptr, 0, t);
  if (v != verdict::granted || !tr.leases->map.on_demand) co_return v;
  const std::uint64_t va = range.va + tr.leases->va_offset;
  translate_request w;
  w.operation = tr.operation;
  w.map = tr.leases->map;
  for (std::uint64_t done = 0; done < bytes; done += w.bytes) {
    w.va = va + done;
    w.length = bytes - done;
    co_await walker_.request(w, t);
    if (w.status == translate_status::ok) continue;
    note_missing(tr, w);
    co_return failure(tr, va, range.checked);
  }
  co_return verdict::granted;
}

void memory_access::note_missing(transfer& tr, const translate_request& w) {
  if (w.status != translate_status::not_present || !w.map.on_demand) return;
  tr.missing = {w.map.index, w.write, w.va, w.length, tr.operation};
}

void memory_access::ask(lease& k, const transfer& tr, const memory_range& range, std::uint64_t length) {
  k.operation = tr.operation;
  k.op = key_op::check;
  k.remote = range.remote;
  k.privileged = range.owner.privileged;
  k.function = range.owner.function;
  k.key = range.key;
  k.rights = range.rights;
  k.pd = range.owner.pd;
  k.qpn = range.owner.qpn;
  k.generation = range.owner.generation;
  k.va = range.va - range.before;
  k.length = length + range.before;
}

// Finds the pieces of [va, va + checked) of an indirect region whose key has been granted.
task<verdict> memory_access::resolve(transfer& tr, const memory_range& range, unsigned depth, std::vector<leaf>& leaves,
                                     ps& t) {
  if (depth > max_indirection) co_return verdict::table_error;
  const std::uint64_t whole = range.before + range.checked;
  std::uint64_t done = 0;
  while (done < whole) {
    key_request e;
    e.operation = tr.operation;
    e.op = key_op::element;
    e.key = range.key;
    e.va = range.va - range.before + done;
    co_await keys_.request(e, t);
    if (e.result != verdict::granted) co_return e.result;
    const std::uint32_t writes = range.rights & (HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC);
    const memory_range part{.key = e.piece.key,
                            .rights = writes != 0 ? std::uint32_t{HCA_ACCESS_LOCAL_WRITE} : 0U,
                            .owner = range.owner,
                            .va = e.piece.va,
                            .checked = std::min<std::uint64_t>(e.piece.length, whole - done)};
    lease& k = leases_.get();
    ask(k, tr, part, part.checked);
    co_await keys_.request(k, t);
    if (k.result != verdict::granted) {
      const verdict v = k.result;
      leases_.put(k);
      co_return v;
    }
    k.next = tr.leases;
    tr.leases = &k;
    if (k.map.indirect) {
      const verdict v = co_await resolve(tr, part, depth + 1, leaves, t);
      if (v != verdict::granted) co_return v;
    } else {
      leaves.push_back({k.map, part.va + k.va_offset, part.checked});
    }
    done += part.checked;
  }
  co_return verdict::granted;
}

task<verdict> memory_access::move_indirect(transfer& tr, dma_op op, const memory_range& range, std::byte* data,
                                           std::uint32_t bytes, ps& t) {
  std::vector<leaf> leaves;
  const verdict v = co_await resolve(tr, range, 1, leaves, t);
  if (v != verdict::granted) co_return v;
  std::uint64_t skipped = range.before;
  for (leaf& l : leaves) {
    const std::uint64_t skip = std::min(skipped, l.bytes);
    skipped -= skip;
    l.va += skip;
    l.bytes -= skip;
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(l.bytes, bytes));
    if (n == 0 && bytes != 0 && skip != 0) continue;
    if (n == 0) break;
    if (l.map.null) {
      if (op == dma_op::read) std::memset(data, 0, n);
    } else {
      const bool reached = co_await move_mapped(tr, op, dma_source::payload, l.map, l.va, data, n, t);
      if (!reached) co_return failure(tr, l.va, n);
    }
    data += n;
    bytes -= n;
  }
  co_return verdict::granted;
}

task<bool> memory_access::move_mapped(transfer& tr, dma_op op, dma_source source, const translation& map, std::uint64_t va,
                                      std::byte* data, std::uint32_t bytes, ps& t) {
  const pooled<translate_request> walk(walks_);
  translate_request& w = *walk;
  w.operation = tr.operation;
  w.map = map;
  w.write = op != dma_op::read;
  while (bytes != 0) {
    w.va = va;
    w.length = bytes;
    co_await walker_.request(w, t);
    if (w.status != translate_status::ok) [[unlikely]] {
      note_missing(tr, w);
      co_return false;
    }
    piece& p = pieces_.get();
    p.op = op;
    p.source = source;
    p.failed = false;
    p.address = w.physical;
    p.bytes = static_cast<std::uint32_t>(w.bytes);
    p.data = data;
    p.owner = &tr;
    request(tr, p, t);
    va += w.bytes;
    data += w.bytes;
    bytes -= static_cast<std::uint32_t>(w.bytes);
  }
  co_return true;
}

task<verdict> memory_access::atomic(transfer& tr, dma_op op, const memory_range& range, std::uint64_t operand,
                                    std::uint64_t compare, std::byte* original, ps& t) {
  lease& k = leases_.get();
  ask(k, tr, range, 8);
  co_await keys_.request(k, t);
  if (k.result != verdict::granted) {
    const verdict v = k.result;
    leases_.put(k);
    co_return v;
  }
  k.next = tr.leases;
  tr.leases = &k;
  translate_request w;
  w.operation = tr.operation;
  w.map = k.map;
  w.va = range.va + k.va_offset;
  w.length = 8;
  w.write = true;
  if (k.map.indirect) {
    std::vector<leaf> leaves;
    const verdict v = co_await resolve(tr, range, 1, leaves, t);
    if (v != verdict::granted) co_return v;
    if (leaves.size() != 1) co_return verdict::table_error;  // an atomic is in one piece or not at all
    w.map = leaves[0].map;
    w.va = leaves[0].va;
  }
  if (w.map.null) {
    std::memset(original, 0, 8);
    co_return verdict::granted;
  }
  co_await walker_.request(w, t);
  if (w.status != translate_status::ok) {
    note_missing(tr, w);
    co_return failure(tr, w.va, 8);
  }
  if (w.bytes < 8) co_return verdict::table_error;
  piece& p = pieces_.get();
  p.op = op;
  p.source = dma_source::payload;
  p.failed = false;
  p.address = w.physical;
  p.bytes = 8;
  p.data = original;
  p.operand = operand;
  p.compare = compare;
  p.owner = &tr;
  request(tr, p, t);
  co_return verdict::granted;
}

void memory_access::request(transfer& tr, dma_request& d, ps t) {
  auto& p = static_cast<piece&>(d);
  p.access = this;
  p.operation = tr.operation;
  call_on_response<&piece::access, &memory_access::on_piece>(p, p);
  ++tr.pending;
  if (dma_.send(p, t) == tlm::TLM_COMPLETED) finish_piece(tr, p, t);
}

void memory_access::finish_piece(transfer& tr, piece& p, ps t) {
  tr.failed |= p.failed;
  tr.last = std::max(tr.last, t);
  pieces_.put(p);
  if (--tr.pending != 0 || tr.open) return;
  if (tr.waiter) {
    std::exchange(tr.waiter, {}).resume();
  } else if (tr.done) {
    auto* const done = tr.done;
    void* const context = tr.context;
    const ps last = tr.last;
    done(context, tr, last);
    close(tr);
  }
}

void memory_access::detach(transfer& tr, void (*done)(void*, transfer&, ps), void* context, ps t) {
  tr.open = false;
  if (tr.pending == 0) {
    done(context, tr, t);
    close(tr);
    return;
  }
  tr.done = done;
  tr.context = context;
}

bool memory_access::close(transfer& tr) {
  const bool ok = !tr.failed;
  for (lease* k = tr.leases; k;) {
    lease* const next = k->next;
    keys_.release(*k);
    leases_.put(*k);
    k = next;
  }
  tr.leases = nullptr;
  transfers_.put(tr);
  return ok;
}

}  // namespace hcasim
