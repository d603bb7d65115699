#include "testbenches/program/description/describe.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <yaml-cpp/yaml.h>

#include "testbenches/program/description/merge_keys.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/description/resolved.h"
#include "testbenches/program/description/shared_file.h"
#include "testbenches/program/description/system_errors.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

constexpr int max_includes = 8;
constexpr int max_depth = 24;
constexpr std::size_t max_items = 100'000;  // aliases can multiply a small file
constexpr std::uintmax_t max_file = 4 << 20;

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

place place_of(const YAML::Mark& m, const std::string& file) {
  if (m.is_null()) return {file, 0, 0};
  return {file, m.line + 1, m.column + 1};
}

std::string read_all(const fs::path& file, const place* mentioned) {
  const auto refuse = [&](const std::string& why) {
    const std::string text = fmt::format("cannot read '{}': {}", file.string(), why);
    throw description_error(mentioned ? *mentioned : place{file.string(), 0, 0}, "", text);
  };
  const auto fail = [&](std::string_view why, std::string_view mend) { refuse(fmt::format("{}; {}", why, mend)); };
  std::error_code ec;
  if (fs::is_directory(file, ec)) fail("it is a folder", "name a YAML file");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(cause(errno, "check the path and its permissions"));
  const auto size = fs::file_size(file, ec);
  if (!ec && size > max_file) fail("it is larger than 4 MiB", "a description is a small YAML file");
  std::string content(max_file + 1, '\0');  // a device has no size, and may have no end
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad() || content.size() > max_file) fail("it is not an ordinary file", "name a YAML file");
  if (content.starts_with("\xff\xfe") || content.starts_with("\xfe\xff")) fail("it is UTF-16", "save it as UTF-8");
  if (content.find('\0') != std::string::npos) fail("it is not a text file", "name a YAML file");
  const auto control = std::find_if(content.begin(), content.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
  if (control != content.end()) {
    const auto line = 1 + std::count(content.begin(), control, '\n');
    fail(fmt::format("line {} has the byte 0x{:02x}", line, static_cast<unsigned char>(*control)),
         "text holds none: remove it");
  }
  return content;
}

}  // namespace

// The keys that take a list: of names, and of faults.
constexpr const char* list_key = "statistics.series";
constexpr const char* faults_key = "faults";
constexpr std::string_view fault_keys[] = {"at", "every", "where", "what", "count", "length"};

// Flattens a YAML document into items, parents before their children.
struct description::file_reader {
  description& owner;
  std::vector<layer>& out;
  std::string name;
  fs::path base;
  bool top_level;
  int depth;
  layer own{};
  std::map<std::string, place> places{};
  std::size_t items = 0;

  void map(const YAML::Node& node, const std::string& prefix, int level) {
    for (const auto& entry : node) {
      const place where = place_of(entry.first.Mark(), name);
      if (!entry.first.IsScalar() || entry.first.Scalar().empty()) {
        throw description_error(where, prefix, "a key must be a name; write 'name: value'");
      }
      const std::string path = prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
      if (const auto earlier = places.find(path); earlier != places.end()) {
        throw description_error(where, path,
                                fmt::format("this key was given before, at line {}; remove one of them", earlier->second.line));
      }
      places.emplace(path, where);
      value(entry.second, path, where, level);
    }
  }

  void value(const YAML::Node& node, const std::string& path, const place& key, int level) {
    if (++items > max_items || level > max_depth) {
      throw description_error(key, path, "the description is nested too deeply or too large; remove the aliases (*name)");
    }
    switch (node.Type()) {
      case YAML::NodeType::Map:
        put({true, path, "", key});
        map(node, path, level + 1);
        return;
      case YAML::NodeType::Scalar:
        put({false, path, node.Scalar(), place_of(node.Mark(), name)});
        return;
      case YAML::NodeType::Sequence:
        if (path == list_key) return put({false, path, joined(node), place_of(node.Mark(), name)});
        if (path == faults_key) return put({false, path, joined_faults(node), place_of(node.Mark(), name)});
        throw description_error(place_of(node.Mark(), name), path, "a list is not expected here; write one value");
      default:
        throw description_error(key, path, "the key has no value; write one behind the colon or remove the key");
    }
  }

