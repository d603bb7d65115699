#include "models/driver/verbs/wqe.h"

#include <algorithm>
#include <cstring>

#include "models/driver/objects/address.h"
#include "models/driver/objects/objects.h"
#include "models/machine/host/virtual_memory.h"
#include "tlm/base/units.h"

namespace hcasim::driver {

using namespace verbs;

namespace {

constexpr std::uint64_t max_message = 1ULL << 31;
constexpr unsigned chunk_limit = HCA_WQE_BLOCK - HCA_INLINE_HEADER;

bool is_atomic(hca_wqe_opcode op) {
  return op == HCA_WQE_COMPARE_SWAP || op == HCA_WQE_FETCH_ADD;
}
bool needs_responder(hca_wqe_opcode op) {
  return op == HCA_WQE_READ || is_atomic(op);
}
bool has_remote(hca_wqe_opcode op) {
  return op == HCA_WQE_WRITE || op == HCA_WQE_WRITE_IMM || needs_responder(op);
}

template <class T>
void put(wqe_buffer& out, std::size_t at, const T& v) {
  std::memcpy(out.data() + at, &v, sizeof v);
}

bool changes_protection(hca_wqe_opcode op) {
  return op == HCA_WQE_BIND || op == HCA_WQE_LOCAL_INV || op == HCA_WQE_FAST_REG;
}

// BIND, LOCAL_INV, REG_MR: one block, no data [C.3].
send_shape change_shape(const ibv_send_wr& wr, send_shape s, const send_limits& limits, ibv_mw_type windows) {
  if (limits.transport == HCA_TRANSPORT_UD || wr.num_sge != 0 || (wr.send_flags & IBV_SEND_INLINE)) return {EINVAL};
  if (s.opcode == HCA_WQE_BIND) {
    const auto& b = wr.bind_mw;
    if (!b.mw || b.mw->type != windows || (!b.bind_info.mr && windows == IBV_MW_TYPE_2)) return {EINVAL};
  }
  if (s.opcode == HCA_WQE_FAST_REG) {
    const auto* mr = static_cast<const memory_region*>(wr.reg_mr.mr);
    if (!limits.privileged || !mr || mr->kind != region_kind::fast || mr->pinned_bytes == 0) return {EINVAL};
  }
  s.blocks = 1;
  return s;
}

hca_wqe_fast_reg fast_reg_segment(const ibv_send_wr& wr) {
  const auto& mr = static_cast<const memory_region&>(*wr.reg_mr.mr);
  hca_wqe_fast_reg f{};
  f.va = mr.iova;
  f.length = mr.length;
  f.list = mr.list->address(0);
  f.key = wr.reg_mr.key;
  f.access = wr.reg_mr.access;
  f.page_shift = host_page_shift;
  return f;
}

bool is_datagram(addressing to) {
  return to == addressing::datagram || to == addressing::global_datagram || to == addressing::wide_datagram;
}

bool copy_inline(const ibv_send_wr& wr, std::size_t at, const virtual_memory& memory, wqe_buffer& out) {
  const bool wide = at == HCA_WQE_BLOCK;  // one chunk
  std::size_t header = at;                // of the open chunk
  std::uint32_t filled = 0;
  for (int i = 0; i < wr.num_sge; ++i) {
    ibv_sge sge = wr.sg_list[i];
    while (sge.length > 0) {
      const std::size_t data = header + HCA_INLINE_HEADER + filled;
      const std::size_t room = wide ? out.size() - data : HCA_WQE_BLOCK - (data % HCA_WQE_BLOCK);
      const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(room, sge.length));
      if (!memory.read(sge.addr, std::span(out).subspan(data, n))) return false;
      sge.addr += n;
      sge.length -= n;
      filled += n;
      put(out, header, filled);
      if (n == room) {
        header = data + n;
        filled = 0;
        if (header + HCA_INLINE_HEADER >= out.size()) return true;
      }
    }
  }
  return true;
}

}  // namespace

hca_wqe_opcode wqe_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return HCA_WQE_WRITE;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return HCA_WQE_WRITE_IMM;
    case IBV_WR_SEND:
      return HCA_WQE_SEND;
    case IBV_WR_SEND_WITH_IMM:
      return HCA_WQE_SEND_IMM;
    case IBV_WR_RDMA_READ:
      return HCA_WQE_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return HCA_WQE_COMPARE_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return HCA_WQE_FETCH_ADD;
    case IBV_WR_LOCAL_INV:
      return HCA_WQE_LOCAL_INV;
    case IBV_WR_BIND_MW:
      return HCA_WQE_BIND;
    case IBV_WR_SEND_WITH_INV:
      return HCA_WQE_SEND_INV;
    case IBV_WR_REG_MR:
      return HCA_WQE_FAST_REG;
  }
  return HCA_WQE_NOP;
}

