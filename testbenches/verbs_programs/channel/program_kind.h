// Tells whether the library can enter a program. Simulator and library both ask.
#pragma once

namespace hcasim::channel {

enum class program_kind { dynamic, linked_statically, set_user_id, script, of_another_machine, none };

// Returns the kind of a file that is open for reading. set_user_id: the system loads no library of the caller's into it.
program_kind kind_of(int file);

}  // namespace hcasim::channel
