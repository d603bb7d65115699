// Features of other makers' adapters that programs look for: null regions for peers, known vendors, ports of RoCE.
#include <dlfcn.h>
#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <iterator>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

ibv_wc one_completion(ibv_cq* cq) {
  ibv_wc wc{};
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  return wc;
}

ibv_wc_status access(const looped& l, ibv_wr_opcode opcode, std::uint64_t at, std::uint32_t key) {
  ibv_sge s{reinterpret_cast<std::uint64_t>(buffer), 64, l.mr->lkey};
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  wr.sg_list = &s;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {at, key};
  REQUIRE(ibv_post_send(l.qp, &wr, &bad) == 0);
  return one_completion(l.cq).status;
}

// Sends to itself, and returns the completion of the receive.
ibv_wc datagram(ibv_qp* qp, ibv_cq* cq, ibv_mr* mr, ibv_ah* to, std::uint32_t qpn) {
  ibv_sge in{reinterpret_cast<std::uint64_t>(buffer + 4096), 64, mr->lkey};
  ibv_recv_wr take{};
  ibv_recv_wr* untaken = nullptr;
  take.sg_list = &in;
  take.num_sge = 1;
  REQUIRE(ibv_post_recv(qp, &take, &untaken) == 0);
  ibv_sge out{reinterpret_cast<std::uint64_t>(buffer), 8, mr->lkey};
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  wr.sg_list = &out;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.wr.ud = {to, qpn, 5};
  REQUIRE(ibv_post_send(qp, &wr, &bad) == 0);
  const ibv_wc wc = one_completion(cq);
  REQUIRE(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
  return wc;
}

}  // namespace

// A peer's WRITE to a null region has no effect, and its READ brings zeros. The PD may go before the region, as with other
// makers.
void null_region() {
  looped l;
  ibv_pd* pd = ibv_alloc_pd(l.o.context);
  ibv_mr* own = ibv_alloc_null_mr(l.o.pd);
  ibv_mr* left = ibv_alloc_null_mr(pd);
  REQUIRE(pd && own && left);
  ibv_qp_attr rights{};
  rights.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  REQUIRE(ibv_modify_qp(l.qp, &rights, IBV_QP_ACCESS_FLAGS) == 0);
  std::fill(buffer, buffer + 64, 7);
  REQUIRE(access(l, IBV_WR_RDMA_WRITE, 0x12345, own->lkey) == IBV_WC_SUCCESS);  // programs tell peers either key
  REQUIRE(access(l, IBV_WR_RDMA_READ, reinterpret_cast<std::uint64_t>(buffer), own->rkey) == IBV_WC_SUCCESS);
  REQUIRE(std::all_of(buffer, buffer + 64, [](char c) { return c == 0; }));
  REQUIRE(ibv_dealloc_pd(pd) == 0);
  REQUIRE(ibv_dereg_mr(left) == 0 && ibv_dereg_mr(own) == 0);
}

// With --set node*.driver.vendor_id=713 --set node*.driver.vendor_part_id=4119.
void known_vendor() {
  const opened o = open();
  ibv_device_attr a{};
  REQUIRE(ibv_query_device(o.context, &a) == 0 && a.vendor_id == 0x2c9 && a.vendor_part_id == 4119);
  auto* const query = reinterpret_cast<int (*)(ibv_context*, mlx5dv_context*)>(dlsym(RTLD_DEFAULT, "mlx5dv_query_device"));
  auto* const supported = reinterpret_cast<bool (*)(ibv_device*)>(dlsym(RTLD_DEFAULT, "mlx5dv_is_supported"));
  mlx5dv_context beyond{};
  beyond.comp_mask = ~std::uint64_t{0};
  REQUIRE(query && query(o.context, &beyond) == 0 && beyond.comp_mask == 0 && beyond.flags == 0);
  REQUIRE(supported && !supported(o.context->device));
}

// A queue of the greatest depth that the device shows, with one segment or some inline data, on every transport.
void deepest_queues() {
  const opened o = open();
  ibv_device_attr a{};
  REQUIRE(ibv_query_device(o.context, &a) == 0);
  ibv_cq* cq = ibv_create_cq(o.context, 16, nullptr, nullptr, 0);
  REQUIRE(cq);
  const auto deepest = static_cast<std::uint32_t>(a.max_qp_wr);
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {deepest, deepest, 1, 1, 36};
    init.qp_type = type;
    ibv_qp* qp = ibv_create_qp(o.pd, &init);
    REQUIRE(qp && init.cap.max_send_wr >= deepest && init.cap.max_recv_wr >= deepest);
    REQUIRE(ibv_destroy_qp(qp) == 0);
  }
}

// With --param device_name=mlx5_0.
void device_name() {
  int devices = 0;
  ibv_device** list = ibv_get_device_list(&devices);
  REQUIRE(list && devices == 1);
  REQUIRE(std::strcmp(ibv_get_device_name(list[0]), "mlx5_0") == 0);
  REQUIRE(std::strcmp(list[0]->ibdev_path, "/sys/class/infiniband/mlx5_0") == 0);
  REQUIRE(ibv_open_device(list[0]));
}

