/* How much of the adapter is taken. */
#include "firmware/control/state.h"

int fw_report_usage(struct firmware* fw, struct hca_command* c) {
  struct fw_usage now;
  fw_query_usage(fw, &now);
  const struct hca_usage out = {now.qps, now.cqs, now.mrs, now.spaces, now.table_bytes};
  return fw_write_out(fw, c, &out, sizeof out);
}