ibv_wc_opcode completion_opcode(hca_wqe_opcode opcode) {
  switch (opcode) {
    case HCA_WQE_WRITE:
    case HCA_WQE_WRITE_IMM:
      return IBV_WC_RDMA_WRITE;
    case HCA_WQE_READ:
      return IBV_WC_RDMA_READ;
    case HCA_WQE_COMPARE_SWAP:
      return IBV_WC_COMP_SWAP;
    case HCA_WQE_FETCH_ADD:
      return IBV_WC_FETCH_ADD;
    case HCA_WQE_BIND:
      return IBV_WC_BIND_MW;
    case HCA_WQE_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    case HCA_WQE_FAST_REG:
      return IBV_WC_REG_MR;
    default:
      return IBV_WC_SEND;
  }
}

unsigned header_bytes(hca_wqe_opcode opcode, addressing to) {
  if (to == addressing::wide_datagram) return HCA_WQE_BLOCK;
  unsigned n = sizeof(hca_wqe_control);
  if (is_datagram(to)) n += sizeof(hca_wqe_datagram);
  if (to == addressing::global_datagram) n += sizeof(hca_gid);
  if (to == addressing::xrc) n += sizeof(hca_wqe_xrc);
  if (has_remote(opcode)) n += sizeof(hca_wqe_remote);
  if (is_atomic(opcode)) n += sizeof(hca_wqe_atomic);
  return n;
}

unsigned blocks_with_segments(unsigned header, unsigned segments) {
  return static_cast<unsigned>(ceil_div(header + segments * sizeof(hca_wqe_data), HCA_WQE_BLOCK));
}

unsigned blocks_with_inline(unsigned header, std::uint64_t bytes) {
  if (header == HCA_WQE_BLOCK) return 1 + static_cast<unsigned>(ceil_div(HCA_INLINE_HEADER + bytes, HCA_WQE_BLOCK));
  const std::uint64_t first = HCA_WQE_BLOCK - header - HCA_INLINE_HEADER;  // other headers before inline data are shorter
  return bytes <= first ? 1 : static_cast<unsigned>(1 + ceil_div(bytes - first, chunk_limit));
}

std::uint32_t inline_capacity(unsigned header, unsigned blocks) {
  if (header == HCA_WQE_BLOCK) return blocks == 1 ? 0 : (blocks - 1) * HCA_WQE_BLOCK - HCA_INLINE_HEADER;
  return HCA_WQE_BLOCK - header - HCA_INLINE_HEADER + (blocks - 1) * chunk_limit;
}

hca_wqe_bind bind_segment(const ibv_mw& mw, std::uint32_t new_key, const ibv_mw_bind_info& info) {
  hca_wqe_bind b{};
  b.va = info.addr;
  b.length = info.length;
  b.window_key = mw.rkey;
  b.new_key = new_key;
  b.region_key = info.mr ? info.mr->lkey : 0;
  b.access = info.mw_access_flags;
  b.type = HCA_U8(static_cast<unsigned>(mw.type));
  return b;
}

send_shape shape_of(const ibv_send_wr& wr, const send_limits& limits, ibv_mw_type windows) {
  send_shape s;
  s.opcode = wqe_opcode(wr.opcode);
  if (s.opcode == HCA_WQE_NOP) return {EINVAL};
  if (changes_protection(s.opcode)) return change_shape(wr, s, limits, windows);
  if (limits.transport == HCA_TRANSPORT_XRC_TGT) return {EINVAL};
  if (s.opcode == HCA_WQE_SEND_INV && !hca_transport_reliable(limits.transport)) return {EINVAL};  // [C6.7]
  if (limits.transport == HCA_TRANSPORT_UD) {
    if (has_remote(s.opcode) || !wr.wr.ud.ah) return {EINVAL};
    const ibv_ah_attr& way = static_cast<const address_handle&>(*wr.wr.ud.ah).attr;
    if (way.port_num != limits.port) return {EINVAL};
    const bool global = way.is_global != 0;
    s.to = limits.wide_datagrams ? addressing::wide_datagram : global ? addressing::global_datagram : addressing::datagram;
  } else if (limits.transport == HCA_TRANSPORT_XRC_INI) {
    if (wr.qp_type.xrc.remote_srqn > HCA_QPN_ANY) return {EINVAL};
    s.to = addressing::xrc;
  }
  if (limits.transport == HCA_TRANSPORT_UC && needs_responder(s.opcode)) return {EINVAL};
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > limits.max_sge) return {EINVAL};

  std::uint64_t bytes = 0;
  for (int i = 0; i < wr.num_sge; ++i) bytes += wr.sg_list[i].length;
  if (bytes > max_message) return {EINVAL};
  if (is_atomic(s.opcode) && (wr.num_sge != 1 || bytes != 8)) return {EINVAL};

  const unsigned header = header_bytes(s.opcode, s.to);
  if (wr.send_flags & IBV_SEND_INLINE) {
    if (needs_responder(s.opcode) || bytes > limits.max_inline) return {EINVAL};
    s.inline_bytes = bytes;
    s.blocks = blocks_with_inline(header, bytes);
  } else {
    s.blocks = blocks_with_segments(header, static_cast<unsigned>(wr.num_sge));
  }
  return s;
}

