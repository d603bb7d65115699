/* The list of commands. Each is one line: its code is HCA_CMD_<name> (firmware/abi/command.h), its handler fw_<handler> in one
 * of the sources here. Dispatch, the handlers' prototypes, names in reports and the tests of all commands follow from it.
 *   COMMAND(name, handler, needs INIT, takes a mailbox (its length is the handler's to check), bytes of the output mailbox,
 *           changes the MRC of the key in `object`) */
#pragma once

#include "firmware/abi/command.h"

/* clang-format off: a line each */
#define FW_COMMANDS(COMMAND)                                                               \
  COMMAND(QUERY_DEVICE, query_device, false, false, sizeof(struct hca_device_info), false) \
  COMMAND(INIT, init, false, true, 0, false)                                               \
  COMMAND(CLOSE, close, true, false, 0, false)                                             \
  COMMAND(CREATE_EQ, create_eq, true, true, 0, false)                                      \
  COMMAND(DESTROY_EQ, destroy_eq, true, false, 0, false)                                   \
  COMMAND(CREATE_CQ, create_cq, true, true, 0, false)                                      \
  COMMAND(DESTROY_CQ, destroy_cq, true, false, 0, false)                                   \
  COMMAND(MODIFY_CQ, modify_cq, true, false, 0, false)                                     \
  COMMAND(RESIZE_CQ, resize_cq, true, true, 0, false)                                      \
  COMMAND(CREATE_QP, create_qp, true, true, 0, false)                                      \
  COMMAND(DESTROY_QP, destroy_qp, true, false, 0, false)                                   \
  COMMAND(MODIFY_QP, modify_qp, true, true, 0, false)                                      \
  COMMAND(QUERY_QP, query_qp, true, false, sizeof(struct hca_qpc), false)                  \
  COMMAND(ATTACH, attach, true, true, 0, false)                                            \
  COMMAND(DETACH, detach, true, true, 0, false)                                            \
  COMMAND(CREATE_SRQ, create_srq, true, true, 0, false)                                    \
  COMMAND(CREATE_XRC_SRQ, create_xrc_srq, true, true, 0, false)                            \
  COMMAND(DESTROY_SRQ, destroy_srq, true, false, 0, false)                                 \
  COMMAND(MODIFY_SRQ, modify_srq, true, false, 0, false)                                   \
  COMMAND(QUERY_SRQ, query_srq, true, false, sizeof(struct hca_qpc), false)                \
  COMMAND(RESIZE_SRQ, resize_srq, true, true, 0, false)                                    \
  COMMAND(REGISTER, register, true, true, 0, false)                                        \
  COMMAND(REREGISTER, reregister, true, true, 0, true)                                     \
  COMMAND(DEREGISTER, deregister, true, false, 0, true)                                    \
  COMMAND(QUERY_MR, query_mr, true, false, sizeof(struct hca_mrc), false)                  \
  COMMAND(REVOKE, revoke, true, false, 0, false)                                           \
  COMMAND(RESTORE, restore, true, true, 0, true)                                           \
  COMMAND(X_REGISTER, x_register, true, true, sizeof(struct hca_space), false)             \
  COMMAND(X_REREGISTER, x_reregister, true, true, sizeof(struct hca_space), true)          \
  COMMAND(X_DEREGISTER, x_deregister, true, true, sizeof(struct hca_space), true)          \
  COMMAND(X_TEARDOWN, x_teardown, true, false, 0, true)                                    \
  COMMAND(ALLOC_MW, alloc_mw, true, false, 0, false)                                       \
  COMMAND(FREE_MW, free_mw, true, false, 0, false)                                         \
  COMMAND(QUERY_MW, query_mw, true, false, sizeof(struct hca_mrc), false)                  \
  COMMAND(ALLOC_FAST, alloc_fast, true, false, 0, false)                                   \
  COMMAND(ALLOC_PHYSICAL, alloc_physical, true, false, 0, false)                           \
  COMMAND(ALLOC_NULL, alloc_null, true, false, 0, false)                                   \
  COMMAND(REGISTER_INDIRECT, register_indirect, true, true, 0, false)                      \
  COMMAND(FILL_PAGES, fill_pages, true, true, 0, true)                                     \
  COMMAND(ZAP_PAGES, zap_pages, true, true, 0, true)                                       \
  COMMAND(REFUSE_FAULT, refuse_fault, true, true, 0, false)                                \
  COMMAND(RESERVE_LKEY, reserve_lkey, true, false, 0, false)
/* clang-format on */
