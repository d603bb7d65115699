/* Lines of the extent area, and a copy of each line in a tree. A change makes lines beside the ones in use. A line out of the
 * tree is free again when no access reads it any more. */
#include "firmware/control/state.h"

bool fw_line_make(struct firmware* fw, uint32_t* line) {
  if (fw->spare_line != FW_NO_LINK) {
    *line = fw->spare_line;
    fw->spare_line = fw->line[*line].node.child[0];
  } else {
    if (!fw_bitmap_take(fw, &fw->lines, line)) return false;
    *(fw->last_made != FW_NO_LINK ? &fw->line_record[fw->last_made].next : &fw->first_made) = *line;
    fw->line_record[*line].next = FW_NO_LINK;
    fw->last_made = *line;
  }
  fw->line_record[*line].state = FW_LINE_MADE;
  hal_work(fw->hal, HAL_WORK_CHUNK, 1);
  return true;
}

void fw_line_leave(struct firmware* fw, uint32_t line) {
  struct fw_line_record* const r = &fw->line_record[line];
  if (r->state == FW_LINE_IN_USE) {
    r->next = fw->left_lines;
    fw->left_lines = line;
  } else {
    r->state = FW_LINE_SPARE;
    fw->line[line].node.child[0] = fw->spare_line;
    fw->spare_line = line;
  }
}

/* Consecutive lines are written together. */
int fw_lines_write(struct firmware* fw) {
  enum { AT_ONCE = 64 };
  for (uint32_t line = fw->first_made; line != FW_NO_LINK;) {
    const uint32_t first = line;
    uint32_t lines = 0;
    for (; line == first + lines && lines < AT_ONCE && fw->line_record[line].state == FW_LINE_MADE; lines++) {
      line = fw->line_record[line].next;
    }
    if (lines == 0) {
      line = fw->line_record[line].next;
      continue;
    }
    const int status = fw_write(fw, fw->area.extent_base + first * 64ULL, &fw->line[first], lines * 64);
    if (status != HCA_OK) return status;
  }
  return HCA_OK;
}

static void forget_change(struct firmware* fw) {
  fw->first_made = FW_NO_LINK;
  fw->last_made = FW_NO_LINK;
  fw->spare_line = FW_NO_LINK;
  fw->left_lines = FW_NO_LINK;
}

void fw_lines_forget(struct firmware* fw) {
  forget_change(fw);
  fw->unread_lines = FW_NO_LINK;
}

void fw_lines_undo(struct firmware* fw) {
  for (uint32_t line = fw->first_made; line != FW_NO_LINK; line = fw->line_record[line].next) fw_bitmap_put(&fw->lines, line);
  forget_change(fw);
}

/* Lines that left are given back when the command has been answered. */
void fw_lines_change_over(struct firmware* fw) {
  for (uint32_t line = fw->first_made; line != FW_NO_LINK; line = fw->line_record[line].next) {
    if (fw->line_record[line].state == FW_LINE_SPARE) fw_bitmap_put(&fw->lines, line);
    fw->line_record[line].state = FW_LINE_IN_USE;
  }
  for (uint32_t line = fw->left_lines; line != FW_NO_LINK;) {
    const uint32_t next = fw->line_record[line].next;
    fw->line_record[line].next = fw->unread_lines;
    fw->unread_lines = line;
    line = next;
  }
  forget_change(fw);
}

void fw_lines_give_back(struct firmware* fw) {
  for (uint32_t line = fw->unread_lines; line != FW_NO_LINK; line = fw->line_record[line].next) {
    hal_cache_drop(fw->hal, HAL_CACHE_EXTENT, line);
    fw_bitmap_put(&fw->lines, line);
  }
  fw->unread_lines = FW_NO_LINK;
}

void fw_lines_free(struct firmware* fw, uint32_t line, uint32_t lines, bool published) {
  for (uint32_t i = line; i - line < lines && fw_bitmap_has(&fw->lines, i); i++) {
    if (published) hal_cache_drop(fw->hal, HAL_CACHE_EXTENT, i);
    fw_bitmap_put(&fw->lines, i);
  }
}