bool build_send(const ibv_send_wr& wr, const send_shape& shape, std::uint32_t qpn, std::uint16_t index, bool signal_all,
                const virtual_memory& memory, wqe_buffer& out) {
  std::memset(out.data(), 0, std::size_t{shape.blocks} * HCA_WQE_BLOCK);
  const bool inlined = wr.send_flags & IBV_SEND_INLINE;
  hca_wqe_control control{};
  control.opcode = HCA_U8(shape.opcode);
  if (signal_all || (wr.send_flags & IBV_SEND_SIGNALED)) control.flags |= HCA_WQE_SIGNALED;
  if (wr.send_flags & IBV_SEND_FENCE) control.flags |= HCA_WQE_FENCE;
  if (wr.send_flags & IBV_SEND_SOLICITED) control.flags |= HCA_WQE_SOLICITED;
  if (inlined) control.flags |= HCA_WQE_INLINE;
  const bool datagram = is_datagram(shape.to);
  if (datagram) control.flags |= HCA_WQE_DATAGRAM;
  if (datagram && static_cast<const address_handle&>(*wr.wr.ud.ah).attr.is_global) control.flags |= HCA_WQE_GLOBAL;
  if (shape.to == addressing::wide_datagram) control.flags |= HCA_WQE_WIDE;
  if (shape.to == addressing::xrc) control.flags |= HCA_WQE_XRC;
  control.blocks = HCA_U8(shape.blocks);
  control.segments = inlined ? HCA_U8(0) : HCA_U8(static_cast<unsigned>(wr.num_sge));
  control.index = index;
  control.qpn = qpn;
  if (shape.opcode == HCA_WQE_SEND_IMM || shape.opcode == HCA_WQE_WRITE_IMM) control.immediate = wr.imm_data;
  if (shape.opcode == HCA_WQE_SEND_INV || shape.opcode == HCA_WQE_LOCAL_INV) control.immediate = wr.invalidate_rkey;
  put(out, 0, control);

  std::size_t at = sizeof control;
  if (datagram) {
    const ibv_ah_attr& to = static_cast<const address_handle&>(*wr.wr.ud.ah).attr;
    hca_wqe_datagram address{wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey, to.dlid, to.sl, 0, 0};
    if (to.is_global) {
      address.hop_limit = to.grh.hop_limit;
      address.flow = flow_of(to.grh);
      put(out, at + sizeof address, to.grh.dgid);
    }
    put(out, at, address);
  } else if (shape.to == addressing::xrc) {
    put(out, at, hca_wqe_xrc{wr.qp_type.xrc.remote_srqn, {}});
    at += sizeof(hca_wqe_xrc);
  }
  if (is_atomic(shape.opcode)) {
    const bool swap = shape.opcode == HCA_WQE_COMPARE_SWAP;
    put(out, at, hca_wqe_remote{wr.wr.atomic.remote_addr, wr.wr.atomic.rkey, 0});
    put(out, at + sizeof(hca_wqe_remote),
        hca_wqe_atomic{swap ? wr.wr.atomic.swap : wr.wr.atomic.compare_add, swap ? wr.wr.atomic.compare_add : 0});
  } else if (has_remote(shape.opcode)) {
    put(out, at, hca_wqe_remote{wr.wr.rdma.remote_addr, wr.wr.rdma.rkey, 0});
  }
  if (shape.opcode == HCA_WQE_BIND) put(out, at, bind_segment(*wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info));
  if (shape.opcode == HCA_WQE_FAST_REG) put(out, at, fast_reg_segment(wr));
  at = header_bytes(shape.opcode, shape.to);
  if (inlined) return copy_inline(wr, at, memory, out);
  for (int i = 0; i < wr.num_sge; ++i, at += sizeof(hca_wqe_data)) {
    put(out, at, hca_wqe_data{wr.sg_list[i].addr, wr.sg_list[i].length, wr.sg_list[i].lkey});
  }
  return true;
}

void build_nop(std::uint32_t qpn, std::uint16_t index, unsigned blocks, wqe_buffer& out) {
  std::memset(out.data(), 0, HCA_WQE_BLOCK);
  hca_wqe_control control{};
  control.opcode = HCA_WQE_NOP;
  control.blocks = HCA_U8(blocks);
  control.index = index;
  control.qpn = qpn;
  put(out, 0, control);
}

std::size_t build_receive(const ibv_recv_wr& wr, unsigned capacity, std::span<hca_wqe_data> out) {
  const auto n = static_cast<unsigned>(wr.num_sge);
  for (unsigned i = 0; i < n; ++i) out[i] = {wr.sg_list[i].addr, wr.sg_list[i].length, wr.sg_list[i].lkey};
  if (n == capacity) return n * sizeof(hca_wqe_data);
  out[n] = {0, 0, HCA_RECV_END};
  return (n + 1) * sizeof(hca_wqe_data);
}

}  // namespace hcasim::driver
