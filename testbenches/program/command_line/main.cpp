// The `hcasim` program.
#include <cstdlib>

#include "testbenches/program/command_line/cli.h"
#include "testbenches/program/command_line/system_platform.h"
#include "tlm/base/ending.h"
#include "tlm/base/kernel.h"

int main(int argc, char** argv) {
  ::setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  const hcasim::ending::unfinished run("hcasim");
  return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
  return hcasim::command_line(argc, argv, hcasim::make_system_platform);
}
