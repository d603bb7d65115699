// Every knob of a machine and a testbench by its path, `node0.hca.mrc_cache.ways`: what a description sets, what `hcasim
// params` lists and what the resolved description holds. Built by visiting `T::knobs(knob_visitor&)`; the values stay where
// they are.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/program/description/errors.h"
#include "tlm/base/knobs.h"

namespace hcasim {

class knob_tree {
 public:
  using visit_function = std::function<void(knob_visitor&)>;

  struct leaf {
    std::string path;
    knob_kind kind;
    knob::target value;
    double min;
    double max;
    std::string help;
    std::vector<std::string> choices;

    // Returns the value as in a description, with its unit.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string range() const;  // "1 to 64", "true or false", "lru, random"; empty for a text
    // Throws quantity_error.
    void assign(std::string_view text) const;
  };
  struct node {
    std::string name;
    std::string help;
    int leaf = -1;  // index into leaves(); -1 = a group
    std::vector<std::size_t> children;
  };

  // Members that the description names, such as the flows of a traffic. Paths are whole.
  struct naming {
    // Makes the member at `path`, which a file of the description names; false = no group there has such members.
    std::function<bool(std::string_view path)> make = [](std::string_view) { return false; };
    // Returns whether the knob says how many nodes there are.
    std::function<bool(std::string_view path)> tells_nodes = [](std::string_view) { return false; };
    // Called when all members are there, and before knobs of nodes are set.
    std::function<void()> complete = [] {};
  };

  explicit knob_tree(visit_function visit);

  void set_naming(naming n) { naming_ = std::move(n); }
  [[nodiscard]] const naming& names() const { return naming_; }

  // Visits again: after a knob that changes which knobs there are (the number of nodes).
  void rebuild();

  // Sets every knob that `pattern` matches, segment by segment (`node*.hca.mrc_cache.ways`). Throws description_error: unknown
  // key (with the nearest valid one), a group where a value is expected, wrong unit, out of range.
  void set(std::string_view pattern, std::string_view text, const place& where);
  // Throws description_error unless `pattern` names at least one group.
  void expect_group(std::string_view pattern, const place& where) const;

  [[nodiscard]] const std::vector<leaf>& leaves() const { return leaves_; }
  [[nodiscard]] const leaf* find(std::string_view path) const;
  // Returns the first knob that `pattern` matches. Throws description_error like set().
  [[nodiscard]] const leaf& first(std::string_view pattern, const place& where) const;
  [[nodiscard]] const node& root() const { return nodes_[0]; }
  [[nodiscard]] const node& at(std::size_t index) const { return nodes_[index]; }

 private:
  class builder;

  [[nodiscard]] std::vector<std::size_t> match(std::string_view pattern, bool group, const place& where) const;
  [[nodiscard]] std::vector<std::string> child_names(std::size_t index) const;
  [[nodiscard]] std::string group_with(std::string_view key, std::size_t index) const;
  [[nodiscard]] std::string only_path_ending_in(std::string_view pattern) const;

  visit_function visit_;
  naming naming_;
  std::vector<node> nodes_;
  std::vector<leaf> leaves_;
  std::vector<std::size_t> by_path_;  // the leaves, for find()
};

}  // namespace hcasim