  // Joins a list as on the command line: "a, b".
  std::string joined(const YAML::Node& list) const {
    std::string text;
    for (const YAML::Node& entry : list) {
      if (!entry.IsScalar())
        throw description_error(place_of(entry.Mark(), name), list_key, "a list of names is expected here");
      text += (text.empty() ? "" : ", ") + entry.Scalar();
    }
    return text;
  }

  // Joins faults as on the command line: "at: 3 us, where: node0.pcie, what: poisoned_read; at: ...".
  std::string joined_faults(const YAML::Node& list) const {
    std::string text;
    for (const YAML::Node& entry : list) {
      if (!entry.IsMap()) {
        throw description_error(place_of(entry.Mark(), name), faults_key,
                                "a fault is expected here; write {at: 3 us, where: node0.pcie, what: poisoned_read}");
      }
      std::string one;
      for (const auto& pair : entry) {
        const place where = place_of(pair.first.Mark(), name);
        const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : std::string();
        if (std::find(std::begin(fault_keys), std::end(fault_keys), key) == std::end(fault_keys)) {
          throw description_error(where, faults_key,
                                  fmt::format("a fault has no '{}'; it has at, every, where, what, count and length", key));
        }
        if (!pair.second.IsScalar()) throw description_error(where, faults_key, "one value is expected here");
        one += (one.empty() ? "" : ", ") + key + ": " + pair.second.Scalar();
      }
      text += (text.empty() ? "" : "; ") + one;
    }
    return text;
  }

  void put(item i) {
    if (i.pattern == "include" && !i.group) {
      owner.load(out, owner.locate(i, base, top_level ? "system" : "preset"), &i.where, top_level, depth + 1);
    } else if (top_level) {
      owner.take(own, std::move(i), base, depth);
    } else if (i.pattern != "description") {
      own.items.push_back(std::move(i));
    }
  }
};

search_path search_path::standard() {
  search_path s;
  if (const char* env = std::getenv("HCASIM_PRESETS")) {
    for (const std::string& f : split(env, ':')) {
      if (!f.empty()) s.folders.emplace_back(f);
    }
  }
  for (const fs::path& folder : shared_folders()) {
    for (const char* f : {"presets", "systems"}) s.folders.push_back(folder / f);
  }
  return s;
}

std::vector<std::string> search_path::names() const {
  std::set<std::string> found;
  for (const fs::path& folder : folders) {
    std::error_code ec;
    for (const auto& e : fs::directory_iterator(folder, ec)) {
      if (e.path().extension() == ".yaml") found.insert(e.path().stem().string());
    }
  }
  return {found.begin(), found.end()};
}

std::string search_path::nearest(const std::string& name) const {
  const std::vector<std::string> known = names();
  if (!known.empty()) return suggestion(name, known, "known names");
  std::string looked;
  for (const fs::path& f : folders) looked += (looked.empty() ? "" : ", ") + f.string();
  return fmt::format("{} is there: run hcasim where it was built or installed, or name one in HCASIM_PRESETS",
                     looked.empty() ? "no share/hcasim beside the program" : "none of the folders " + looked);
}

std::optional<fs::path> search_path::find(const std::string& name, const fs::path& base) const {
  std::error_code ec;
  if (is_path(name)) {
    const fs::path p = base / name;
    if (fs::exists(p, ec)) return p;
    return std::nullopt;
  }
  for (const fs::path& folder : folders) {
    fs::path p = folder / (name + ".yaml");
    if (fs::exists(p, ec)) return p;
  }
  return std::nullopt;
}

fs::path description::locate(const item& i, const fs::path& base, std::string_view what) const {
  if (const auto found = search_.find(i.text, base)) return *found;
  if (is_path(i.text)) {
    throw description_error(i.where, i.pattern, fmt::format("there is no file '{}'; check the path", (base / i.text).string()));
  }
  throw description_error(i.where, i.pattern, fmt::format("there is no {} '{}'; {}", what, i.text, search_.nearest(i.text)));
}

