// Queues, and the events and completions of them.
#include <unistd.h>

#include <vector>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {

void closed_channel() {
  looped l(true);
  REQUIRE(ibv_req_notify_cq(l.cq, 0) == 0);
  REQUIRE(close(l.channel->fd) == 0);
  l.write_flag();
  finish(l);
}

void resize() {
  looped l;
  for (const int cqe : {64, 1, 1000}) {
    REQUIRE(ibv_resize_cq(l.cq, cqe) == 0 && l.cq->cqe >= cqe);
    l.write_flag();
    finish(l);
  }
  for (int i = 0; i < 3; ++i) l.write_flag();
  while (flag == 0) {
  }
  timespec second{1, 0};
  nanosleep(&second, nullptr);
  REQUIRE(ibv_resize_cq(l.cq, 2) == EINVAL);
  REQUIRE(ibv_resize_cq(l.cq, 0) == EINVAL);
  REQUIRE(ibv_resize_cq(l.cq, 1 << 30) == EINVAL);
  for (int i = 0; i < 3; ++i) finish(l);
}

// Completions say when they were made: between two looks at the adapter's clock.
void stamped() {
  const opened o = open();
  ibv_cq_init_attr_ex with{};
  with.cqe = 16;
  with.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  with.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  ibv_cq_ex* cq = ibv_create_cq_ex(o.context, &with);
  REQUIRE(cq);
  looped on(o, cq);
  const auto ticks = [&] {
    ibv_values_ex v{};
    v.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    REQUIRE(ibv_query_rt_values_ex(o.context, &v) == 0 && v.raw_clock.tv_sec == 0);
    return static_cast<std::uint64_t>(v.raw_clock.tv_nsec);
  };
  ibv_device_attr_ex device{};
  REQUIRE(ibv_query_device_ex(o.context, nullptr, &device) == 0);
  REQUIRE(device.hca_core_clock == 1'000'000 && device.completion_timestamp_mask == ~std::uint64_t{0});
  const std::uint64_t before = ticks();
  on.write_flag();
  ibv_poll_cq_attr none{};
  while (ibv_start_poll(cq, &none) == ENOENT) {
  }
  const std::uint64_t at = ibv_wc_read_completion_ts(cq);
  const std::uint64_t date = ibv_wc_read_completion_wallclock_ns(cq);
  ibv_end_poll(cq);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t after = ticks();
  const std::uint64_t now_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  REQUIRE(before < at && at < after && after - before < 100'000);
  REQUIRE(date < now_ns && now_ns - date <= after - at);
}

// A shared queue grows; receives that were posted before are used.
void grow() {
  const opened o = open();
  ibv_srq_init_attr init{};
  init.attr = {3, 1, 0};
  ibv_srq* srq = ibv_create_srq(o.pd, &init);
  REQUIRE(srq);
  const auto fill = [&] {
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    int n = 0;
    while (ibv_post_srq_recv(srq, &wr, &bad) == 0) ++n;
    return n;
  };
  REQUIRE(fill() == 3);
  ibv_srq_attr a{100, 0, 0};
  REQUIRE(ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR) == 0);
  REQUIRE(ibv_query_srq(srq, &a) == 0 && a.max_wr >= 100);
  REQUIRE(fill() == static_cast<int>(a.max_wr) - 3);
  a.max_wr = 3;
  REQUIRE(ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR) == EINVAL);
}

// A list is taken up to the request with a negative number of segments.
void segments() {
  const looped l;
  ibv_sge s{reinterpret_cast<std::uint64_t>(buffer), 1, l.mr->lkey};
  ibv_send_wr send[3]{};
  ibv_recv_wr receive[3]{};
  for (int i = 0; i < 3; ++i) {
    send[i].next = i < 2 ? &send[i + 1] : nullptr;
    send[i].opcode = IBV_WR_RDMA_WRITE;
    send[i].send_flags = IBV_SEND_SIGNALED;
    send[i].wr.rdma = {reinterpret_cast<std::uint64_t>(buffer + 4096), l.mr->rkey};
    receive[i].next = i < 2 ? &receive[i + 1] : nullptr;
    send[i].sg_list = receive[i].sg_list = &s;
    send[i].num_sge = receive[i].num_sge = i == 1 ? -1 : 1;
  }
  ibv_send_wr* bad_send = nullptr;
  REQUIRE(ibv_post_send(l.qp, send, &bad_send) == EINVAL && bad_send == &send[1]);
  ibv_wc wc{};
  while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
  }
  REQUIRE(wc.status == IBV_WC_SUCCESS);
  ibv_recv_wr* bad_receive = nullptr;
  REQUIRE(ibv_post_recv(l.qp, receive, &bad_receive) == EINVAL && bad_receive == &receive[1]);

  ibv_srq_init_attr init{};
  init.attr = {8, 1, 0};
  ibv_srq* const srq = ibv_create_srq(l.o.pd, &init);
  REQUIRE(srq);
  REQUIRE(ibv_post_srq_recv(srq, receive, &bad_receive) == EINVAL && bad_receive == &receive[1]);
}

// The send queue is drained, says so, and goes on.
void drained() {
  looped l;
  for (int i = 0; i < 4; ++i) l.write_flag();
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_SQD;
  a.en_sqd_async_notify = 1;
  REQUIRE(ibv_modify_qp(l.qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
  ibv_async_event event{};
  REQUIRE(ibv_get_async_event(l.o.context, &event) == 0);
  REQUIRE(event.event_type == IBV_EVENT_SQ_DRAINED && event.element.qp == l.qp);
  ibv_ack_async_event(&event);
  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(l.qp, &a, IBV_QP_STATE, &init) == 0);
  REQUIRE(a.qp_state == IBV_QPS_SQD && a.sq_draining == 0);
  for (int i = 0; i < 4; ++i) finish(l);
  l.write_flag();
  timespec second{1, 0};
  nanosleep(&second, nullptr);
  REQUIRE(flag == 0);
  a.qp_state = IBV_QPS_RTS;
  REQUIRE(ibv_modify_qp(l.qp, &a, IBV_QP_STATE) == 0);
  finish(l);
}

}  // namespace misuse
