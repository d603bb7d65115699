/* Reset, INIT, CLOSE and the answer to QUERY_DEVICE. */
#include "firmware/control/state.h"

static size_t bitmap_bytes(uint32_t bits) {
  return (size_t)((bits + 63) / 64) * 8;
}

size_t fw_size(void) {
  return sizeof(struct firmware);
}

static size_t table_pages(const struct fw_limits* l) {
  return (size_t)((l->max_table_bytes + FW_PAGE - 1) / FW_PAGE);
}

size_t fw_memory_needed(const struct fw_limits* l) {
  size_t bytes = bitmap_bytes(1U << l->log_qps) + bitmap_bytes(1U << l->log_cqs) + bitmap_bytes(1U << l->log_mrs);
  bytes += bitmap_bytes(l->max_eqs) + bitmap_bytes(l->max_extent_lines);
  bytes += table_pages(l) * sizeof(struct fw_icm_page);
  bytes += 2 * ((size_t)1 << l->log_qps) * sizeof(uint32_t);
  bytes += ((size_t)1 << l->log_cqs) * sizeof(uint32_t) + fw_align_up(l->max_eqs * sizeof(uint32_t), 8);
  bytes += l->max_extent_lines * (sizeof(union fw_line) + sizeof(struct fw_line_record));
  bytes += l->max_spaces * sizeof(struct fw_space) + l->max_segments * sizeof(struct fw_segment);
  bytes += fw_align_up((fw_space_chains(l->max_spaces) + fw_space_chains(l->max_segments)) * sizeof(uint32_t), 8) + 8;
  return bytes;
}

static void* carve(unsigned char** arena, size_t bytes) {
  void* p = *arena;
  *arena += fw_align_up(bytes, 8);
  return p;
}

void fw_reset(struct firmware* fw, struct hal* hal, const struct fw_limits* limits, void* arena) {
  unsigned char* at = arena;
  memset(fw, 0, sizeof *fw);
  fw->hal = hal;
  fw->limits = *limits;
  fw->drawn = limits->key_seed;
  fw->qps.words = carve(&at, bitmap_bytes(1U << limits->log_qps));
  fw->cqs.words = carve(&at, bitmap_bytes(1U << limits->log_cqs));
  fw->mrs.words = carve(&at, bitmap_bytes(1U << limits->log_mrs));
  fw->eqs.words = carve(&at, bitmap_bytes(limits->max_eqs));
  fw->lines.words = carve(&at, bitmap_bytes(limits->max_extent_lines));
  fw->line = carve(&at, limits->max_extent_lines * sizeof(union fw_line));
  fw->line_record = carve(&at, limits->max_extent_lines * sizeof(struct fw_line_record));
  fw->icm.page = carve(&at, table_pages(limits) * sizeof(struct fw_icm_page));
  fw->cq_users = carve(&at, ((size_t)1 << limits->log_cqs) * sizeof(uint32_t));
  fw->srq_users = carve(&at, ((size_t)1 << limits->log_qps) * sizeof(uint32_t));
  fw->eq_users = carve(&at, limits->max_eqs * sizeof(uint32_t));
  fw->qp_spaces = carve(&at, ((size_t)1 << limits->log_qps) * sizeof(uint32_t));
  fw->spaces = carve(&at, limits->max_spaces * sizeof(struct fw_space));
  fw->space_chains = carve(&at, fw_space_chains(limits->max_spaces) * sizeof(uint32_t));
  fw->handle_chains = carve(&at, fw_space_chains(limits->max_segments) * sizeof(uint32_t));
  fw->segments = carve(&at, limits->max_segments * sizeof(struct fw_segment));
  fw_spaces_forget(fw);
  fw_segments_forget(fw);
  fw_lines_forget(fw);
}

int fw_query_device(struct firmware* fw, struct hca_command* c) {
  const struct hca_device_info info = {
      .log_max_qps = fw->limits.log_qps,
      .log_max_cqs = fw->limits.log_cqs,
      .log_max_mrs = fw->limits.log_mrs,
      .max_wqe_blocks = HCA_WQE_MAX_BLOCKS,
      .max_inline = fw->limits.max_inline,
      .max_sge = fw->limits.max_sge,
      .max_read_depth = fw->limits.max_read_depth,
      .page_shifts = fw->limits.page_shifts,
      .blueflame_bytes = fw->limits.blueflame_bytes,
      .max_table_levels = fw->limits.max_levels,
      .queue_levels = fw->limits.queue_levels,
      .port_lid = fw->limits.lid,
      .second_lid = fw->limits.second_lid,
      .port_mtu_shift = fw->limits.mtu_shift,
      .firmware_version = FW_VERSION,
      .functions = fw->limits.functions,
      .device_memory = fw->limits.device_memory,
      .flags = ((fw->limits.flags & FW_ON_DEMAND) != 0 ? HCA_DEVICE_ON_DEMAND : 0) |
               ((fw->limits.flags & FW_ICM_MAP) != 0 ? HCA_DEVICE_ICM_MAP : 0),
  };
  return fw_write_out(fw, c, &info, sizeof info);
}

static bool check_map(const struct firmware* fw, const struct hca_init* a) {
  if ((fw->limits.flags & FW_ICM_MAP) == 0) return a->map_base == 0;
  const uint64_t bases = a->qpc_base | a->cqc_base | a->mrc_base | a->table_base | a->extent_base;
  return a->map_base != 0 && a->map_base % 8 == 0 && bases % (1U << HCA_ICM_PAGE_SHIFT) == 0;
}

