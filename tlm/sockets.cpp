// The sockets of all protocols, linked first (CMakeLists.txt).
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/icm.h"
#include "tlm/packet.h"
#include "tlm/protection.h"
#include "tlm/translate.h"
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim {

#define HCASIM_PAYLOAD(p)             \
  template class initiator_socket<p>; \
  template class target_socket<p>;

HCASIM_PAYLOAD(context_request)
HCASIM_PAYLOAD(doorbell_control)
HCASIM_PAYLOAD(send_queue_control)
HCASIM_PAYLOAD(requester_control)
HCASIM_PAYLOAD(responder_control)
HCASIM_PAYLOAD(completion_control)
HCASIM_PAYLOAD(page_answer)
HCASIM_PAYLOAD(register_access)
HCASIM_PAYLOAD(dma_request)
HCASIM_PAYLOAD(icm_area)
HCASIM_PAYLOAD(packet)
HCASIM_PAYLOAD(key_request)
HCASIM_PAYLOAD(translate_request)
HCASIM_PAYLOAD(window_request)
HCASIM_PAYLOAD(work_request)
HCASIM_PAYLOAD(doorbell_ring)
HCASIM_PAYLOAD(report)

#undef HCASIM_PAYLOAD

}  // namespace hcasim
