// hcasim_mutants OUT COUNT SOURCE...: copies of the sources in the folder OUT that hold mechanical faults, COUNT of all that
// there are (0: all), evenly spread; hca_mutant.sv, which chooses one of them; and mutants.inc, a string of C++ with a line for
// each: number, file, line, kind, right, wrong and the text of the line, with tabs between. Prints the highest number.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

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

void write(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.flush();
  if (!out) throw fs::filesystem_error("cannot be written", file, std::make_error_code(std::errc::io_error));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "hcasim_mutants OUT COUNT SOURCE...\n");
    return 2;
  }
  const fs::path out = argv[1];
  const std::uint64_t wanted = std::stoull(argv[2]);
  std::vector<source> sources;
  for (int i = 3; i < argc; ++i) {
    std::ifstream in(argv[i]);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) throw fs::filesystem_error("cannot be read", argv[i], std::make_error_code(std::errc::io_error));
    sources.push_back({fs::path(argv[i]).filename().string(), text.str()});
  }
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
  write(out / "hca_mutant.sv", "package hca_mutant;\n  int number /*verilator public_flat_rw*/ = 0;\nendpackage\n");
  std::printf("%llu", static_cast<unsigned long long>(all));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "hcasim_mutants: %s\n", e.what());
  return 2;
}
