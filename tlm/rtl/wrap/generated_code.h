// Facts about a design from Verilator's generated code: can the design be taken step by step, without eval()? Which inputs may
// fall behind a clock without another step?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim::wrap {

struct steps {
  bool inputs_pass = false;  // something follows from inputs without a clock
  std::string triggers;      // lines that say what clocks `of_clocks` set off
};

// Returns how a design is taken step by step; nothing = the code has another form. The design must see of a clock only its
// rise. Only a rise and an edge of a reset may make the design do anything. `code`: the fast paths of the design `name`.
std::optional<steps> find_steps(std::string_view code, const std::string& name, const std::vector<std::string>& clocks,
                                const std::vector<std::string>& resets);

// Returns the pins of `valids` that no register reads. The same statements, word for word, read such a pin where things follow
// from inputs and where they follow from clocks. So everything that follows from the pin is worked out again behind a clock.
std::vector<std::string> find_falling(const std::string& code, const std::vector<std::string>& valids);

}  // namespace hcasim::wrap
