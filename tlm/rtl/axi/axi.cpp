#include "tlm/rtl/axi/axi.h"

namespace hcasim::rtl {

axi_address_fields::axi_address_fields(const stream* s) {
  if (!s) return;
  id = s->find("id");
  addr = s->find("addr");
  len = s->find("len");
  size = s->find("size");
  burst = s->find("burst");
  lock = s->find("lock");
  cache = s->find("cache");
  prot = s->find("prot");
  qos = s->find("qos");
  region = s->find("region");
  user = s->find("user");
}

}  // namespace hcasim::rtl
