#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "testbenches/coverification/lockstep/mutation.h"

namespace hcasim::lockstep {
namespace {

struct mutation_arguments {
  mutation_options o;
  std::string equivalents;
  std::string file;
  unsigned only = 0;
  double least = 0.95;
};

mutation_arguments read_mutation_arguments(int argc, char** argv) {
  mutation_arguments a;
  a.o.jobs = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + ": a value is missing");
    const std::string value = argv[i + 1];
    try {
      if (name == "--requests") {
        a.o.requests = std::stoull(value);
      } else if (name == "--seed") {
        a.o.seed = std::stoull(value);
      } else if (name == "--jobs") {
        a.o.jobs = static_cast<unsigned>(std::stoul(value));
      } else if (name == "--only") {
        a.only = static_cast<unsigned>(std::stoul(value));
      } else if (name == "--least") {
        a.least = std::stod(value);
      } else if (name == "--equivalents") {
        a.equivalents = value;
      } else if (name == "--file") {
        a.file = value;
      } else {
        throw std::invalid_argument("none of --requests, --seed, --jobs, --equivalents, --only, --file, --least");
      }
    } catch (const std::exception& e) {
      const std::string what = e.what();
      std::string message = name;
      message.append(what.starts_with("sto") ? ": not a number: " + value : ": " + what);
      throw std::invalid_argument(message);
    }
  }
  return a;
}

std::string in_words(const mutant& m) {
  return std::to_string(m.number) + "  " + m.file + ":" + std::to_string(m.line) + " " + m.kind + ": " + m.right + "  ->  " +
         m.wrong;
}

struct sums {
  unsigned killed = 0;
  unsigned by_storm = 0;
  unsigned survived = 0;
  unsigned equivalent = 0;
  void print(const char* what) const {
    const unsigned alive = by_storm + survived;
    std::printf("%-14s %9u %8u %10u %9u %11u %8.1f %%\n", what, killed + alive + equivalent, killed, by_storm, survived,
                equivalent, killed + alive > 0 ? 100.0 * killed / (killed + alive) : 100.0);
  }
};

int run_mutation(const mutation_arguments& a, const std::string& unit) {
  std::vector<mutant> all = mutants_of(a.o.design);
  std::vector<std::string> wrong;
  if (!a.equivalents.empty()) wrong = read_equivalents(a.equivalents, all);
  const unsigned highest = all.back().number;
  const bool whole = all.size() == highest;
  if (!whole) wrong.clear();  // entries for faults that the design does not hold cannot fit
  std::erase_if(all,
                [&](const mutant& m) { return (a.only != 0 && m.number != a.only) || (!a.file.empty() && m.file != a.file); });
  if (all.empty()) throw std::invalid_argument("there is no such mutant");
  const std::vector<judged> verdicts = judge_mutants(unit, all, a.o);

  std::map<std::string, sums> kinds;
  sums total;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const judged& v = verdicts[i];
    for (sums* s : {&kinds[all[i].kind], &total}) {
      s->killed += v.fate == fate::killed || v.fate == fate::no_equivalent;
      s->by_storm += v.fate == fate::killed_by_storm;
      s->survived += v.fate == fate::survived;
      s->equivalent += v.fate == fate::equivalent;
    }
    if (v.fate == fate::survived) std::printf("survived: %s\n", in_words(all[i]).c_str());
    if (v.fate == fate::killed_by_storm) std::printf("in storms alone: %s\n", in_words(all[i]).c_str());
    if (v.fate == fate::no_equivalent) wrong.push_back("not equivalent: " + in_words(all[i]) + ": " + v.reason);
    if (a.only != 0 && v.fate != fate::survived) {
      std::printf("%s\n%s, after %lu requests: %s\n", in_words(all[i]).c_str(), v.stream,
                  static_cast<unsigned long>(v.requests),
                  v.fate == fate::equivalent ? all[i].reason.c_str() : v.reason.c_str());
    }
  }
  std::printf("%-14s %9s %8s %10s %9s %11s %10s\n", unit.c_str(), "mutants", "killed", "by storms", "survived", "equivalent",
              "score");
  for (const auto& [kind, s] : kinds) s.print(kind.c_str());
  total.print("all");
  for (const std::string& w : wrong) std::printf("%s\n", w.c_str());
  const double reached = score(verdicts);
  if (reached < a.least) std::printf("%.1f %% were killed, %.1f %% are wanted\n", 100 * reached, 100 * a.least);
  return reached < a.least || !wrong.empty() ? 1 : 0;
}

}  // namespace

int mutate(int argc, char** argv, const std::string& unit, rtl::design_factory make) {
  try {
    mutation_arguments a = read_mutation_arguments(argc, argv);
    a.o.design = make;
    return run_mutation(a, unit);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}

}  // namespace hcasim::lockstep
