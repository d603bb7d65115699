// A description made into something that can run: a machine and a testbench with all their knobs set.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "testbenches/program/description/describe.h"
#include "testbenches/program/description/idle_knobs.h"
#include "testbenches/program/execution/platform.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/program/recording/statistics_series.h"

namespace hcasim {

// Makes the tree of the machine's knobs, with the testbench's under its group; with `series`, also the options of the
// series.
knob_tree make_tree(platform& machine, testbench* bench, series_options* series = nullptr);

class prepared_run {
 public:
  // Sets defaults only. Throws description_error at `where` when there is no such testbench.
  prepared_run(const std::string& name, const place& where, platform_factory factory);

  // Sets the knobs and checks their combinations. Throws input_error.
  void apply(description& d);

  // Returns the settings without effect of a description that was applied.
  [[nodiscard]] std::vector<idle_setting> idle(const description& d) const;
  // Throws description_error: a setting has no effect.
  void refuse_idle(const description& d) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] const std::map<std::string, std::string>& presets() const { return presets_; }
  [[nodiscard]] testbench& bench() const { return *bench_; }
  [[nodiscard]] platform& machine() const { return *machine_; }
  [[nodiscard]] const series_options& series() const { return series_; }
  [[nodiscard]] knob_tree& tree() { return tree_; }
  [[nodiscard]] const knob_tree& tree() const { return tree_; }

 private:
  knob_tree::naming naming_of(named_members& members);
  void check_bench(const description& d);
  void grow_tables(description& d);

  std::string name_;
  std::size_t least_nodes_ = 0;
  std::unique_ptr<testbench> bench_;
  std::unique_ptr<platform> machine_;
  series_options series_;
  knob_tree tree_;
  std::uint64_t seed_ = 1;
  std::map<std::string, std::string> presets_;
};

}  // namespace hcasim
