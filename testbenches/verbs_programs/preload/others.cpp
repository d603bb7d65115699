// Verbs that the device does not have. The real functions would look for a provider's data behind the library's objects.
#include <infiniband/mlx5dv.h>

#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"

using namespace hcasim::preload;

HCASIM_PUBLIC int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  return mine() ? EOPNOTSUPP : HCASIM_REAL(ibv_set_ece)(qp, ece);
}
HCASIM_PUBLIC int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  return mine() ? EOPNOTSUPP : HCASIM_REAL(ibv_query_ece)(qp, ece);
}
HCASIM_PUBLIC int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  return mine() ? 0 : HCASIM_REAL(ibv_query_qp_data_in_order)(qp, opcode, flags);
}
HCASIM_PUBLIC ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, size_t length, std::uint64_t iova, int fd,
                                        int access) {
  return mine() ? refused<ibv_mr>(EOPNOTSUPP) : HCASIM_REAL(ibv_reg_dmabuf_mr)(pd, offset, length, iova, fd, access);
}
HCASIM_PUBLIC int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr, std::uint8_t mac[6],
                                              std::uint16_t* vid) {
  return mine() ? EOPNOTSUPP : HCASIM_REAL(ibv_resolve_eth_l2_from_gid)(context, attr, mac, vid);
}

// Programs call this if the adapter shows the vendor's number. There are no functions beyond the verbs.
HCASIM_PUBLIC int mlx5dv_query_device(ibv_context* context, mlx5dv_context* out) {
  if (!mine()) return HCASIM_REAL(mlx5dv_query_device)(context, out);
  constexpr std::uint32_t mellanox = 0x2c9;
  ibv_device_attr device{};
  if (const int error = ibv_query_device(context, &device)) return error;
  if (device.vendor_id != mellanox) return EOPNOTSUPP;
  out->version = 0;
  out->flags = 0;
  out->comp_mask = 0;
  return 0;
}

// Libraries that bypass the verbs for one maker's hardware ask this first.
HCASIM_PUBLIC bool mlx5dv_is_supported(ibv_device* device) {
  return !mine() && HCASIM_REAL(mlx5dv_is_supported)(device);
}
