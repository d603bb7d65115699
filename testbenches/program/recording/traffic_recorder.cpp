#include "testbenches/program/recording/traffic_recorder.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "models/driver/device/device.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/recording/node_of.h"

namespace hcasim {
namespace {

using namespace driver;  // NOLINT(google-build-using-namespace): objects of verbs
using namespace verbs;   // NOLINT(google-build-using-namespace): verbs

const char* opcode_name(ibv_wr_opcode o) {
  switch (o) {
    case IBV_WR_RDMA_WRITE:
      return "write";
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return "write_imm";
    case IBV_WR_SEND:
      return "send";
    case IBV_WR_SEND_WITH_IMM:
      return "send_imm";
    case IBV_WR_RDMA_READ:
      return "read";
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return "cmp_swap";
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return "fetch_add";
    case IBV_WR_LOCAL_INV:
      return "invalidate";
    case IBV_WR_BIND_MW:
      return "bind";
    case IBV_WR_SEND_WITH_INV:
      return "send_invalidate";
    default:
      return "register";
  }
}

const char* type_name(ibv_qp_type t) {
  switch (t) {
    case IBV_QPT_RC:
      return "rc";
    case IBV_QPT_UC:
      return "uc";
    case IBV_QPT_UD:
      return "ud";
    case IBV_QPT_XRC_SEND:
      return "xrc_send";
    default:
      return "xrc_receive";
  }
}

// Adds "sl 3" and "grh" of a way that has them.
void add_way(unsigned service_level, bool has_grh, std::string& out) {
  if (service_level != 0) fmt::format_to(std::back_inserter(out), " sl {}", service_level);
  if (has_grh) out += " grh";
}

std::uint64_t bytes_of(const ibv_send_wr& wr) {
  std::uint64_t sum = 0;
  for (int i = 0; i < wr.num_sge; ++i) sum += wr.sg_list[i].length;
  return sum;
}

}  // namespace

traffic_recorder::traffic_recorder(std::filesystem::path file, std::size_t nodes)
    : path_(std::move(file)), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) cannot_write(path_, errno);
  fmt::print(file_, "hcasim traffic 2\nnodes {}\n", nodes);
}

traffic_recorder::~traffic_recorder() {
  if (file_) std::fclose(file_);
}

void traffic_recorder::line(std::string text) {
  text += '\n';
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() && error_ == 0) error_ = errno;
}

traffic_recorder::thread& traffic_recorder::thread_of(const cpu& c) {
  const auto [at, fresh] = threads_.try_emplace({&c, &c.machine()}, thread{});
  if (fresh) {
    at->second.number = threads_.size() - 1;
    at->second.node = node_number(c.machine());
    at->second.ended = never;
    objects_.push_back(fmt::format("thread {} node {}", at->second.number, at->second.node));
  }
  return at->second;
}

// Adds the thread's time since its last verb, unless it waited for completions then. A wait without a completion at its end was
// for something else, and is own time of the thread.
void traffic_recorder::spend_own_time(thread& t, ps begin, bool waits) {
  if (t.ended == never) return;
  (t.idle && waits ? t.in_vain : t.gap) += begin - t.ended;
  if (!waits) t.gap += std::exchange(t.in_vain, 0_ps);
}

void traffic_recorder::begin_event(const char* word, thread& t, ps begin) {
  text_ = fmt::format("{} {} {} {}", word, t.number, begin.count(), t.gap.count());
  t.gap = 0_ps;
  t.idle = false;
  ++events_;
}

void traffic_recorder::made(ibv_qp& handle) {
  const auto& qp = static_cast<queue_pair&>(handle);
  connection& k = connections_.emplace_back();
  k.number = connections_.size() - 1;
  living_[&handle] = &k;
  const device& d = *qp.context->device;
  for (std::uint8_t port = 1; d.has_port(port); ++port) {
    const port_address at{d.lid_of(port), qp.qp_num};
    by_address_[at] = &handle;
    numbers_[at] = k.number;
  }
  const std::string shared = qp.srq ? fmt::format("{}", shared_of(qp.srq)) : "-";
  const auto queue = [&](ibv_cq* cq) { return cq ? fmt::format("{}", queue_of(cq)) : std::string("-"); };
  k.made = fmt::format("node {} type {} sends {} {} receives {} {} inline {} queues {} {} shared {}", node_of(qp.context),
                       type_name(qp.qp_type), qp.cap.max_send_wr, qp.cap.max_send_sge, qp.cap.max_recv_wr, qp.cap.max_recv_sge,
                       qp.cap.max_inline_data, queue(qp.send_cq), queue(qp.recv_cq), shared);
}

