#include "testbenches/program/command_line/new_unit.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "testbenches/program/command_line/project_files.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

const std::string& unit_project() {
  static const std::string name = "new-unit";
  return name;
}

std::string content(const fs::path& file) {
  return template_text(file, unit_project());
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  const std::size_t end = text.find(to, begin);
  if (begin == std::string::npos || end == std::string::npos)
    throw input_error(fmt::format("new-unit: a template has no '{}'", from));
  return text.substr(begin + from.size(), end - begin - from.size());
}

const std::set<std::string>& taken_names() {
  static const std::set<std::string> names{
      // SystemVerilog
      "accept_on", "alias", "always", "and", "assert", "assign", "assume", "automatic", "before", "begin", "bind", "bins",
      "bit", "break", "buf", "byte", "case", "casex", "casez", "cell", "chandle", "checker", "class", "clocking", "config",
      "const", "constraint", "context", "continue", "cover", "cross", "deassign", "default", "defparam", "design", "disable",
      "dist", "do", "edge", "else", "end", "enum", "event", "eventually", "expect", "export", "extends", "extern", "final",
      "for", "force", "foreach", "forever", "fork", "function", "generate", "genvar", "global", "if", "iff", "import",
      "initial", "inout", "input", "inside", "instance", "int", "integer", "interface", "join", "let", "liblist", "library",
      "local", "localparam", "logic", "longint", "matches", "modport", "module", "nand", "negedge", "new", "nexttime", "nor",
      "not", "null", "or", "output", "package", "packed", "parameter", "posedge", "primitive", "priority", "program",
      "property", "protected", "pulldown", "pullup", "pure", "rand", "randc", "randcase", "real", "ref", "reg", "release",
      "repeat", "restrict", "return", "scalared", "sequence", "shortint", "signed", "small", "solve", "specify", "static",
      "string", "strong", "struct", "super", "supply0", "supply1", "table", "tagged", "task", "this", "throughout", "time",
      "tri", "type", "typedef", "union", "unique", "unsigned", "until", "use", "uwire", "var", "vectored", "virtual", "void",
      "wait", "wand", "weak", "while", "wildcard", "wire", "with", "within", "wor", "xnor", "xor",
      // CMake and the templates
      "all", "clean", "help", "install", "lockstep", "mutate", "test",
      // modules that the RTL stands on
      "context_lines", "context_pkg", "context_rules", "context_transfers", "context_waiters", "extent_look", "fall_through",
      "fall_through_two", "hca_mutant", "hca_pkg", "key_drains", "key_epochs", "key_judge", "line_store", "lru_ages",
      "translation_lookup", "uar_decode"};
  return names;
}

void check_name(const std::string& name) {
  static const std::regex good("[a-z][a-z0-9_]{0,39}");
  const auto refuse = [&](const char* why) { throw input_error(fmt::format("new-unit: '{}' {}", name, why)); };
  if (!std::regex_match(name, good))
    refuse("is not a module name: begin with a letter, then letters, digits and _, all small, at most 40");
  if (name.find("__") != std::string::npos || name.back() == '_')
    refuse("has a _ at its end or two together, which Verilator takes for its own");
  const std::vector<std::string> kinds = unit_kinds();
  if (std::find(kinds.begin(), kinds.end(), name) != kinds.end())
    refuse("is a kind of hcasim's own; name yours otherwise, my_... for instance");
  if (taken_names().contains(name))
    refuse("is a word of SystemVerilog, CMake or hcasim's RTL; name it otherwise, my_... for instance");
}

// `set(sources ...)` of the unit, with its own module in the place of the unit's.
std::string sources_of(const std::string& cmake, const new_unit_options& o) {
  std::istringstream words(between(cmake, "set(sources ", ")"));
  std::string lines;
  for (std::string word; words >> word;) {
    const std::string share = "${PROJECT_SOURCE_DIR}/";
    const std::string file = word == o.kind + ".sv" ? o.name + ".sv"
                             : word.starts_with(share)
                                 ? "${HCASIM_SHARE_DIR}/" + word.substr(share.size())
                                 : fmt::format("${{HCASIM_SHARE_DIR}}/models/adapter/{}/rtl/{}", o.kind, word);
    lines += (lines.empty() ? "    " : "\n    ") + file;
  }
  return lines;
}

std::string module_named(const std::string& source, const std::string& was, const std::string& is) {
  return std::regex_replace(source, std::regex("\\bmodule " + was + "\\b"), "module " + is);
}

project_files files_of(const new_unit_options& o, const installation& from) {
  const fs::path templates = from.share / "testbenches/coverification/templates";
  const bool is_device = o.kind == "device" || o.kind == "tlp_device";
  const bool own = o.kind != "stream" && o.kind != "axi4" && !is_device;
  project_files files{{"CMakePresets.json", content(templates / "presets.json.in")}, {".gitignore", "build/\n"}};
  std::string sources;
  std::string pins;
  if (own) {
    const fs::path rtl = from.share / "models" / "adapter" / o.kind / "rtl";
    const std::string cmake = content(rtl / "CMakeLists.txt");
    sources = sources_of(cmake, o);
    pins = between(cmake, "set(pins\n", ")\n");
    files[o.name + ".sv"] = module_named(content(rtl / (o.kind + ".sv")), o.kind, o.name);
  } else if (o.kind == "axi4") {
    const fs::path example = from.share / "testbenches/coverification/example";
    pins = between(content(example / "CMakeLists.txt"), "SOURCES axi_memory.sv\n", ")\n");
    files[o.name + ".sv"] = module_named(content(example / "axi_memory.sv"), "axi_memory", o.name);
    std::string program = replaced(content(example / "use_memory.cpp"), "axi_memory.sv", o.name + ".sv");
    files["try_" + o.name + ".cpp"] = replaced(program, "my_memory", o.name + "_design");
  } else if (is_device) {
    const fs::path example = from.share / "testbenches/coverification/example";
    const std::string module = o.kind == "device" ? "my_dma" : "my_tlp_dma";
    pins = between(content(example / "CMakeLists.txt"), "SOURCES " + module + ".sv\n", ")\n");
    files[o.name + ".sv"] = module_named(content(example / (module + ".sv")), module, o.name);
  }
  for (const auto& e : fs::directory_iterator(templates / (own ? "unit" : is_device ? "device" : o.kind))) {
    const std::string file = replaced(e.path().stem().string(), "NAME", o.name);
    files[file] = content(e.path());
  }
  for (auto& [file, text] : files) {
    text = replaced(text, "@PREFIX@", from.prefix.string());
    text = replaced(text, "@SOURCES@", sources);
    text = replaced(text, "@PINS@", pins);
    text = replaced(text, "@NAME@", o.name);
    text = replaced(text, "@KIND@", o.kind);
    text = replaced(text, "@UNIT@", o.kind == "context_cache" ? "mrc_cache" : o.kind);
  }
  return files;
}

}  // namespace

std::vector<std::string> unit_kinds() {
  return {"key_check", "context_cache", "page_walker", "doorbell", "stream", "axi4", "device", "tlp_device"};
}

new_unit make_new_unit(const new_unit_options& options) {
  check_name(options.name);
  const std::vector<std::string> kinds = unit_kinds();
  if (std::find(kinds.begin(), kinds.end(), options.kind) == kinds.end()) {
    throw input_error(fmt::format("--kind: there is no kind '{}'; {}", options.kind, suggestion(options.kind, kinds, "kinds")));
  }
  const fs::path folder = project_folder(options.folder, options.name, unit_project());
  return {folder, write_project(folder, files_of(options, own_installation(unit_project())), unit_project())};
}

}  // namespace hcasim
