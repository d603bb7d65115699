#include "testbenches/schedules/message_port.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace hcasim::schedules {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

namespace {

constexpr int polled = 16;

std::uint64_t id_of(std::uint32_t work, std::uint32_t number) {
  return std::uint64_t{work} << 32 | number;
}

void must(int error, const char* what) {
  if (error != 0) throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(error)));
}

ibv_srq* make_srq(process_context& p, const port_options& o) {
  ibv_srq_init_attr a{};
  a.attr.max_wr = o.receives;
  a.attr.max_sge = 1;
  return made(ibv_create_srq(p.c, p.pd, &a));
}

}  // namespace

message_port::message_port(process_context& p, std::uint32_t rank, const port_options& o, listener& l)
    : p_(p), rank_(rank), options_(o), listener_(l), buffers_(p, o.buffers) {
  // Room for every request of 64 peers, so that no completion waits for a poll.
  cq_ = made(ibv_create_cq(p.c, p.context, static_cast<int>(o.receives + 64 * o.send_depth), nullptr, nullptr, 0));
  srq_ = make_srq(p, o);
  receive_memory_ = p.allocate(o.receives * slot_bytes());
  for (std::uint32_t i = 0; i < o.receives; ++i) post_receive(p.c, i);
  add_bounces(p.c);
}

address message_port::add_peer(std::uint32_t number) {
  peer& to = peers_[number];
  qp_options q;
  q.send_depth = options_.send_depth;
  q.receive_depth = 0;
  q.sge = 1;
  q.mtu = options_.mtu;
  q.srq = srq_;
  to.qp = p_.create_qp(q, nullptr, cq_);
  to.free = options_.send_depth;
  rank_of_qp_[to.qp->qp_num] = number;
  return p_.address_of(to.qp, q);
}

void message_port::connect(std::uint32_t number, const address& a) {
  qp_options q;
  q.mtu = options_.mtu;
  p_.must_connect(peers_.at(number).qp, a, q);
}

// Sending.

void message_port::send(cpu& c, std::uint32_t operation, std::uint32_t to, std::uint32_t tag, std::uint64_t bytes) {
  waiting_.push_back({operation, to, tag, bytes});
  begin_waiting(c);
}

void message_port::begin_waiting(cpu& c) {
  while (!waiting_.empty() && !free_bounces_.empty()) {
    const waiting_send w = waiting_.front();
    waiting_.pop_front();
    begin_send(c, w);
  }
}

void message_port::begin_send(cpu& c, const waiting_send& w) {
  const std::uint64_t mark = stamp_of(rank_, w.to, w.tag, channel_of(w.to, w.tag).sent++);
  counts_.bytes += w.bytes;
  peer& to = peers_.at(w.to);
  header h{message::eager, w.tag, w.bytes, 0, 0, 0, 0};
  if (w.bytes <= options_.eager) {
    ++counts_.eager;
    c.copy(w.bytes);
    send_header(c, to, h, w.bytes, mark);
    return listener_.done(c, w.operation);
  }
  ++counts_.rendezvous;
  h.kind = message::request;
  h.id = new_transfer(w.operation, w.to, w.bytes, mark);
  if (options_.way == rendezvous::read) {
    transfer& t = transfers_[h.id];
    t.buffer = buffers_.take_for_remote(c, w.bytes);
    bind(c, to, t, IBV_ACCESS_REMOTE_READ);
    stamp(t.buffer.address, w.bytes, mark);
    h.address = t.buffer.address;
    h.rkey = t.buffer.rkey;
  }
  send_header(c, to, h, 0, 0);
}

void message_port::bind(cpu& c, peer& to, const transfer& t, unsigned rights) {
  if (!t.buffer.window) return;
  request r;
  r.wr.wr_id = id_of(static_cast<std::uint32_t>(work::bind), 0);
  r.wr.opcode = IBV_WR_BIND_MW;
  r.wr.send_flags = IBV_SEND_SIGNALED;
  r.wr.bind_mw.mw = t.buffer.window;
  r.wr.bind_mw.rkey = t.buffer.rkey;
  r.wr.bind_mw.bind_info = buffers_.bound_to(t.buffer, t.bytes, rights);
  post(c, to, r);
}

