// Listed faults: wrong expressions, each in the place of a right one.
#pragma once

#include <map>
#include <string>

namespace hcasim::mutation {

// Puts all faults of a list into the texts of its files, by name. Each right expression becomes a choice by hca_mutant::number,
// which counts the wrong ones from 1. Returns their number. Throws std::runtime_error with the list's name.
//
// Lines of the list, by their first characters:
//   @  the file of the next lines
//   -  a right expression, which stands in the file once
//   +  a wrong one
//   >  a line more before the end of the module
//   #  a comment
unsigned put_listed(const std::string& name, const std::string& list, std::map<std::string, std::string>& texts);

}  // namespace hcasim::mutation