void traffic_recorder::made(ibv_srq& srq) {
  if (static_cast<shared_queue&>(srq).xrcd) (void)shared_of(&srq);
}

void traffic_recorder::modified(ibv_qp& qp, const ibv_qp_attr& to, int mask) {
  const auto at = living_.find(&qp);
  if (at == living_.end()) return;
  connection& k = *at->second;
  if (mask & IBV_QP_DEST_QPN) k.peer.second = to.dest_qp_num;
  if (mask & IBV_QP_AV) k.peer.first = to.ah_attr.dlid;
  if (mask & IBV_QP_AV) k.attributes.ah_attr = to.ah_attr;
  if (mask & IBV_QP_PORT) k.attributes.port_num = to.port_num;
  if (mask & IBV_QP_PATH_MTU) k.attributes.path_mtu = to.path_mtu;
  if (mask & IBV_QP_MAX_QP_RD_ATOMIC) k.attributes.max_rd_atomic = to.max_rd_atomic;
  if (mask & IBV_QP_TIMEOUT) k.attributes.timeout = to.timeout;
  if (mask & IBV_QP_RETRY_CNT) k.attributes.retry_cnt = to.retry_cnt;
  if (mask & IBV_QP_RNR_RETRY) k.attributes.rnr_retry = to.rnr_retry;
  if (mask & IBV_QP_MIN_RNR_TIMER) k.attributes.min_rnr_timer = to.min_rnr_timer;
}

void traffic_recorder::ending(ibv_qp& qp) {
  living_.erase(&qp);
  std::erase_if(by_address_, [&](const auto& e) { return e.second == &qp; });
}

std::size_t traffic_recorder::group_of(const ibv_gid& group, std::uint16_t lid) {
  std::array<std::uint8_t, 16> name{};
  std::copy(std::begin(group.raw), std::end(group.raw), name.begin());
  const auto [at, fresh] = groups_.try_emplace(name, groups_.size());
  if (fresh) objects_.push_back(fmt::format("group {} lid {} gid {:02x}", at->second, lid, fmt::join(name, "")));
  return at->second;
}

void traffic_recorder::joined(ibv_qp& qp, const ibv_gid& group, std::uint16_t lid) {
  const auto at = living_.find(&qp);
  if (at != living_.end()) members_.emplace(group_of(group, lid), at->second->number);
}

traffic_recorder::connection& traffic_recorder::connection_of(ibv_qp& qp) {
  const auto at = living_.find(&qp);
  if (at == living_.end()) {
    made(qp);
    return connection_of(qp);
  }
  at->second->used = true;
  return *at->second;
}

ibv_qp* traffic_recorder::peer_of(const ibv_qp& qp) {
  const auto own = living_.find(&qp);
  if (own == living_.end()) return nullptr;
  const auto at = by_address_.find(own->second->peer);
  return at == by_address_.end() ? nullptr : at->second;
}

std::size_t traffic_recorder::queue_of(ibv_cq* cq) {
  const std::size_t node = node_of(cq->context);
  const auto [at, fresh] = queues_.try_emplace(
      {cq, node, static_cast<completion_queue*>(cq)->number, static_cast<std::uint32_t>(cq->cqe)}, queues_.size());
  if (fresh) objects_.push_back(fmt::format("queue {} node {} entries {}", at->second, node, cq->cqe));
  return at->second;
}

std::size_t traffic_recorder::shared_of(ibv_srq* srq) {
  const std::size_t node = node_of(srq->context);
  const auto& queue = static_cast<shared_queue&>(*srq);
  const auto [at, fresh] = shared_.try_emplace({srq, node, queue.number, queue.attr.max_wr}, shared_.size());
  if (fresh) {
    const std::string of = queue.cq ? fmt::format("{}", queue_of(queue.cq)) : "-";
    objects_.push_back(
        fmt::format("shared {} node {} receives {} {} queue {}", at->second, node, queue.attr.max_wr, queue.attr.max_sge, of));
    shared_numbers_[{node, queue.number}] = at->second;
  }
  return at->second;
}

void traffic_recorder::places(const ibv_context* context, const ibv_sge* list, int count, bool has_keys) {
  if (count == 0) text_ += " -";
  for (int i = 0; i < count; ++i) {
    fmt::format_to(std::back_inserter(text_), "{}{}@", i == 0 ? " " : ",", list[i].length);
    if (!has_keys || list[i].length == 0) {
      text_ += "-";
    } else {
      memory_.add_place(context, list[i].lkey, list[i].addr, list[i].length, text_);
    }
  }
}