void message_port::send_header(cpu& c, peer& to, const header& h, std::uint64_t payload, std::uint64_t mark,
                               std::uint32_t invalidate) {
  const std::uint32_t bounce = take_bounce(c);
  const std::uint64_t at = bounce_address(bounce);
  p_.memory.write(at, std::as_bytes(std::span(&h, 1)));
  stamp(at + sizeof h, payload, mark);
  request r;
  r.sge = {at, static_cast<std::uint32_t>(sizeof h + payload), bounces_[bounce / bounces_of_region].mr->lkey};
  r.wr.wr_id = id_of(static_cast<std::uint32_t>(work::bounce), bounce);
  r.wr.opcode = invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
  r.wr.invalidate_rkey = invalidate;
  r.wr.send_flags = IBV_SEND_SIGNALED;
  r.wr.num_sge = 1;
  post(c, to, r);
}

// Headers of a transfer under way do not wait for buffers, because the buffers may wait for these headers.
std::uint32_t message_port::take_bounce(cpu& c) {
  if (free_bounces_.empty()) add_bounces(c);
  const std::uint32_t i = free_bounces_.back();
  free_bounces_.pop_back();
  return i;
}

void message_port::add_bounces(cpu& c) {
  const auto first = static_cast<std::uint32_t>(bounces_.size()) * bounces_of_region;
  region r;
  r.length = bounces_of_region * slot_bytes();
  r.addr = p_.memory.allocate(r.length);
  r.mr = made(ibv_reg_mr(c, p_.pd, r.addr, r.length, IBV_ACCESS_LOCAL_WRITE));
  bounces_.push_back(r);
  for (std::uint32_t i = bounces_of_region; i != 0; --i) free_bounces_.push_back(first + i - 1);
}

void message_port::post(cpu& c, peer& to, request r) {
  if (to.free == 0 || !to.backlog.empty()) return to.backlog.push_back(r);
  post_now(c, to, r);
}

void message_port::post_now(cpu& c, peer& to, request& r) {
  --to.free;
  r.wr.sg_list = &r.sge;
  ibv_send_wr* bad = nullptr;
  must(ibv_post_send(c, to.qp, &r.wr, &bad), "a request cannot be posted");
}

bool message_port::owes() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& p) { return !p.second.backlog.empty(); });
}

// Receiving.

void message_port::post_receive(cpu& c, std::uint32_t buffer) {
  must(kit::post_receive(c, srq_, id_of(static_cast<std::uint32_t>(work::receive), buffer),
                         {{receive_memory_.addr + buffer * slot_bytes(), static_cast<std::uint32_t>(slot_bytes()),
                           receive_memory_.mr->lkey}}),
       "a receive cannot be posted");
}

void message_port::receive(cpu& c, std::uint32_t operation, std::uint32_t from, std::uint32_t tag, std::uint64_t /*bytes*/) {
  channel& ch = channel_of(from, tag);
  if (ch.arrived.empty()) return ch.posted.push_back(operation);
  const channel::arrival a = ch.arrived.front();
  ch.arrived.pop_front();
  match(c, from, ch, operation, a);
}

bool message_port::progress(cpu& c) {
  std::array<ibv_wc, polled> wc;
  const int n = ibv_poll_cq(c, cq_, polled, wc.data());
  for (int i = 0; i < n; ++i) {
    const ibv_wc& w = wc[static_cast<std::size_t>(i)];
    if (w.status != IBV_WC_SUCCESS) {
      throw std::runtime_error(
          fmt::format("rank {}: a request to rank {} failed: {}", rank_, rank_of_qp_[w.qp_num], ibv_wc_status_str(w.status)));
    }
    w.opcode& IBV_WC_RECV ? on_receive(c, w) : on_work(c, w);
  }
  begin_waiting(c);
  return n > 0;
}

