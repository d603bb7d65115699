// hcasim_wrap: wraps a module that Verilator has translated as a design of tlm/rtl. hca_add_rtl (cmake/add_rtl.cmake) compiles
// and runs it:
//
//   hcasim_wrap NAME TOP FOLDER TEMPLATES [OPTION=VALUE...] PIN...
//
// FOLDER holds the generated code, and gets NAME_design.cpp and rtl/NAME.h from the templates. Options:
//   interface=UNIT   the bundles of this unit must be there
//   threads=N        of the generated code; default 1
//   mutants=N        faults in the design; default 0
//   list=TEXT        an expression with the list of the faults
//   waves=1          waveforms and assertions
//   coverage=1       coverage
//   whole=REASON     the design is not taken step by step
// Prints how the design runs. Status 1 with a message: what the user has to mend.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

#include "generated_code.h"
#include "pins.h"
#include "text.h"

namespace hcasim::wrap {
namespace {

namespace fs = std::filesystem;

using settings = std::map<std::string, std::string>;

// Returns the text of the generated sources: slow paths (which begin a design), or fast ones.
std::string code_in(const std::string& folder, const std::string& name, bool slow) {
  std::vector<std::string> files;
  for (const fs::directory_entry& e : fs::directory_iterator(folder)) {
    const std::string file = e.path().filename().string();
    if (!file.starts_with("V" + name + "_") || !file.ends_with(".cpp")) continue;
    const bool other = file.ends_with("__Syms.cpp") || file.find("__Trace") != std::string::npos;
    if (!other && file.ends_with("__Slow.cpp") == slow) files.push_back(e.path().string());
  }
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& f : files) text += read_file(f);
  return text;
}

std::string declarations_of(const module_ports& ports) {
  std::string lines;
  for (const port& p : ports.all()) {
    lines += "    pins_.push_back({\"" + p.name + "\", " + std::to_string(p.bits) + ", " + (p.output ? "true" : "false") +
             ", pointer(top_->" + p.name + ")});\n";
  }
  return lines;
}

// Fills in a template, whose places are called @NAME@.
void fill(const std::string& from, const std::string& to, const settings& values) {
  std::string text = read_file(from);
  for (const auto& [name, value] : values) replace_all(text, "@" + name + "@", value);
  write_changed(to, text);
}

void wrap(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4) throw refusal("usage: hcasim_wrap NAME TOP FOLDER TEMPLATES [OPTION=VALUE...] PIN...");
  const std::string &name = arguments[0], &top = arguments[1], &folder = arguments[2], &templates = arguments[3];
  settings options{{"interface", ""}, {"threads", "1"},  {"mutants", "0"}, {"list", ""},
                   {"waves", "0"},    {"coverage", "0"}, {"whole", ""}};
  auto at = arguments.begin() + 4;
  for (; at != arguments.end(); ++at) {
    const auto option = options.find(at->substr(0, at->find('=')));
    if (option == options.end() || at->find('=') == std::string::npos) break;
    option->second = at->substr(at->find('=') + 1);
  }

  const module_ports ports(read_file(folder + "/V" + name + ".h"), code_in(folder, name, true));
  pins all(ports, top);
  all.read({at, arguments.end()});
  if (!options["interface"].empty()) all.check_interface(options["interface"]);

  std::string lines = all.lines();
  std::optional<steps> stepped;
  if (options["whole"].empty()) {
    const std::string code = code_in(folder, name, false);
    stepped = find_steps(code, name, all.clocks(), all.resets());
    options["whole"] = "the generated code of this design has another form";
    if (stepped) {
      for (const std::string& valid : find_falling(code, all.offers())) lines += "    let_fall(\"" + valid + "\");\n";
    }
  }
  const settings places{{"NAME", name},
                        {"TOP", top},
                        {"DECLARATIONS", declarations_of(ports)},
                        {"BUNDLES", lines},
                        {"THREADS", options["threads"]},
                        {"MUTANTS", options["mutants"]},
                        {"LIST_OF_MUTANTS", options["list"]},
                        {"WAVES", options["waves"]},
                        {"COVERAGE", options["coverage"]},
                        {"STEPS", stepped ? "1" : "0"},
                        {"NO_STEPS", options["whole"]},
                        {"INPUTS_PASS", stepped && stepped->inputs_pass ? "1" : "0"},
                        {"TRIGGERS", stepped ? stepped->triggers : ""}};
  fill(templates + "/rtl_design.cpp.in", folder + "/" + name + "_design.cpp", places);
  fill(templates + "/rtl_design.h.in", folder + "/rtl/" + name + ".h", places);
  std::puts(stepped ? "runs step by step" : ("runs as a whole: " + options["whole"]).c_str());
}

}  // namespace
}  // namespace hcasim::wrap

int main(int argc, char** argv) {
  try {
    hcasim::wrap::wrap({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s", e.what());
    return 1;
  }
}
