// my_key_check.sv against the model of key_check. Arguments: see testbenches/coverification/lockstep/program.h.
#include "rtl/my_keys.h"
#include "testbenches/coverification/lockstep/program.h"

int sc_main(int argc, char** argv) {
  return hcasim::lockstep::program(argc, argv, "key_check", hcasim::rtl::make_my_keys);
}
