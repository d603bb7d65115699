// A mutation score: lockstep on every fault that hca_add_rtl MUTANTS has built into a design. A different answer, a broken
// handshake, a hang or latencies out of bounds kill a fault, in one of lockstep's default streams. A fault that only a storm
// kills does not count, and is listed with the survivors. Some faults have no visible effect: a file names each with the
// reason.
//
// The registers of the RTL begin as ones, and in one stream at random, so that a missing reset shows.
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
  std::string text;    // text of the line
  std::string reason;  // why the fault has no visible effect; empty = no reason is known
};
// Returns the faults of a design. Throws std::invalid_argument: the design was built without faults.
std::vector<mutant> mutants_of(rtl::design_factory make);

// Reads a file of faults without a visible effect:
//   @ key_check.sv
//   : busy[free_slot] <= 1'b1;      its line, spaces aside; may be left out
//   - the right expression
//   + the wrong one, * for any
//   = why
// Gives the mutants in `all` their reasons. Returns the entries that fit no mutant; there must be none if the design holds
// every fault. Throws std::runtime_error with file and line.
std::vector<std::string> read_equivalents(const std::string& file, std::vector<mutant>& all);

enum class fate : std::uint8_t { killed, killed_by_storm, survived, equivalent, no_equivalent };

struct judged {
  lockstep::fate fate = fate::survived;
  std::string reason;          // what killed the fault
  std::uint64_t requests = 0;  // requests of the last stream until then
  const char* stream = "";
};

struct mutation_options {
  std::uint64_t requests = 20'000;  // of the random streams; other streams have a part of this number
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  rtl::design_factory design = nullptr;
};

// Judges each of `chosen`, in this order. A mutant with a reason to be equivalent is run, too: a kill shows a wrong reason.
std::vector<judged> judge_mutants(const std::string& unit, const std::vector<mutant>& chosen, const mutation_options& o);

// Returns the share of faults killed by lockstep's default streams, among all faults without a reason to be equivalent.
double score(const std::vector<judged>& verdicts);

// Runs as a whole program, like lockstep::program:
//   int sc_main(int argc, char** argv) { return hcasim::lockstep::mutate(argc, argv, "key_check", hcasim::rtl::make_mine); }
// Arguments: --requests N, --seed N, --jobs N, --equivalents FILE, --only N (one mutant and its killer), --file NAME,
// --least SHARE (score to reach; 0.95). Returns 0 = the score is reached, 1 = not reached, 2 = bad arguments.
int mutate(int argc, char** argv, const std::string& unit, rtl::design_factory make);

}  // namespace hcasim::lockstep