// Adds the place that a request names at its peer.
void traffic_recorder::target(const ibv_qp& qp, const ibv_send_wr& wr) {
  if (qp.qp_type == IBV_QPT_UD) {
    const auto& way = static_cast<const address_handle&>(*wr.wr.ud.ah).attr;
    const auto at = numbers_.find({way.dlid, wr.wr.ud.remote_qpn});
    if (wr.wr.ud.remote_qpn == HCA_QPN_ANY && way.is_global) {
      fmt::format_to(std::back_inserter(text_), " to group {}", group_of(way.grh.dgid, way.dlid));
      add_way(way.sl, false, text_);  // a group's datagrams all have one
    } else if (at == numbers_.end()) {
      text_ += " to qp ?";
      ++beyond_;
    } else {
      fmt::format_to(std::back_inserter(text_), " to qp {}", at->second);
      add_way(way.sl, way.is_global != 0, text_);
      connections_[at->second].used = true;
    }
    return;
  }
  const bool atomic = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const bool remote =
      atomic || wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wr.opcode == IBV_WR_RDMA_READ;
  if (!remote) return;
  text_ += " to ";
  if (bytes_of(wr) == 0) {  // its address and key are not looked at
    text_ += "-";
    return;
  }
  const ibv_qp* const peer = peer_of(qp);
  const std::uint64_t address = atomic ? wr.wr.atomic.remote_addr : wr.wr.rdma.remote_addr;
  if (peer) {
    memory_.add_place(peer->context, atomic ? wr.wr.atomic.rkey : wr.wr.rdma.rkey, address, bytes_of(wr), text_);
  } else {
    text_ += "?";
    ++beyond_;
  }
}

void traffic_recorder::request(const ibv_qp& qp, const ibv_send_wr& wr, bool more) {
  const bool signal_all = static_cast<const queue_pair&>(qp).signal_all;
  std::string flags;
  if (signal_all || (wr.send_flags & IBV_SEND_SIGNALED)) flags += 'S';
  if (wr.send_flags & IBV_SEND_FENCE) flags += 'F';
  if (wr.send_flags & IBV_SEND_INLINE) flags += 'I';
  if (wr.send_flags & IBV_SEND_SOLICITED) flags += 'E';
  if (more) flags += 'M';
  fmt::format_to(std::back_inserter(text_), " {} {}", opcode_name(wr.opcode), flags.empty() ? "-" : flags);
  bool known = true;
  if (wr.opcode == IBV_WR_BIND_MW || wr.opcode == IBV_WR_REG_MR) {
    memory_.add_made_key(wr, text_);
  } else if (wr.opcode == IBV_WR_LOCAL_INV) {
    text_ += " -";
    known = memory_.add_ended_key(qp.context, wr.invalidate_rkey, text_);
  } else {
    places(qp.context, wr.sg_list, wr.num_sge, (wr.send_flags & IBV_SEND_INLINE) == 0);
    if (wr.opcode != IBV_WR_SEND_WITH_INV) return target(qp, wr);
    const ibv_qp* const peer = peer_of(qp);
    known = memory_.add_ended_key(peer ? peer->context : nullptr, wr.invalidate_rkey, text_);
  }
  if (!known) ++beyond_;
}

// Adds the SRQ of an XRC request: its PD judges the keys, also of requests that take no receive.
void traffic_recorder::xrc_target(const ibv_qp& qp, const ibv_send_wr& wr) {
  if (wr.opcode == IBV_WR_BIND_MW || wr.opcode == IBV_WR_REG_MR || wr.opcode == IBV_WR_LOCAL_INV) return;
  const ibv_qp* const peer = peer_of(qp);
  const auto at = peer ? shared_numbers_.find({node_of(peer->context), wr.qp_type.xrc.remote_srqn}) : shared_numbers_.end();
  if (at == shared_numbers_.end()) {
    ++beyond_;
    text_ += " srq ?";
    return;
  }
  fmt::format_to(std::back_inserter(text_), " srq {}", at->second);
}

// A replay maps the memory itself, so this is no own time of the thread.
void traffic_recorder::mapped(const cpu& c, ps begin) {
  thread& t = thread_of(c);
  spend_own_time(t, begin, false);
  t.idle = false;
  t.ended = c.time();
}

