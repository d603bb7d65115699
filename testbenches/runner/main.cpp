// The `hcasim` program.
#include <cstdlib>

#include "models/base/kernel.h"
#include "testbenches/runner/cli.h"
#include "testbenches/runner/system_platform.h"

int main(int argc, char** argv) {
  ::setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
  return hcasim::command_line(argc, argv, hcasim::make_system_platform);
}
