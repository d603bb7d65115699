// The tokens of a SystemVerilog source, with where they stand. What a preprocessor may leave out (`ifdef ... `endif) and the
// lines of other directives have none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim::mutation {

enum class token_kind { word, number, text, sign, end };

struct token {
  token_kind kind = token_kind::end;
  std::size_t begin = 0;
  std::size_t end = 0;
  unsigned line = 0;
  std::string_view text;
};

// Ends with one token `end`.
std::vector<token> tokens_of(std::string_view source);

}  // namespace hcasim::mutation
