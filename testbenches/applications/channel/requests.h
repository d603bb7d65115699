// Requests of a program: one struct a request, with its number and the struct that answers it. Objects are handles, 0 is none.
// Enumerators and bits are those of <infiniband/verbs.h>; `user` comes back with events and means nothing to the simulator.
#pragma once

#include "testbenches/applications/channel/completion_requests.h"  // IWYU pragma: export
#include "testbenches/applications/channel/connection_requests.h"  // IWYU pragma: export
#include "testbenches/applications/channel/device_requests.h"      // IWYU pragma: export
#include "testbenches/applications/channel/memory_requests.h"      // IWYU pragma: export
#include "testbenches/applications/channel/queue_requests.h"       // IWYU pragma: export
#include "testbenches/applications/channel/timer_requests.h"       // IWYU pragma: export
#include "testbenches/applications/channel/waiting_requests.h"     // IWYU pragma: export
