// hcasim_mutants OUT COUNT|LIST SOURCE...: writes copies of the sources with faults into the folder OUT, where hca_mutant.sv
// chooses one of them. Prints the highest number of a fault.
//
// COUNT mechanical faults of all are taken, evenly spread (0 = all). Then mutants.inc is a string of C++ with a line for each
// fault. Its columns, with tabs between, are number, file, line, kind, right, wrong, text of the line. LIST: a file of faults
// (listed.h).
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "listed.h"
#include "mutant.h"

namespace fs = std::filesystem;

namespace {

struct source {
  std::string name;
  std::string text;
};

unsigned count(const std::vector<source>& sources) {
  unsigned next = 1;
  for (const source& s : sources) next = hcasim::mutation::mutate(s.name, s.text, next, [](unsigned) { return false; }).next;
  return next - 1;
}

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw fs::filesystem_error("cannot be read", file, std::make_error_code(std::errc::io_error));
  return text.str();
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.flush();
  if (!out) throw fs::filesystem_error("cannot be written", file, std::make_error_code(std::errc::io_error));
}

std::uint64_t make_mechanical(const fs::path& out, std::uint64_t wanted, const std::vector<source>& sources) {
  const std::uint64_t all = count(sources);
  const auto chosen = [&](unsigned n) { return wanted == 0 || wanted >= all || n * wanted / all != (n - 1) * wanted / all; };
  std::string list = "R\"mutants(";
  unsigned next = 1;
  for (const source& s : sources) {
    const hcasim::mutation::mutated m = hcasim::mutation::mutate(s.name, s.text, next, chosen);
    next = m.next;
    write(out / s.name, m.source);
    for (const auto& one : m.mutants) {
      list += std::to_string(one.number) + '\t' + one.file + '\t' + std::to_string(one.line) + '\t' + one.kind + '\t' +
              one.right + '\t' + one.wrong + '\t' + one.text + '\n';
    }
  }
  write(out / "mutants.inc", list + ")mutants\"\n");
  return all;
}

std::uint64_t make_listed(const fs::path& out, const std::string& list, const std::vector<source>& sources) {
  std::map<std::string, std::string> texts;
  for (const source& s : sources) texts[s.name] = s.text;
  const unsigned all = hcasim::mutation::put_listed(list, read(list), texts);
  for (const auto& [name, text] : texts) write(out / name, text);
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "hcasim_mutants OUT COUNT|LIST SOURCE...\n");
    return 2;
  }
  const fs::path out = argv[1];
  const std::string what = argv[2];
  std::vector<source> sources;
  for (int i = 3; i < argc; ++i) sources.push_back({fs::path(argv[i]).filename().string(), read(argv[i])});
  const bool counted = what.find_first_not_of("0123456789") == std::string::npos;
  const std::uint64_t all = counted ? make_mechanical(out, std::stoull(what), sources) : make_listed(out, what, sources);
  write(out / "hca_mutant.sv", "package hca_mutant;\n  int number /*verilator public_flat_rw*/ = 0;\nendpackage\n");
  std::printf("%llu", static_cast<unsigned long long>(all));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s", e.what());
  return 2;
}
