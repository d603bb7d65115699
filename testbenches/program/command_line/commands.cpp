#include "testbenches/program/command_line/command.h"

namespace hcasim {

command_list all_commands() {
  command_list all;
  add_listing_commands(all);
  add_run_commands(all);
  add_sweep_command(all);
  add_validate_command(all);
  add_fit_command(all);
  add_show_command(all);
  add_results_command(all);
  add_result_commands(all);
  add_new_unit_command(all);
  add_new_testbench_command(all);
  add_mutate_command(all);
  add_coverage_command(all);
  add_about_commands(all);
  return all;
}

}  // namespace hcasim
