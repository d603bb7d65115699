// The common part of hcasim_misuse: an open device, and a QP that is connected to itself.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace misuse {

inline void require(bool so, int line, const char* what) {
  if (so) return;
  std::printf("line %d: not so: %s (errno %d)\n", line, what, errno);
  std::exit(1);
}
#define REQUIRE(what) require(what, __LINE__, #what)

struct opened {
  ibv_context* context;
  ibv_pd* pd;
};

inline opened open() {
  ibv_device** list = ibv_get_device_list(nullptr);
  REQUIRE(list && list[0]);
  ibv_context* context = ibv_open_device(list[0]);
  REQUIRE(context);
  ibv_free_device_list(list);
  ibv_pd* pd = ibv_alloc_pd(context);
  REQUIRE(pd);
  return {context, pd};
}

alignas(4096) inline char buffer[8192];

// Makes a UD QP in RTS, with Q_Key 5.
inline ibv_qp* datagram_qp(const opened& o, ibv_cq* cq, std::uint32_t psn = 0) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {8, 8, 1, 1, 64};
  init.qp_type = IBV_QPT_UD;
  ibv_qp* qp = ibv_create_qp(o.pd, &init);
  REQUIRE(qp);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qkey = 5;
  REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
  a.qp_state = IBV_QPS_RTR;
  REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE) == 0);
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = psn;
  REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
  return qp;
}

// A QP that is connected to itself.
struct looped {
  opened o;
  ibv_cq* cq;
  ibv_qp* qp;
  ibv_mr* mr;
  ibv_comp_channel* channel = nullptr;

  explicit looped(bool events = false) : o(open()) {
    if (events) {
      channel = ibv_create_comp_channel(o.context);
      REQUIRE(channel);
    }
    cq = ibv_create_cq(o.context, 16, nullptr, channel, 0);
    REQUIRE(cq);
    connect();
  }
  // With a queue that the caller has made.
  looped(const opened& with, ibv_cq_ex* made) : o(with), cq(ibv_cq_ex_to_cq(made)) { connect(); }

  void connect() {
    mr = ibv_reg_mr(o.pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    REQUIRE(mr);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {8, 8, 1, 1, 64};
    init.qp_type = IBV_QPT_RC;
    qp = ibv_create_qp(o.pd, &init);
    REQUIRE(qp);
    bring_up();
  }

  // Brings the QP from RESET to RTS.
  void bring_up() const {
    ibv_port_attr port{};
    REQUIRE(ibv_query_port(o.context, 1, &port) == 0);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = qp->qp_num;
    a.max_dest_rd_atomic = 1;
    a.min_rnr_timer = 12;
    a.ah_attr.dlid = port.lid;
    a.ah_attr.port_num = 1;
    REQUIRE(ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = 7;
    a.rnr_retry = 7;
    a.max_rd_atomic = 1;
    REQUIRE(ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  }
  // Brings the QP up again after an error.
  void again() const {
    ibv_qp_attr a{};
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE) == 0);
    bring_up();
  }

  // Writes one byte from the first page to the second, which was 0.
  void write_flag() {
    buffer[0] = 1;
    buffer[4096] = 0;
    ibv_sge s{reinterpret_cast<std::uint64_t>(buffer), 1, mr->lkey};
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.sg_list = &s;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {reinterpret_cast<std::uint64_t>(buffer + 4096), mr->rkey};
    REQUIRE(ibv_post_send(qp, &wr, &bad) == 0);
  }
};

inline void finish(looped& l) {
  ibv_wc wc{};
  while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
  }
  REQUIRE(wc.status == IBV_WC_SUCCESS && buffer[4096] == 1);
}

inline const volatile char& flag = buffer[4096];

// Runs the case of that name.
void spin(const char* how);
void spin_long(const char* how);
void clocks();
void closed_channel();
void compute();
void drained();
void faults();
void forked();
void grow();
void killed();
void late_reads();
void leave();
void limits();
void machine_clocks();
void masked();
void meet(const char* how);
void out_of_memory();
void polls_for(const char* file, bool beside_a_sleeper);
void register_memory();
void resize();
void spawn();
void segments();
void stamped();
void signalled_ends();
void threads();
void timer_files();
void timers_that_signal();
void unmapped();
void version();
void wake(const char* how, const char* by);
void wild();
void null_region();
void roce_port();
void known_vendor();
void deepest_queues();
void device_name();
void overrun();
void late_events();
void protected_pages();
void protected_on_demand();
void protected_shared();
void busy_threads();
void data_path();
void parent_domains();
void too_much();

}  // namespace misuse
