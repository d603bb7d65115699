/* One command from entry to status. */
#include "firmware/control/state.h"

struct entry {
  uint16_t opcode;
  bool needs_init;
  bool in; /* takes a mailbox; its length is the handler's to check */
  uint32_t out_bytes;
  int (*run)(struct firmware* fw, struct hca_command* c);
  bool locks; /* changes the MRC of the key in `object` */
};

static const struct entry commands[] = {
    {HCA_CMD_QUERY_DEVICE, false, false, sizeof(struct hca_device_info), fw_query_device, false},
    {HCA_CMD_INIT, false, true, 0, fw_init, false},
    {HCA_CMD_CLOSE, true, false, 0, fw_close, false},
    {HCA_CMD_CREATE_EQ, true, true, 0, fw_create_eq, false},
    {HCA_CMD_DESTROY_EQ, true, false, 0, fw_destroy_eq, false},
    {HCA_CMD_CREATE_CQ, true, true, 0, fw_create_cq, false},
    {HCA_CMD_DESTROY_CQ, true, false, 0, fw_destroy_cq, false},
    {HCA_CMD_MODIFY_CQ, true, false, 0, fw_modify_cq, false},
    {HCA_CMD_CREATE_QP, true, true, 0, fw_create_qp, false},
    {HCA_CMD_DESTROY_QP, true, false, 0, fw_destroy_qp, false},
    {HCA_CMD_MODIFY_QP, true, true, 0, fw_modify_qp, false},
    {HCA_CMD_QUERY_QP, true, false, sizeof(struct hca_qpc), fw_query_qp, false},
    {HCA_CMD_CREATE_SRQ, true, true, 0, fw_create_srq, false},
    {HCA_CMD_DESTROY_SRQ, true, false, 0, fw_destroy_srq, false},
    {HCA_CMD_MODIFY_SRQ, true, false, 0, fw_modify_srq, false},
    {HCA_CMD_QUERY_SRQ, true, false, sizeof(struct hca_qpc), fw_query_srq, false},
    {HCA_CMD_REGISTER, true, true, 0, fw_register, false},
    {HCA_CMD_REREGISTER, true, true, 0, fw_reregister, true},
    {HCA_CMD_DEREGISTER, true, false, 0, fw_deregister, true},
    {HCA_CMD_QUERY_MR, true, false, sizeof(struct hca_mrc), fw_query_mr, false},
    {HCA_CMD_REVOKE, true, false, 0, fw_revoke, false},
    {HCA_CMD_RESTORE, true, true, 0, fw_restore, true},
    {HCA_CMD_X_REGISTER, true, true, sizeof(struct hca_space), fw_x_register, false},
    {HCA_CMD_X_REREGISTER, true, true, sizeof(struct hca_space), fw_x_reregister, true},
    {HCA_CMD_X_DEREGISTER, true, true, sizeof(struct hca_space), fw_x_deregister, true},
    {HCA_CMD_X_TEARDOWN, true, false, 0, fw_x_teardown, true},
    {HCA_CMD_ALLOC_MW, true, false, 0, fw_alloc_mw, false},
    {HCA_CMD_FREE_MW, true, false, 0, fw_free_mw, false},
    {HCA_CMD_ALLOC_FAST, true, false, 0, fw_alloc_fast, false},
    {HCA_CMD_ALLOC_PHYSICAL, true, false, 0, fw_alloc_physical, false},
    {HCA_CMD_ALLOC_NULL, true, false, 0, fw_alloc_null, false},
    {HCA_CMD_REGISTER_INDIRECT, true, true, 0, fw_register_indirect, false},
    {HCA_CMD_FILL_PAGES, true, true, 0, fw_fill_pages, true},
    {HCA_CMD_ZAP_PAGES, true, true, 0, fw_zap_pages, true},
    {HCA_CMD_REFUSE_FAULT, true, true, 0, fw_refuse_fault, false},
    {HCA_CMD_RESERVE_LKEY, true, false, 0, fw_reserve_lkey, false},
};

static int execute(struct firmware* fw, struct hca_command* c) {
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    const struct entry* e = &commands[i];
    if (e->opcode != c->opcode) continue;
    if (fw->fatal) return HCA_MEMORY_FAULT;
    if (c->function >= fw->limits.functions) return HCA_BAD_PARAMETER;
    fw->function = (uint16_t)(fw->limits.function + c->function);
    if (e->needs_init && !fw->ready) return HCA_BAD_STATE;
    if (c->out_bytes != e->out_bytes || (!e->in && c->in_bytes != 0)) return HCA_BAD_LENGTH;
    if (!e->locks) return e->run(fw, c);
    hal_key_lock(fw->hal, hca_key_index(c->object));
    const int status = e->run(fw, c);
    hal_key_unlock(fw->hal, hca_key_index(c->object));
    return status;
  }
  return HCA_BAD_OPCODE;
}

void fw_execute(struct firmware* fw, struct hca_command* command) {
  hal_work(fw->hal, HAL_WORK_COMMAND, 1);
  command->result[0] = 0;
  command->result[1] = 0;
  command->status = HCA_U8((unsigned)execute(fw, command));
}