void message_port::on_receive(cpu& c, const ibv_wc& wc) {
  const auto buffer = static_cast<std::uint32_t>(wc.wr_id);
  if (wc.wc_flags & IBV_WC_WITH_IMM) {
    post_receive(c, buffer);
    return on_written(c, wc.imm_data);
  }
  header h{};
  p_.memory.read(receive_memory_.addr + buffer * slot_bytes(), std::as_writable_bytes(std::span(&h, 1)));
  const std::uint32_t from = rank_of_qp_.at(wc.qp_num);
  if (h.kind == message::eager || h.kind == message::request) return on_arrival(c, from, {h, buffer});
  post_receive(c, buffer);
  h.kind == message::ready ? put(c, h) : end(c, h.peer_id);
}

void message_port::on_arrival(cpu& c, std::uint32_t from, const channel::arrival& a) {
  channel& ch = channel_of(from, a.h.tag);
  if (ch.posted.empty()) {
    ++counts_.unexpected;
    ch.arrived.push_back(a);
    return;
  }
  const std::uint32_t operation = ch.posted.front();
  ch.posted.pop_front();
  match(c, from, ch, operation, a);
}

void message_port::match(cpu& c, std::uint32_t from, channel& ch, std::uint32_t operation, const channel::arrival& a) {
  const std::uint64_t mark = stamp_of(from, rank_, a.h.tag, ch.received++);
  if (a.h.kind == message::eager) {
    c.copy(a.h.bytes);
    expect_stamp(receive_memory_.addr + a.buffer * slot_bytes() + sizeof(header), a.h.bytes, mark, from);
    post_receive(c, a.buffer);
    return listener_.done(c, operation);
  }
  post_receive(c, a.buffer);
  const std::uint32_t id = new_transfer(operation, from, a.h.bytes, mark);
  transfer& t = transfers_[id];
  t.peer_id = a.h.id;
  t.remote = a.h.address;
  t.rkey = a.h.rkey;
  options_.way == rendezvous::read ? fetch(c, id) : offer(c, id);
}

// Rendezvous: the receiver reads.

void message_port::fetch(cpu& c, std::uint32_t id) {
  transfer& t = transfers_[id];
  t.buffer = buffers_.take(c, t.bytes);
  request r;
  r.sge = {t.buffer.address, static_cast<std::uint32_t>(t.bytes), t.buffer.lkey};
  r.wr.wr_id = id_of(static_cast<std::uint32_t>(work::fetch), id);
  r.wr.opcode = IBV_WR_RDMA_READ;
  r.wr.send_flags = IBV_SEND_SIGNALED;
  r.wr.num_sge = 1;
  r.wr.wr.rdma = {t.remote, t.rkey};
  post(c, peers_.at(t.peer), r);
}

void message_port::on_fetched(cpu& c, std::uint32_t id) {
  const transfer& t = transfers_[id];
  expect_stamp(t.buffer.address, t.bytes, t.stamp, t.peer);
  const std::uint32_t window = options_.buffers.way == registration::window ? t.rkey : 0;
  send_header(c, peers_.at(t.peer), {message::finished, 0, 0, 0, 0, 0, t.peer_id}, 0, 0, window);
  end(c, id);
}

// Rendezvous: the sender writes.

void message_port::offer(cpu& c, std::uint32_t id) {
  transfer& t = transfers_[id];
  peer& to = peers_.at(t.peer);
  t.buffer = buffers_.take_for_remote(c, t.bytes);
  bind(c, to, t, IBV_ACCESS_REMOTE_WRITE);
  send_header(c, to, {message::ready, 0, t.bytes, t.buffer.address, t.buffer.rkey, id, t.peer_id}, 0, 0);
}