void description::take(layer& own, item i, const fs::path& base, int depth) {
  const bool node_preset = i.pattern.ends_with(".preset") && std::count(i.pattern.begin(), i.pattern.end(), '.') == 1;
  const bool own_key = i.pattern == "testbench" || i.pattern == "seed" || i.pattern == "include" ||
                       i.pattern == "description" || i.pattern == "preset" || node_preset;
  if (!own_key) {
    own.items.push_back(std::move(i));
    return;
  }
  if (i.group) throw description_error(i.where, i.pattern, "one value is expected here, not a group of settings");
  if (i.pattern == "testbench") {
    testbench_ = i.text;
    testbench_place_ = i.where;
  } else if (i.pattern == "seed") {
    try {
      const long double v = parse_quantity(knob_kind::count, i.text);
      if (v < 0 || v > static_cast<long double>(std::numeric_limits<std::uint64_t>::max())) {
        throw quantity_error(i.text + " is out of range; allowed is 0 to 18446744073709551615");
      }
      seed_ = static_cast<std::uint64_t>(v);
    } catch (const quantity_error& e) {
      throw description_error(i.where, i.pattern, e.what());
    }
  } else if (i.pattern == "include") {
    load(files_, locate(i, base, "system"), &i.where, true, depth + 1);
  } else if (i.pattern != "description") {
    i.pattern = node_preset ? i.pattern.substr(0, i.pattern.size() - 7) : "node*";
    if (is_path(i.text)) i.text = (base / i.text).string();  // a relative path means: relative to this file
    own.presets.push_back(std::move(i));
  }
}

namespace {

YAML::Node parse(const std::string& text, const std::string& name) {
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(text);
  } catch (const YAML::Exception& e) {
    throw description_error(place_of(e.mark, name), "",
                            fmt::format("this is not well-formed YAML ({}); check indentation (spaces, no tabs), colons and "
                                        "quotes here",
                                        e.msg));
  }
  if (documents.size() > 1) {
    throw description_error(place_of(documents[1].Mark(), name), "",
                            "a second document begins here; a description is one document");
  }
  if (documents.empty()) return {};
  resolve_merge_keys(documents[0], name);
  return documents[0];
}

}  // namespace

void description::load(std::vector<layer>& out, const fs::path& file, const place* mentioned, bool top_level, int depth) {
  if (depth > max_includes) {
    throw description_error(*mentioned, "include", "files include each other in a circle or too deeply; remove this line");
  }
  load_text(out, read_all(file, mentioned), file.string(), file.parent_path(), top_level, depth);
}

void description::load_text(std::vector<layer>& out, const std::string& text, const std::string& name, const fs::path& base,
                            bool top_level, int depth) {
  load_node(out, parse(text, name), name, base, top_level, depth);
  if (text.starts_with(resolved_mark) && !out.empty()) out.back().resolved = true;
}

void description::load_node(std::vector<layer>& out, const YAML::Node& node, const std::string& name, const fs::path& base,
                            bool top_level, int depth) {
  if (!node.IsDefined() || node.IsNull()) return;
  if (!node.IsMap()) {
    throw description_error(place_of(node.Mark(), name), "", "a description is made of 'name: value' lines");
  }
  file_reader reader{*this, out, name, base, top_level, depth};
  reader.map(node, "", 0);
  for (std::vector<item>* v : {&reader.own.presets, &reader.own.items}) {  // exact keys win over wildcards
    std::stable_partition(v->begin(), v->end(), [](const item& i) { return has_wildcard(i.pattern); });
  }
  out.push_back(std::move(reader.own));
}

YAML::Node read_yaml(const fs::path& file, const place* mentioned) {
  return parse(read_all(file, mentioned), file.string());
}

void description::read_node(const YAML::Node& node, const fs::path& name) {
  load_node(files_, node, name.string(), name.parent_path(), true, 0);
}

void description::read_file(const fs::path& file) {
  load(files_, file, nullptr, true, 0);
}

void description::read_text(const std::string& text, const std::string& name) {
  load_text(files_, text, name, fs::path(name).parent_path(), true, 0);
}

void description::set_argument(const std::string& assignment, const std::string& option, const std::string& prefix) {
  const place where{option + " " + assignment, 0, 0};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw description_error(where, "", fmt::format("this is not a setting; write {} NAME=VALUE", option));
  }
  set(prefix + assignment.substr(0, equals), assignment.substr(equals + 1), where);
}

void description::set(const std::string& path, const std::string& text, const place& where) {
  take(arguments_, {false, path, text, where}, "", 0);
}

