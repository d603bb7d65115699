// Listening on the sockets of a running model, found by walking the SystemC hierarchy. An observer that was there before (a
// testbench's) goes on to be told.
#pragma once

#include <string>
#include <vector>

#include "testbenches/program/recording/resources.h"
#include "tlm/socket.h"

namespace hcasim {

// An observer that hands on to the one before it.
template <class P>
class chained_observer : public socket_observer<P> {
 public:
  explicit chained_observer(initiator_socket<P>& socket) : before_(socket.observed_by()) { socket.observe(this); }

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (before_) before_->forward(p, phase, t);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (before_) before_->forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (before_) before_->backward(p, phase, t);
  }

 private:
  socket_observer<P>* before_;
};

// Every initiator socket of payload P, in the order of the hierarchy.
template <class P>
std::vector<initiator_socket<P>*> sockets_of() {
  std::vector<initiator_socket<P>*> found;
  struct walker {
    std::vector<initiator_socket<P>*>& found;
    void walk(const std::vector<sc_core::sc_object*>& objects) {
      for (sc_core::sc_object* o : objects) {
        if (auto* s = dynamic_cast<initiator_socket<P>*>(o)) found.push_back(s);
        walk(o->get_child_objects());
      }
    }
  };
  walker{found}.walk(sc_core::sc_get_top_level_objects());
  return found;
}

// The unit that a socket belongs to: node0.hca.requester.
template <class P>
std::string unit_of(const initiator_socket<P>& s) {
  return short_name(s.get_parent_object()->name());
}

}  // namespace hcasim
