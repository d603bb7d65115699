// A run's description: YAML files, presets and command-line settings, in layers. Later layers win:
//
//   defaults of the code and of the testbench
//   device presets          (`preset: NAME` for all nodes, `node1: {preset: NAME}` for one; the last one named is taken)
//                           keys as within a node; what it says of the links and the switch stands under `system:`
//   included files, then the file itself; within a file keys with wildcards (`node*:`) before exact ones
//   the command line, in order
//
// Keys mirror the knob tree, nested or dotted. At the top level `testbench`, `seed`, `preset`, `include` and `description`
// (free text) are the runner's own. Every key must be used; all errors are description_error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/knob_tree.h"

namespace YAML {  // NOLINT(readability-identifier-naming): the library's
class Node;
}

namespace hcasim {

// Folders with presets and system files, searched in order for NAME.yaml.
struct search_path {
  std::vector<std::filesystem::path> folders;

  // Returns $HCASIM_PRESETS (a colon-separated list), then the presets and systems that the program brings along.
  static search_path standard();
  [[nodiscard]] std::vector<std::string> names() const;
  // Suggests the nearest name; names the searched folders when none of them exists.
  [[nodiscard]] std::string nearest(const std::string& name) const;
  // Finds a file. A name is searched for; a path (with '/' or ending in .yaml or .yml) is taken relative to `base`.
  [[nodiscard]] std::optional<std::filesystem::path> find(const std::string& name, const std::filesystem::path& base) const;
};

// Returns the one document of a YAML file; null = the file is empty. Refuses files that are no description (a folder, binary,
// several documents). `mentioned`: the place where its name was written.
YAML::Node read_yaml(const std::filesystem::path& file, const place* mentioned = nullptr);

class description {
 public:
  explicit description(search_path search) : search_(std::move(search)) {}

  void read_file(const std::filesystem::path& file);
  // Reads YAML text as if it were the content of `name`.
  void read_text(const std::string& text, const std::string& name);
  // Reads a part of a larger file `name`: a description of its own (a study's `base`).
  void read_node(const YAML::Node& node, const std::filesystem::path& name);
  // Sets `path=value` of the command line; `option`: the user's spelling for messages, `prefix` goes in front of the path.
  void set_argument(const std::string& assignment, const std::string& option = "--set", const std::string& prefix = "");
  void set(const std::string& path, const std::string& text, const place& where);

  [[nodiscard]] const std::optional<std::string>& testbench() const { return testbench_; }
  [[nodiscard]] const place& testbench_place() const { return testbench_place_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  // Sets the knobs. The tree is rebuilt when a top-level knob changes which others there are.
  void apply(knob_tree& tree);
  // Returns where the knob at `path` was set last, or the nearest group around it; an empty place = nowhere.
  [[nodiscard]] place origin(std::string path) const;
  // Calls `f` for each value that files and command line set. Resolved descriptions set every value, and do not count.
  void each_setting(const std::function<void(const std::string& pattern, const place& where)>& f) const;
  // Returns the preset of each node; valid after apply().
  [[nodiscard]] const std::map<std::string, std::string>& presets() const { return presets_; }

 private:
  struct item {
    bool group;  // a map was written here; otherwise a value
    std::string pattern;
    std::string text;
    place where;
  };
  struct layer {
    std::vector<item> presets;  // pattern: the nodes; text: the preset's name
    std::vector<item> items;
    bool resolved = false;
  };
  struct file_reader;

  void take(layer& own, item i, const std::filesystem::path& base, int depth);
  // Appends the file's layers to `out`: first the layers of included files, then its own.
  void load(std::vector<layer>& out, const std::filesystem::path& file, const place* mentioned, bool top_level, int depth);
  void load_text(std::vector<layer>& out, const std::string& text, const std::string& name, const std::filesystem::path& base,
                 bool top_level, int depth);
  void load_node(std::vector<layer>& out, const YAML::Node& node, const std::string& name, const std::filesystem::path& base,
                 bool top_level, int depth);
  [[nodiscard]] std::filesystem::path locate(const item& i, const std::filesystem::path& base, std::string_view what) const;

  void name_members(knob_tree& tree) const;
  void set_shape(knob_tree& tree) const;
  void apply_presets(knob_tree& tree);
  static void apply_system_items(knob_tree& tree, std::vector<item> items);
  static void apply_items(knob_tree& tree, const std::vector<item>& items, const std::string& prefix);

  search_path search_;
  std::vector<layer> files_;
  layer arguments_;
  std::optional<std::string> testbench_;
  place testbench_place_;
  std::uint64_t seed_ = 1;
  std::map<std::string, std::string> presets_;
};

}  // namespace hcasim
