// my_key_check.sv against the model of key_check. Arguments: --help
#include "rtl/my_keys.h"
#include "testbenches/coverification/lockstep/program.h"

int sc_main(int argc, char** argv) {
  // It takes one check at a time, six cycles at least and as long as its lines are on their way: the others wait.
  const hcasim::lockstep::bounds own{.apart = 200, .mean = 1500, .p99 = 3000, .late = 1, .rate = 10, .wait = 0};
  return hcasim::lockstep::program(argc, argv, "key_check", hcasim::rtl::make_my_keys, own);
}
