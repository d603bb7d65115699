#include "models/protection/judge.h"

namespace hcasim {

verdict judge(const hca_mrc& m, const access_request& a) {
  return judge_by_rules(m, a);
}

mapping mapping_of(const hca_mrc& m, std::uint32_t key) {
  mapping r;
  r.map.index = HCA_TAG_REGION | hca_key_index(rules::is_window(m) ? m.parent : key);
  r.map.null = m.kind == HCA_MRC_NULL;
  r.map.indirect = m.kind == HCA_MRC_INDIRECT;
  r.map.levels = m.kind == HCA_MRC_PHYSICAL || r.map.null || r.map.indirect ? 0 : m.levels;
  r.map.page_shift = m.page_shift;
  r.map.on_demand = (m.flags & HCA_MRC_ON_DEMAND) != 0;
  r.map.table = m.table;
  r.map.table_va = m.table_va;
  r.va_offset = rules::zero_based_window(m) ? m.start : 0;
  return r;
}

}  // namespace hcasim
