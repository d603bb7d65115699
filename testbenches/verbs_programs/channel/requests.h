// Requests of a program. Each request is a struct with a number and the struct of its answer. Objects are handles (0 = none).
// Enumerators and bits are those of <infiniband/verbs.h>; `user` comes back with events and means nothing to the simulator.
#pragma once

#include "testbenches/verbs_programs/channel/completion_requests.h"  // IWYU pragma: export
#include "testbenches/verbs_programs/channel/connection_requests.h"  // IWYU pragma: export
#include "testbenches/verbs_programs/channel/device_requests.h"      // IWYU pragma: export
#include "testbenches/verbs_programs/channel/memory_requests.h"      // IWYU pragma: export
#include "testbenches/verbs_programs/channel/queue_requests.h"       // IWYU pragma: export
#include "testbenches/verbs_programs/channel/timer_requests.h"       // IWYU pragma: export
#include "testbenches/verbs_programs/channel/waiting_requests.h"     // IWYU pragma: export
