// Acknowledged events, and events of destroyed objects.
#include <poll.h>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {

// A CQ that has overflowed goes once its event is acknowledged.
void overrun() {
  const opened o = open();
  ibv_cq_init_attr_ex with{};
  with.cqe = 1;
  ibv_cq_ex* const small = ibv_create_cq_ex(o.context, &with);
  REQUIRE(small);
  looped l(o, small);
  for (int i = 0; i < 4; ++i) l.write_flag();
  ibv_async_event event{};
  REQUIRE(ibv_get_async_event(o.context, &event) == 0);
  REQUIRE(event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == l.cq);
  ibv_ack_async_event(&event);
  REQUIRE(ibv_destroy_qp(l.qp) == 0);
  REQUIRE(ibv_destroy_cq(l.cq) == 0);
}

namespace {

bool is_readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, 1) > 0;
}

ibv_srq* below_its_limit(const opened& o) {
  ibv_srq_init_attr init{};
  init.attr = {4, 1, 0};
  ibv_srq* const srq = ibv_create_srq(o.pd, &init);
  REQUIRE(srq);
  ibv_srq_attr a{};
  a.srq_limit = 2;
  REQUIRE(ibv_modify_srq(srq, &a, IBV_SRQ_LIMIT) == 0);
  return srq;
}

}  // namespace

// Events go with their object, and the descriptor shows the ones that are left.
void late_events() {
  looped l(true);
  REQUIRE(ibv_req_notify_cq(l.cq, 0) == 0);
  l.write_flag();
  finish(l);
  REQUIRE(is_readable(l.channel->fd));
  REQUIRE(ibv_destroy_qp(l.qp) == 0 && ibv_destroy_cq(l.cq) == 0);
  REQUIRE(!is_readable(l.channel->fd));

  ibv_srq* const gone = below_its_limit(l.o);
  ibv_srq* const stays = below_its_limit(l.o);
  REQUIRE(is_readable(l.o.context->async_fd));
  REQUIRE(ibv_destroy_srq(gone) == 0);
  ibv_async_event event{};
  REQUIRE(ibv_get_async_event(l.o.context, &event) == 0);
  REQUIRE(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == stays);
  ibv_ack_async_event(&event);
  REQUIRE(!is_readable(l.o.context->async_fd));
  REQUIRE(ibv_destroy_srq(stays) == 0);
}

}  // namespace misuse