void traffic_recorder::sent(const cpu& c, ps begin, ibv_qp& qp, const ibv_send_wr* first, const ibv_send_wr* end) {
  thread& t = thread_of(c);
  spend_own_time(t, begin, false);
  connection& k = connection_of(qp);
  if (const auto at = numbers_.find(k.peer); at != numbers_.end() && qp.qp_type != IBV_QPT_UD)
    connections_[at->second].used = true;
  for (const ibv_send_wr* wr = first; wr != end; wr = wr->next) {
    begin_event("post", t, begin);
    text_ += fmt::format(" qp {}", k.number);
    request(qp, *wr, wr->next != end);
    if (qp.qp_type == IBV_QPT_XRC_SEND) xrc_target(qp, *wr);
    line(text_);
  }
  t.ended = c.time();
  last_ = std::max(last_, t.ended);
}

void traffic_recorder::receives(const cpu& c, ps begin, const std::string& queue, const ibv_context* context,
                                const ibv_recv_wr* first, const ibv_recv_wr* end) {
  thread& t = thread_of(c);
  spend_own_time(t, begin, false);
  for (const ibv_recv_wr* wr = first; wr != end; wr = wr->next) {
    begin_event("receive", t, begin);
    text_ += fmt::format(" {} {}", queue, wr->next != end ? "M" : "-");
    places(context, wr->sg_list, wr->num_sge, true);
    line(text_);
  }
  t.ended = c.time();
  last_ = std::max(last_, t.ended);
}

void traffic_recorder::received(const cpu& c, ps begin, ibv_qp& qp, const ibv_recv_wr* first, const ibv_recv_wr* end) {
  receives(c, begin, fmt::format("qp {}", connection_of(qp).number), qp.context, first, end);
}

void traffic_recorder::received(const cpu& c, ps begin, ibv_srq& srq, const ibv_recv_wr* first, const ibv_recv_wr* end) {
  receives(c, begin, fmt::format("shared {}", shared_of(&srq)), srq.context, first, end);
}

void traffic_recorder::polled(const cpu& c, ps begin, ibv_cq& cq, std::span<const ibv_wc> found) {
  thread& t = thread_of(c);
  spend_own_time(t, begin, true);
  t.idle = true;
  std::map<std::string, unsigned> completions;
  for (const ibv_wc& wc : found) {
    if (wc.status == IBV_WC_WR_FLUSH_ERR) continue;
    if (wc.status != IBV_WC_SUCCESS) ++beyond_;
    const auto at = numbers_.find({static_cast<std::uint16_t>(cq.context->device->info().port_lid), wc.qp_num});
    const char* const end = wc.status != IBV_WC_SUCCESS ? "f" : wc.opcode & IBV_WC_RECV ? "r" : "s";
    if (at == numbers_.end()) continue;
    connections_[at->second].used = true;
    ++completions[fmt::format("{}{}", end, at->second)];
  }
  if (!completions.empty()) {
    t.in_vain = 0_ps;
    begin_event("done", t, begin);
    text_ += fmt::format(" queue {} {}", queue_of(&cq), t.by_event ? "events" : "polls");
    for (const auto& [what, count] : completions) text_ += fmt::format(" {}*{}", what, count);
    line(text_);
    t.by_event = false;
  }
  t.ended = c.time();
  if (!completions.empty()) last_ = std::max(last_, t.ended);
}

void traffic_recorder::waits(const cpu& c, ps begin, ibv_cq&, bool by_event) {
  thread& t = thread_of(c);
  spend_own_time(t, begin, true);
  t.idle = true;
  t.by_event |= by_event;
  t.ended = begin;
}

void traffic_recorder::finish() {
  for (const std::string& o : objects_) line(o);
  for (const connection& k : connections_) {
    if (!k.used) continue;
    const ibv_qp_attr& a = k.attributes;
    const auto peer = numbers_.find(k.peer);
    std::string way = a.port_num > 1 ? fmt::format(" port {}", a.port_num) : "";
    add_way(a.ah_attr.sl, a.ah_attr.is_global != 0, way);
    line(fmt::format("qp {} {} peer {} mtu {} reads {} timeout {} retry {} {} {}{}", k.number, k.made,
                     peer == numbers_.end() ? "-" : fmt::format("{}", peer->second),
                     a.path_mtu == 0 ? 0 : 128U << static_cast<unsigned>(a.path_mtu), a.max_rd_atomic, a.timeout, a.retry_cnt,
                     a.rnr_retry, a.min_rnr_timer, way));
  }
  for (const auto& [group, qp] : members_) {
    if (connections_[qp].used) line(fmt::format("member {} qp {}", group, qp));
  }
  line(fmt::format("end {} {}", events_, last_.count()));
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) cannot_write(path_, error_);
}

}  // namespace hcasim
