// Lists the requests that wait in key_check.
#include "models/adapter/key_check/key_check.h"

namespace hcasim {

void key_check::list_waiting(waiting_list& list) const {
  checks_.each_in_use([&](const check& c) {
    list.add({.kind = "key check",
              .text = std::string("key ") + hex_text(c.request->key),
              .since = c.arrived,
              .at = spot("checks"),
              .waits_for = {mrc.target(), extent.target()}});
  });
  drains_.each_in_use([&](const drain& d) {
    list.add({.kind = "invalidation",
              .text = std::string("key index ") + std::to_string(d.index) + ", older accesses are under way",
              .since = d.arrived,
              .at = spot("drains"),
              .waits_for = {nearest("requester"), nearest("responder")}});
  });
}

}  // namespace hcasim
