// Whether the library can come into a program: both ends look.
#pragma once

namespace hcasim::channel {

enum class program_kind { dynamic, linked_statically, set_user_id, script, of_another_machine, none };

// Returns the kind of a file that is open for reading. set_user_id: the system loads no library of the caller's into it.
program_kind kind_of(int file);

}  // namespace hcasim::channel
