#include "models/adapter/protection/judge.h"

namespace hcasim {

verdict judge(const hca_mrc& m, const access_request& a) {
  return judge_by_rules(m, a);
}

}  // namespace hcasim
