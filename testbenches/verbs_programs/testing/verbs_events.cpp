// Acknowledged events, and events of destroyed objects.
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

}  // namespace misuse
