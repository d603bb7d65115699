#include "testbenches/program/command_line/manual.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace hcasim {
namespace {

std::string roff(const std::string& s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\') {
      out += "\\e";
    } else if (s[i] == '-') {
      out += "\\-";
    } else if ((s[i] == '.' || s[i] == '\'') && (i == 0 || s[i - 1] == '\n')) {
      out += std::string("\\&") + s[i];
    } else {
      out += s[i];
    }
  }
  return out;
}

std::string option_text(const CLI::Option& o) {
  std::string names;
  const auto add = [&](const std::string& n) { names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(n)); };
  for (const std::string& n : o.get_snames()) add("-" + n);
  for (const std::string& n : o.get_lnames()) add("--" + n);
  if (names.empty()) add(o.get_type_name());
  const bool value = !o.get_type_name().empty() && (!o.get_snames().empty() || !o.get_lnames().empty());
  return fmt::format(".TP\n{}{}\n{}\n", names, value ? fmt::format(" \\fI{}\\fR", roff(o.get_type_name())) : "",
                     roff(o.get_description()));
}

struct exit_status {
  const char* status;
  const char* meaning;
};
constexpr exit_status exit_statuses[] = {
    {"0", "Done; of a run or a study: everything passed; of diff: nothing differs."},
    {"1", "A check failed, a point of a study did not pass, or something differs."},
    {"2", "Bad input, a full disk, a damaged file, or no Slurm. The message names the place and how to mend it."},
    {"3", "A part that the run needs was not built: RTL, or the library for programs."},
    {"129 to 154", "Ended by a signal, 128 and its number: 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP, 152 SIGXCPU."}};

struct sample_line {
  const char* words;  // behind "hcasim"
  const char* meaning;
};
constexpr sample_line examples[] = {
    {"run ping", "One WRITE, READ and SEND: how long each takes and where. Result and waveform go to hcasim-out/ping-001."},
    {"show hcasim-out/ping-001", "The operations of a run, the slowest first."},
    {"run message_rate --set 'node*.hca.mrc_cache.ways=8' --what-if", "One knob changed, and what limits the rate then."},
    {"params cache size", "The knobs that have to do with these words."},
    {"exec -- ib_write_lat -- ib_write_lat node0", "Two programs of this machine on simulated adapters."},
    {"sweep study.yaml -o out --jobs 4", "All points of a study, four at a time."},
    {"report out --html page.html", "Its charts and tables, in one page."},
    {"results out --csv", "Its points, for other programs."}};

}  // namespace

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> list;
  for (const CLI::Option* o : app.get_options()) {
    if (!o->get_group().empty()) list.push_back(o);
  }
  return list;
}

std::string manual_page(const CLI::App& app, const std::string& version) {
  std::string out = fmt::format(".TH HCASIM 1 \"\" \"hcasim {}\" \"User Commands\"\n.SH NAME\nhcasim \\- {}\n.SH SYNOPSIS\n",
                                version, roff(app.get_description()));
  for (const CLI::App* c : app.get_subcommands({}))
    out += fmt::format(".B hcasim {}\n[\\fIOPTION\\fR...]\n.br\n", roff(c->get_name()));
  out += ".SH COMMANDS\n";
  for (const CLI::App* c : app.get_subcommands({})) {
    out += fmt::format(".SS hcasim {}\n{}.\n", roff(c->get_name()), roff(c->get_description()));
    for (const CLI::Option* o : shown_options(*c)) {
      if (o->get_name() != "--help") out += option_text(*o);
    }
    if (!c->get_footer().empty()) out += fmt::format(".PP\n{}\n", roff(c->get_footer()));
  }
  out += ".SH EXAMPLES\n";
  for (const sample_line& e : examples) out += fmt::format(".TP\n.B hcasim {}\n{}\n", roff(e.words), roff(e.meaning));
  out += ".SH EXIT STATUS\n";
  for (const exit_status& e : exit_statuses) out += fmt::format(".TP\n{}\n{}\n", e.status, roff(e.meaning));
  out +=
      ".SH ENVIRONMENT\n.TP\n.B HCASIM_PRESETS\nFolders with presets and systems that are searched "
      "first, separated by colons.\n.TP\n.B HCASIM_PATH\nFolders that are searched before share/hcasim beside the program, for "
      "presets, systems and the parts of the report's page, separated by colons.\n";
  return out;
}

nlohmann::ordered_json manual_json(const CLI::App& app, const std::string& version) {
  using nlohmann::ordered_json;
  ordered_json commands = ordered_json::array();
  for (const CLI::App* c : app.get_subcommands({})) {
    ordered_json options = ordered_json::array();
    for (const CLI::Option* o : shown_options(*c)) {
      ordered_json names = ordered_json::array();
      for (const std::string& n : o->get_snames()) names.push_back("-" + n);
      for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
      options.push_back(
          {{"names", names}, {"value", o->get_type_name()}, {"required", o->get_required()}, {"help", o->get_description()}});
    }
    commands.push_back({{"name", c->get_name()}, {"help", c->get_description()}, {"options", options}});
  }
  ordered_json status = ordered_json::object();
  for (const exit_status& e : exit_statuses) status[e.status] = e.meaning;
  return {{"hcasim", version}, {"help", app.get_description()}, {"commands", commands}, {"exit_status", status}};
}

}  // namespace hcasim
