// A verbs program that misuses the interface, or uses its rare parts: hcasim_misuse WHAT. Status 0 = all answers were as
// expected.
#include <functional>
#include <map>
#include <string>

#include "testbenches/verbs_programs/testing/misuse.h"

int main(int argc, char** argv) {
  using namespace misuse;
  const std::map<std::string, void (*)()> what{{"wild", wild},
                                               {"fork", forked},
                                               {"memory", out_of_memory},
                                               {"unmap", unmapped},
                                               {"threads", threads},
                                               {"ends", signalled_ends},
                                               {"version", version},
                                               {"leave", leave},
                                               {"compute", compute},
                                               {"register", register_memory},
                                               {"closed", closed_channel},
                                               {"resize", resize},
                                               {"drained", drained},
                                               {"segments", segments},
                                               {"stamped", stamped},
                                               {"masked", masked},
                                               {"grow", grow},
                                               {"faults", faults},
                                               {"spawn", spawn},
                                               {"killed", killed},
                                               {"clocks", clocks},
                                               {"limits", limits},
                                               {"machine_clocks", machine_clocks},
                                               {"late_reads", late_reads},
                                               {"timers", timer_files},
                                               {"signals", timers_that_signal}};
  if (argc == 4 && std::strcmp(argv[1], "wake") == 0) {
    wake(argv[2], argv[3]);
  } else if (argc == 3 && std::strcmp(argv[1], "spin") == 0) {
    spin(argv[2]);
  } else if (argc == 3 && std::strcmp(argv[1], "spin_long") == 0) {
    spin_long(argv[2]);
  } else if (argc == 3 && std::strncmp(argv[1], "polls", 5) == 0) {
    polls_for(argv[2], std::strcmp(argv[1], "polls_beside") == 0);
  } else if (argc == 3 && std::strcmp(argv[1], "meet") == 0) {
    meet(argv[2]);
  } else if (argc == 2 && what.contains(argv[1])) {
    what.at(argv[1])();
  } else {
    return 2;
  }
  return 0;
}
