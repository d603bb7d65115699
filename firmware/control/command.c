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

#define FW_ENTRY(name, handler, needs_init, in, out, locks) {HCA_CMD_##name, needs_init, in, out, fw_##handler, locks},
static const struct entry commands[] = {FW_COMMANDS(FW_ENTRY)};
#undef FW_ENTRY

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

void fw_tidy(struct firmware* fw) {
  fw_lines_give_back(fw);
}
