// The version of this build, and its places, which tests alone know: the program runs where it is installed or moved to
// (shared_file.h). Only two sources are compiled with these texts, so that a compiler cache serves every checkout.
#pragma once

namespace hcasim::places {

extern const char* const version;

extern const char* const source;       // the root of the source tree
extern const char* const program;      // hcasim
extern const char* const selftest;     // the program with a machine of its own, for tests of the command line
extern const char* const conformance;  // the tests of the conformance table

}  // namespace hcasim::places
