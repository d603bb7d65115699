/* One command from entry to status. */
#include "firmware/control/state.h"

struct entry {
  uint16_t opcode;
  bool needs_init;
  bool in; /* takes a mailbox; its length is the handler's to check */
  uint32_t out_bytes;
  int (*run)(struct firmware* fw, struct hca_command* c);
};

static const struct entry commands[] = {
    {HCA_CMD_QUERY_DEVICE, false, false, sizeof(struct hca_device_info), fw_query_device},
    {HCA_CMD_INIT, false, true, 0, fw_init},
    {HCA_CMD_CLOSE, true, false, 0, fw_close},
    {HCA_CMD_CREATE_EQ, true, true, 0, fw_create_eq},
    {HCA_CMD_DESTROY_EQ, true, false, 0, fw_destroy_eq},
    {HCA_CMD_CREATE_CQ, true, true, 0, fw_create_cq},
    {HCA_CMD_DESTROY_CQ, true, false, 0, fw_destroy_cq},
    {HCA_CMD_MODIFY_CQ, true, false, 0, fw_modify_cq},
    {HCA_CMD_CREATE_QP, true, true, 0, fw_create_qp},
    {HCA_CMD_DESTROY_QP, true, false, 0, fw_destroy_qp},
    {HCA_CMD_MODIFY_QP, true, true, 0, fw_modify_qp},
    {HCA_CMD_QUERY_QP, true, false, sizeof(struct hca_qpc), fw_query_qp},
    {HCA_CMD_REGISTER, true, true, 0, fw_register},
    {HCA_CMD_REREGISTER, true, true, 0, fw_reregister},
    {HCA_CMD_DEREGISTER, true, false, 0, fw_deregister},
    {HCA_CMD_QUERY_MR, true, false, sizeof(struct hca_mrc), fw_query_mr},
    {HCA_CMD_X_REGISTER, true, true, sizeof(struct hca_space), fw_x_register},
    {HCA_CMD_X_REREGISTER, true, true, sizeof(struct hca_space), fw_x_reregister},
    {HCA_CMD_X_DEREGISTER, true, true, sizeof(struct hca_space), fw_x_deregister},
    {HCA_CMD_X_TEARDOWN, true, false, 0, fw_x_teardown},
};

static int execute(struct firmware* fw, struct hca_command* c) {
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    const struct entry* e = &commands[i];
    if (e->opcode != c->opcode) continue;
    if (fw->fatal) return HCA_MEMORY_FAULT;
    if (e->needs_init && !fw->ready) return HCA_BAD_STATE;
    if (c->out_bytes != e->out_bytes || (!e->in && c->in_bytes != 0)) return HCA_BAD_LENGTH;
    return e->run(fw, c);
  }
  return HCA_BAD_OPCODE;
}

void fw_execute(struct firmware* fw, struct hca_command* command) {
  hal_work(fw->hal, HAL_WORK_COMMAND, 1);
  command->result[0] = 0;
  command->result[1] = 0;
  command->status = HCA_U8((unsigned)execute(fw, command));
}
