// A mutation score: lockstep on every fault that hca_add_rtl MUTANTS has built into a design. A fault is killed by a different
// answer, a broken handshake or a hang, or by latencies out of bounds, in the streams that lockstep runs by default; what only
// a storm kills does not count, and is listed as what survives all of them is. Some faults change nothing that can be seen: a
// file names them with the reason.
//
// The registers of the RTL begin as ones, in one of the streams at random, so that a reset that is missing shows.
#pragma once

#include <string>
#include <vector>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

// One line of design::list_of_mutants.
struct mutant {
  unsigned number = 0;
  std::string file;
  unsigned line = 0;
  std::string kind;
  std::string right;
  std::string wrong;
  std::string text;    // of the line
  std::string reason;  // why nothing can be seen of it; empty = none is known
};
// Throws std::invalid_argument: the design was built without.
std::vector<mutant> mutants_of(rtl::design_factory make);

// Faults of which nothing can be seen:
//   @ key_check.sv
//   : busy[free_slot] <= 1'b1;      a line of it, spaces aside; may be left out
//   - the right expression
//   + the wrong one, * for any
//   = why
// Gives them their reasons. Returns what is wrong with the file: entries that fit no mutant of `all`; none may be wrong when
// the design holds every fault. Throws std::runtime_error that names file and line.
std::vector<std::string> read_equivalents(const std::string& file, std::vector<mutant>& all);

enum class fate : std::uint8_t { killed, killed_by_storm, survived, equivalent, no_equivalent };

struct judged {
  lockstep::fate fate = fate::survived;
  std::string reason;          // what killed it
  std::uint64_t requests = 0;  // that it took, of the last stream
  const char* stream = "";
};

struct mutation_options {
  std::uint64_t requests = 20'000;  // of the random streams, a part of that for the others
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  rtl::design_factory design = nullptr;
};

// Judges each of `chosen`, in that order. A mutant with a reason to be equivalent is run too: if it is killed, its reason is
// wrong.
std::vector<judged> judge_mutants(const std::string& unit, const std::vector<mutant>& chosen, const mutation_options& o);

// Share of those that are killed by the streams of lockstep's default, among those that are not equivalent.
double score(const std::vector<judged>& verdicts);

// A whole program, as lockstep::program is:
//   int sc_main(int argc, char** argv) { return hcasim::lockstep::mutate(argc, argv, "key_check", hcasim::rtl::make_mine); }
// Arguments: --requests N, --seed N, --jobs N, --equivalents FILE, --only N (one mutant, with what killed it), --file NAME,
// --least SHARE (score that passes; 0.95). Returns 0 when the score is reached, 1 when not, 2 for what it does not understand.
int mutate(int argc, char** argv, const std::string& unit, rtl::design_factory make);

}  // namespace hcasim::lockstep
