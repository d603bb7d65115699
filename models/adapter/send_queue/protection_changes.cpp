#include "models/adapter/send_queue/protection_changes.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace hcasim {
namespace {

bool zero(std::span<const std::uint8_t> reserved) {
  return std::all_of(reserved.begin(), reserved.end(), [](std::uint8_t b) { return b == 0; });
}

}  // namespace

bool read_change(const work_request& w, const hca_qpc& q, window_request& out) {
  if (q.transport == HCA_TRANSPORT_UD) return false;
  const hca_wqe_control& c = w.control();
  const std::byte* const body = w.bytes.data() + sizeof(hca_wqe_control);
  out = {};
  out.qpn = w.qpn;
  out.pd = q.pd;
  out.generation = q.generation;
  out.function = q.function;
  out.privileged = (q.flags & HCA_QP_PRIVILEGED) != 0;
  switch (c.opcode) {
    case HCA_WQE_BIND: {
      hca_wqe_bind b;
      std::memcpy(&b, body, sizeof b);
      out.op = window_op::bind;
      out.key = b.window_key;
      out.new_key = b.new_key;
      out.region_key = b.region_key;
      out.access = b.access;
      out.va = b.va;
      out.length = b.length;
      out.type = b.type;
      return zero(b.reserved);
    }
    case HCA_WQE_FAST_REG: {
      hca_wqe_fast_reg f;
      std::memcpy(&f, body, sizeof f);
      out.op = window_op::fast_register;
      out.key = f.key;
      out.access = f.access;
      out.va = f.va;
      out.length = f.length;
      out.list = f.list;
      out.page_shift = f.page_shift;
      return zero(f.reserved);
    }
    default:
      out.op = window_op::invalidate;
      out.key = c.immediate;
      return true;
  }
}

std::uint8_t status_of(window_op op, window_fault fault) {
  if (fault == window_fault::none) return HCA_WC_SUCCESS;
  if (op == window_op::fast_register || fault == window_fault::table_error) return HCA_WC_LOC_QP_OP_ERR;
  return HCA_WC_MW_BIND_ERR;
}

}  // namespace hcasim
