// Changes of protection on the data path: to window_unit, from send_queue (work requests), responder (SEND_WITH_INV) and the
// command unit.
//
// bind, invalidate, fast_register: answered when the change is complete: no access admitted by the older state is under way.
//        A `fault` other than none: nothing has changed.
// close: (command unit) the window is gone, bound or not; answered as the above. Its MRC is left invalid, with its key byte.
// unbind: (command unit) if bound to `region_key`, the window becomes as if never bound; answered as the above.
// lock:  (command unit) until unlock, no other request changes the MRC of index `key >> 8`. Both are answered at once.
#pragma once

#include "tlm/socket.h"
#include "tlm/window_change.h"

namespace hcasim {

struct window_request : transaction, window_change {};

}  // namespace hcasim
