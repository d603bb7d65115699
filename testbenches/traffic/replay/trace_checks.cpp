#include "testbenches/traffic/replay/trace_reader.h"

namespace hcasim::replay {

using namespace verbs;  // NOLINT(google-build-using-namespace): verbs

namespace {

ibv_qp_type type_of_peer(ibv_qp_type t) {
  return t == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV : t == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND : t;
}

}  // namespace

void trace_reader::check_objects() {
  for (const trace_group& g : out_.groups) {
    for (const std::uint32_t qp : g.qps) {
      if (!has(has_qp_, qp) || out_.qps[qp].type != IBV_QPT_UD)
        fail(fmt::format("a group has qp {}, which takes no datagrams", qp));
    }
  }
  for (std::size_t i = 0; i < out_.qps.size(); ++i) {
    if (!has(has_qp_, i)) continue;
    const trace_qp& q = out_.qps[i];
    const auto need = [&](bool there, std::string_view what, std::uint32_t n) {
      if (!there) fail(fmt::format("qp {} has {} {}, and the record has no such object on its node", i, what, n));
    };
    const auto queue_here = [&](std::uint32_t n) { return has(has_queue_, n) && out_.queues[n].node == q.node; };
    const bool sends = q.type != IBV_QPT_XRC_RECV;
    const bool receives = sends && q.type != IBV_QPT_XRC_SEND;
    need(!sends || queue_here(q.send_queue), "queue", q.send_queue);
    need(!receives || queue_here(q.receive_queue), "queue", q.receive_queue);
    need(q.shared == nothing || (has(has_shared_, q.shared) && out_.shared[q.shared].node == q.node), "shared", q.shared);
    if (q.type != IBV_QPT_UD)
      need(q.peer != nothing && has(has_qp_, q.peer) && out_.qps[q.peer].type == type_of_peer(q.type), "peer", q.peer);
  }
}

void trace_reader::check_place(const trace_step& s, const trace_place& p, std::uint64_t length, std::uint32_t node) const {
  if (p.keyed) {
    must_have(has(has_key_, p.of) && out_.keys[p.of].node == node, s, fmt::format("node {} key", node), p.of);
    return;
  }
  must_have(has(has_region_, p.of) && out_.regions[p.of].node == node, s, fmt::format("node {} region", node), p.of);
  const std::uint64_t bytes = out_.regions[p.of].bytes;
  if (p.offset > bytes || length > bytes - p.offset)
    fail_at(s.line, fmt::format("{}+{} with {} bytes lies outside of the region", p.of, p.offset, length));
}

void trace_reader::check_pieces(const trace_step& s, std::uint32_t node) const {
  for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
    const trace_piece& p = out_.pieces[i];
    if (p.at.of != nothing) check_place(s, p.at, p.length, node);
  }
}

bool trace_reader::is_empty(const trace_step& s) const {
  for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
    if (out_.pieces[i].length != 0) return false;
  }
  return true;
}

void trace_reader::check_key(const trace_step& s, std::uint32_t node) const {
  must_have(s.remote.keyed && has(has_key_, s.remote.of) && out_.keys[s.remote.of].node == node, s,
            fmt::format("node {} key", node), s.remote.of);
  const bool fast = out_.keys[s.remote.of].kind == key_kind::fast;
  if ((s.opcode == IBV_WR_BIND_MW && fast) || (s.opcode == IBV_WR_REG_MR && !fast))
    fail_at(s.line, fmt::format("key {} is of another kind", s.remote.of));
  if (!makes_key(s.opcode)) return;
  if (s.count > 1 || (fast && s.count == 0)) fail_at(s.line, "a key covers one piece of memory");
  if (s.count == 0) return;
  const trace_place& at = out_.pieces[s.first].at;
  if (at.of == nothing || (at.keyed && (fast || out_.keys[at.of].kind != key_kind::fast)))
    fail_at(s.line, "a key covers a piece of a region");
}

void trace_reader::check_post(const trace_thread& t, const trace_step& s) const {
  const trace_qp& q = out_.qps[s.object];
  check_pieces(s, t.node);
  const bool local = makes_key(s.opcode) || s.opcode == IBV_WR_LOCAL_INV;
  if (q.type == IBV_QPT_XRC_SEND && !local && s.shared == nothing)
    fail_at(s.line, "the record does not know the SRQ of this request");
  if (s.shared != nothing) {
    must_have(q.type == IBV_QPT_XRC_SEND && has(has_shared_, s.shared) && out_.shared[s.shared].queue != nothing, s,
              "SRQ of XRC", s.shared);
  }
  if (s.remote.group && q.type != IBV_QPT_UD) fail_at(s.line, "a group takes datagrams only");
  if (s.remote.keyed && q.type == IBV_QPT_UD) fail_at(s.line, "a datagram goes to a QP or a group");
  if (q.type == IBV_QPT_UD && s.remote.group) {
    must_have(has(has_group_, s.remote.of), s, "group", s.remote.of);
  } else if (q.type == IBV_QPT_UD) {
    must_have(has(has_qp_, s.remote.of) && out_.qps[s.remote.of].type == IBV_QPT_UD, s, "qp of datagrams", s.remote.of);
  } else if (local) {
    check_key(s, t.node);
  } else if (s.opcode == IBV_WR_SEND_WITH_INV) {
    check_key(s, out_.qps[q.peer].node);
  } else if (names_memory(s.opcode) && (s.remote.of != nothing || !is_empty(s))) {
    check_place(s, s.remote, 0, out_.qps[q.peer].node);
  }
}

void trace_reader::check_step(const trace_thread& t, const trace_step& s) const {
  const auto thread = static_cast<std::size_t>(&t - out_.threads.data());
  must_have(has(has_thread_, thread), s, "thread", thread);
  if (s.kind == step_kind::done) {
    must_have(has(has_queue_, s.object) && out_.queues[s.object].node == t.node, s, "queue", s.object);
    for (std::uint32_t i = s.first; i < s.first + s.count; ++i)
      must_have(has(has_qp_, out_.completions[i].qp), s, "qp", out_.completions[i].qp);
  } else if (s.kind == step_kind::receive && s.to_shared) {
    must_have(has(has_shared_, s.object) && out_.shared[s.object].node == t.node, s, "shared", s.object);
    check_pieces(s, t.node);
  } else {
    must_have(has(has_qp_, s.object) && out_.qps[s.object].node == t.node, s, "qp", s.object);
    s.kind == step_kind::post ? check_post(t, s) : check_pieces(s, t.node);
  }
}

}  // namespace hcasim::replay
