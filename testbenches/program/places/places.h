// The place and version of this build. Only places.cpp is compiled with these texts, so that a compiler cache serves every
// checkout.
#pragma once

namespace hcasim::places {

extern const char* const version;
extern const char* const source;       // the root of the source tree
extern const char* const traces;       // where runs write by default
extern const char* const charts;       // the charting library of the report's page
extern const char* const program;      // hcasim
extern const char* const selftest;     // the program with a machine of its own, for tests of the command line
extern const char* const conformance;  // the tests of the conformance table

}  // namespace hcasim::places