static int check_areas(const struct firmware* fw, const struct hca_init* a) {
  if (a->reserved0 != 0 || !check_map(fw, a)) return HCA_BAD_PARAMETER;
  if (a->log_qps < 1 || a->log_cqs < 1 || a->log_mrs < 1) return HCA_BAD_PARAMETER;
  if (a->log_qps > fw->limits.log_qps || a->log_cqs > fw->limits.log_cqs || a->log_mrs > fw->limits.log_mrs) {
    return HCA_BAD_PARAMETER;
  }
  if (a->table_bytes > fw->limits.max_table_bytes || a->extent_lines > fw->limits.max_extent_lines) return HCA_BAD_PARAMETER;
  const uint64_t low_bits = a->cqc_base | a->mrc_base | a->table_base | a->table_bytes | a->extent_base;
  if (low_bits % 64 != 0 || a->qpc_base % 256 != 0) return HCA_BAD_PARAMETER;
  return a->table_base + a->table_bytes < a->table_base ? HCA_BAD_PARAMETER : HCA_OK;
}

static void set_areas(struct firmware* fw) {
  const struct hca_init* a = &fw->area;
  hal_set_map(fw->hal, fw->ready ? a->map_base : 0);
  hal_set_area(fw->hal, HAL_CACHE_QPC, a->qpc_base, fw->ready ? 1ULL << a->log_qps : 0);
  hal_set_area(fw->hal, HAL_CACHE_CQC, a->cqc_base, fw->ready ? 1ULL << a->log_cqs : 0);
  hal_set_area(fw->hal, HAL_CACHE_MRC, a->mrc_base, fw->ready ? 1ULL << a->log_mrs : 0);
  hal_set_area(fw->hal, HAL_CACHE_EXTENT, a->extent_base, fw->ready ? a->extent_lines : 0);
  hal_set_tables(fw->hal, a->table_base, fw->ready ? a->table_bytes : 0);
}

/* Software hands the QPC, CQC and MRC areas over filled with zeros: no QP, no CQ, every key invalid. */
int fw_init(struct firmware* fw, struct hca_command* c) {
  struct hca_init a;
  if (fw->ready) return HCA_BAD_STATE;
  int status = fw_read_in(fw, c, &a, sizeof a);
  if (status == HCA_OK) status = check_areas(fw, &a);
  if (status != HCA_OK) return status;
  fw->area = a;
  fw_bitmap_init(&fw->qps, 1U << a.log_qps, 2);
  fw_bitmap_init(&fw->cqs, 1U << a.log_cqs, 1);
  fw_bitmap_init(&fw->mrs, 1U << a.log_mrs, 1);
  fw_bitmap_init(&fw->eqs, fw->limits.max_eqs, 0);
  fw_bitmap_init(&fw->lines, a.extent_lines, 0);
  memset(fw->groups, 0, sizeof fw->groups);
  fw_icm_init(fw, a.table_base, a.table_bytes);
  fw_spaces_forget(fw);
  fw_segments_forget(fw);
  fw_lines_forget(fw);
  fw->ready = true;
  set_areas(fw);
  return HCA_OK;
}

/* Refused while an object lives. */
int fw_close(struct firmware* fw, struct hca_command* c) {
  (void)c;
  if ((fw->qps.used | fw->cqs.used | fw->eqs.used | fw->mrs.used) != 0) return HCA_BUSY;
  fw->ready = false;
  set_areas(fw);
  return HCA_OK;
}

static void each_used(struct firmware* fw, const struct fw_bitmap* b, uint32_t first, void (*end)(struct firmware*, uint32_t)) {
  for (uint32_t i = first; i < b->bits; i++) {
    if (i % 64 == 0 && b->words[i / 64] == 0) {
      i += 63;
    } else if (fw_bitmap_has(b, i)) {
      end(fw, i);
    }
  }
}

static void end_qp(struct firmware* fw, uint32_t qpn) {
  hal_qp_control(fw->hal, qpn, HAL_QP_STOP);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_SQ | qpn, 0, FW_ALL);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_RQ | qpn, 0, FW_ALL);
}

static void end_cq(struct firmware* fw, uint32_t cqn) {
  hal_cq_page(fw->hal, cqn, HAL_NO_PAGE);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_CQ | cqn, 0, FW_ALL);
}

static void end_eq(struct firmware* fw, uint32_t eqn) {
  hal_set_eq(fw->hal, eqn, NULL);
}

static void end_key(struct firmware* fw, uint32_t index) {
  hal_key_drain(fw->hal, index);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_REGION | index, 0, FW_ALL);
}

/* Ends all live objects without ICM: no event is raised, and nothing is written back. */
void fw_quiesce(struct firmware* fw) {
  if (!fw->ready) return;
  for (uint32_t hash = 0; hash < HCA_GROUP_HASHES; hash++) {
    if (fw->groups[hash] != 0) hal_group(fw->hal, hash, 0);
  }
  each_used(fw, &fw->eqs, 0, end_eq);
  each_used(fw, &fw->qps, 2, end_qp);
  each_used(fw, &fw->cqs, 1, end_cq);
  each_used(fw, &fw->mrs, 1, end_key);
  fw->ready = false;
  set_areas(fw);
}

void fw_query_usage(const struct firmware* fw, struct fw_usage* u) {
  const struct fw_usage now = {
      .qps = fw->qps.used,
      .cqs = fw->cqs.used,
      .eqs = fw->eqs.used,
      .mrs = fw->mrs.used,
      .spaces = fw->live_spaces,
      .segments = fw->limits.max_segments - fw->free_segment_count,
      .extent_lines = fw->lines.used,
      .table_bytes = fw->icm.used * 64,
  };
  *u = now;
}