void message_port::put(cpu& c, const header& h) {
  transfer& t = transfers_[h.peer_id];
  t.buffer = buffers_.take(c, t.bytes);
  stamp(t.buffer.address, t.bytes, t.stamp);
  request r;
  r.sge = {t.buffer.address, static_cast<std::uint32_t>(t.bytes), t.buffer.lkey};
  r.wr.wr_id = id_of(static_cast<std::uint32_t>(work::put), h.peer_id);
  r.wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  r.wr.imm_data = h.id;
  r.wr.send_flags = IBV_SEND_SIGNALED;
  r.wr.num_sge = 1;
  r.wr.wr.rdma = {h.address, h.rkey};
  post(c, peers_.at(t.peer), r);
}

void message_port::on_written(cpu& c, std::uint32_t id) {
  transfer& t = transfers_[id];
  expect_stamp(t.buffer.address, t.bytes, t.stamp, t.peer);
  if (!t.buffer.window) return end(c, id);
  request r;
  r.wr.wr_id = id_of(static_cast<std::uint32_t>(work::invalidate), id);
  r.wr.opcode = IBV_WR_LOCAL_INV;
  r.wr.invalidate_rkey = t.buffer.rkey;
  r.wr.send_flags = IBV_SEND_SIGNALED;
  post(c, peers_.at(t.peer), r);
}

void message_port::on_work(cpu& c, const ibv_wc& wc) {
  const auto number = static_cast<std::uint32_t>(wc.wr_id);
  peer& to = peers_.at(rank_of_qp_.at(wc.qp_num));
  ++to.free;
  if (!to.backlog.empty()) {
    request next = to.backlog.front();
    to.backlog.pop_front();
    post_now(c, to, next);
  }
  switch (static_cast<work>(wc.wr_id >> 32)) {
    case work::bounce:
      return free_bounces_.push_back(number);
    case work::fetch:
      return on_fetched(c, number);
    case work::put:
    case work::invalidate:
      return end(c, number);
    case work::bind:
    case work::receive:
      break;
  }
}

void message_port::end(cpu& c, std::uint32_t id) {
  transfer& t = transfers_[id];
  const std::uint32_t operation = t.operation;
  buffers_.give_back(c, t.buffer);
  t = {};
  free_transfers_.push_back(id);
  listener_.done(c, operation);
}

std::uint32_t message_port::new_transfer(std::uint32_t operation, std::uint32_t to, std::uint64_t bytes, std::uint64_t mark) {
  if (free_transfers_.empty()) {
    free_transfers_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t id = free_transfers_.back();
  free_transfers_.pop_back();
  transfers_[id] = {.operation = operation, .peer = to, .bytes = bytes, .stamp = mark};
  return id;
}

// Bytes: the first and the last eight of a message tell which it is. A short message has its stamp from both ends, as far as it
// reaches.

std::uint64_t message_port::stamp_of(std::uint32_t from, std::uint32_t to, std::uint32_t tag, std::uint64_t number) {
  std::uint64_t z = (std::uint64_t{from} << 48 ^ std::uint64_t{to} << 32 ^ tag) + number * 0x9e3779b97f4a7c15U;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  return z ^ z >> 31;
}

std::array<message_port::stamped, 2> message_port::stamped_parts(std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t most = sizeof(std::uint64_t);
  const std::uint64_t first = std::min(bytes, most);
  const std::uint64_t last = std::min(bytes - first, most);
  return {stamped{address, first}, stamped{address + bytes - last, last}};
}

void message_port::stamp(std::uint64_t address, std::uint64_t bytes, std::uint64_t value) {
  for (const stamped& part : stamped_parts(address, bytes)) {
    p_.memory.write(part.address, std::as_bytes(std::span(&value, 1)).first(part.bytes));
  }
}

void message_port::expect_stamp(std::uint64_t address, std::uint64_t bytes, std::uint64_t value, std::uint32_t from) {
  for (const stamped& part : stamped_parts(address, bytes)) {
    std::uint64_t found = 0;
    p_.memory.read(part.address, std::as_writable_bytes(std::span(&found, 1)).first(part.bytes));
    if (std::memcmp(&found, &value, part.bytes) != 0)
      throw std::runtime_error(fmt::format("rank {}: a message of {} bytes from rank {} has other bytes", rank_, bytes, from));
  }
}

}  // namespace hcasim::schedules