void description::apply(knob_tree& tree) {
  name_members(tree);
  set_shape(tree);
  apply_presets(tree);
  for (const layer& l : files_) apply_items(tree, l.items, "");
  apply_items(tree, arguments_.items, "");
}

// The names in the files say which knobs there are; some of these knobs say how many nodes there are.
void description::name_members(knob_tree& tree) const {
  const knob_tree::naming& names = tree.names();
  for (const layer& l : files_) {
    for (const item& i : l.items) {
      if (has_wildcard(i.pattern)) continue;
      try {
        if (names.make(i.pattern)) tree.rebuild();
      } catch (const quantity_error& e) {
        throw description_error(i.where, i.pattern, e.what());
      }
    }
  }
  const auto count_nodes = [&](const layer& l) {
    for (const item& i : l.items) {
      if (!i.group && tree.find(i.pattern) && names.tells_nodes(i.pattern)) tree.set(i.pattern, i.text, i.where);
    }
  };
  for (const layer& l : files_) count_nodes(l);
  count_nodes(arguments_);
  names.complete();
  tree.rebuild();
}

void description::each_setting(const std::function<void(const std::string& pattern, const place& where)>& f) const {
  const auto tell = [&](const layer& l) {
    for (const item& i : l.items) {
      if (!i.group && !l.resolved) f(i.pattern, i.where);
    }
  };
  for (const layer& l : files_) tell(l);
  tell(arguments_);
}

place description::origin(std::string path) const {
  for (;;) {
    const item* found = nullptr;
    const auto look = [&](const layer& l) {
      for (const item& i : l.items) found = glob_match(i.pattern, path) ? &i : found;
    };
    for (const layer& l : files_) look(l);
    look(arguments_);
    if (found) return found->where;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return {};
    path.erase(dot);
  }
}

// Top-level knobs first: they may say which other knobs there are (the number of nodes).
void description::set_shape(knob_tree& tree) const {
  const auto pass = [&](const layer& l) {
    for (const item& i : l.items) {
      const knob_tree::leaf* leaf = i.group ? nullptr : tree.find(i.pattern);
      if (!leaf || i.pattern.find('.') != std::string::npos) continue;
      tree.set(i.pattern, i.text, i.where);
      tree.rebuild();
    }
  };
  for (const layer& l : files_) pass(l);
  pass(arguments_);
}

void description::apply_presets(knob_tree& tree) {
  std::map<std::string, item> chosen;
  const auto choose = [&](const layer& l) {
    for (const item& p : l.presets) {
      tree.expect_group(p.pattern, p.where);
      for (const std::size_t n : tree.root().children) {
        const std::string& node = tree.at(n).name;
        if (tree.at(n).leaf < 0 && node.starts_with("node") && glob_match(p.pattern, node)) chosen.insert_or_assign(node, p);
      }
    }
  };
  for (const layer& l : files_) choose(l);
  choose(arguments_);
  for (const auto& [node, preset] : chosen) {
    item named = preset;
    named.pattern = "preset";
    std::vector<layer> layers;
    load(layers, locate(named, "", "preset"), &preset.where, false, 1);
    for (layer& l : layers) {
      // Settings of the whole system that follow from the adapter, such as the links' rate, are taken from the first node.
      const auto of_system = std::stable_partition(l.items.begin(), l.items.end(), [](const item& i) {
        return !i.pattern.starts_with("system.") && !(i.group && i.pattern == "system");
      });
      const std::vector<item> system_items(of_system, l.items.end());
      l.items.erase(of_system, l.items.end());
      apply_items(tree, l.items, node + ".");
      if (node == chosen.begin()->first) apply_system_items(tree, system_items);
    }
    presets_[node] = preset.text;
  }
}

void description::apply_system_items(knob_tree& tree, std::vector<item> items) {
  std::erase_if(items, [](const item& i) { return i.pattern == "system"; });
  for (item& i : items) i.pattern.erase(0, std::string_view("system.").size());
  apply_items(tree, items, "");
}

void description::apply_items(knob_tree& tree, const std::vector<item>& items, const std::string& prefix) {
  for (const item& i : items) {
    if (i.group) {
      tree.expect_group(prefix + i.pattern, i.where);
    } else {
      tree.set(prefix + i.pattern, i.text, i.where);
    }
  }
}

}  // namespace hcasim