// With --set node*.hca.port.link_layer=ethernet.
void roce_port() {
  const opened o = open();
  ibv_port_attr port{};
  REQUIRE(ibv_query_port(o.context, 1, &port) == 0);
  REQUIRE(port.link_layer == IBV_LINK_LAYER_ETHERNET && port.lid == 0 && port.gid_tbl_len == 4);
  ibv_gid_entry entries[4];
  REQUIRE(ibv_query_gid_table(o.context, entries, 3, 0) == -EINVAL);
  REQUIRE(ibv_query_gid_table(o.context, entries, 4, 0) == 4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    REQUIRE(entries[i].gid_index == i && entries[i].port_num == 1 && entries[i].ndev_ifindex != 0);
    REQUIRE(entries[i].gid_type == (i % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2));
    ibv_gid same{};
    REQUIRE(ibv_query_gid(o.context, 1, static_cast<int>(i), &same) == 0);
    REQUIRE(std::memcmp(same.raw, entries[i].gid.raw, sizeof same.raw) == 0);
  }
  constexpr std::uint8_t by_ip[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  REQUIRE(std::memcmp(entries[3].gid.raw, by_ip, sizeof by_ip) == 0);
  ibv_gid none{};
  REQUIRE(ibv_query_gid(o.context, 1, 4, &none) == -1);

  ibv_ah_attr to{};
  to.port_num = 1;
  REQUIRE(!ibv_create_ah(o.pd, &to) && errno == EINVAL);  // each address is a GID
  to.is_global = 1;
  to.grh.dgid = entries[3].gid;
  to.grh.sgid_index = 4;
  REQUIRE(!ibv_create_ah(o.pd, &to) && errno == EINVAL);
  to.grh.sgid_index = 3;
  ibv_ah* ah = ibv_create_ah(o.pd, &to);
  REQUIRE(ah);
  to.grh.dgid.raw[15] = 200;
  REQUIRE(!ibv_create_ah(o.pd, &to) && errno == ENETUNREACH);

  ibv_cq* cq = ibv_create_cq(o.context, 16, nullptr, nullptr, 0);
  ibv_mr* mr = ibv_reg_mr(o.pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  ibv_qp* qp = datagram_qp(o, cq);
  REQUIRE(cq && mr);
  std::fill(buffer, buffer + 8, 7);
  ibv_wc wc = datagram(qp, cq, mr, ah, qp->qp_num);
  REQUIRE((wc.wc_flags & IBV_WC_GRH) && wc.byte_len == 48 && buffer[4096 + 40] == 7);
  ibv_ah* back = ibv_create_ah_from_wc(o.pd, &wc, reinterpret_cast<ibv_grh*>(buffer + 4096), 1);
  REQUIRE(back);
  wc = datagram(qp, cq, mr, back, wc.src_qp);
  REQUIRE(wc.src_qp == qp->qp_num);

  // A group is its GID alone.
  ibv_gid group{};
  constexpr std::uint8_t address[] = {0xff, 0xff, 239, 1, 2, 3};
  std::copy(std::begin(address), std::end(address), group.raw + 10);
  REQUIRE(ibv_attach_mcast(qp, &group, 0) == 0);
  to.grh.dgid = group;
  ibv_ah* many = ibv_create_ah(o.pd, &to);
  REQUIRE(many);
  datagram(qp, cq, mr, many, 0xffffff);
  REQUIRE(ibv_detach_mcast(qp, &group, 0) == 0);

  // A connection, too, returns the address that the program has set.
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {8, 8, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* rc = ibv_create_qp(o.pd, &init);
  REQUIRE(rc);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  REQUIRE(ibv_modify_qp(rc, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = rc->qp_num;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = 12;
  a.ah_attr.port_num = 1;
  const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                   IBV_QP_MIN_RNR_TIMER;
  REQUIRE(ibv_modify_qp(rc, &a, mask) == EINVAL);
  a.ah_attr.is_global = 1;
  a.ah_attr.grh.dgid = entries[2].gid;
  a.ah_attr.grh.sgid_index = 2;
  a.ah_attr.grh.hop_limit = 64;
  REQUIRE(ibv_modify_qp(rc, &a, mask) == 0);
  ibv_qp_attr told{};
  REQUIRE(ibv_query_qp(rc, &told, IBV_QP_AV, &init) == 0);
  REQUIRE(told.ah_attr.is_global == 1 && told.ah_attr.dlid == 0 && told.ah_attr.grh.sgid_index == 2);
  REQUIRE(std::memcmp(told.ah_attr.grh.dgid.raw, entries[2].gid.raw, sizeof told.ah_attr.grh.dgid.raw) == 0);
}

}  // namespace misuse
