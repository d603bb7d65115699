// READs and atomics: executed once, answered with the bytes, and repeated for duplicates.
//
// A READ or an atomic is repeated only if it is among the last executed, as many as the QP may have outstanding. An atomic is
// answered from its result, a READ is judged anew [D2, O8d]. A refusal of this READ is an error of its requester alone, not of
// the QP.
#pragma once

#include "models/adapter/responder/packet_engine.h"
#include "models/adapter/responder/receive_errors.h"
#include "tlm/processing_steps.h"

namespace hcasim {

class fetch_answers {
 public:
  fetch_answers(memory_access& memory, page_faults& faults, packet_engine& engine, processing_steps& steps,
                receive_errors& errors, response_sender& responses, responder_counters& counters)
      : memory_(memory),
        faults_(faults),
        engine_(engine),
        steps_(steps),
        errors_(errors),
        responses_(responses),
        counters_(counters) {}

  // Judges a READ, whose responses then leave in their turn; `again`: a repetition.
  task<> read(receive_qp& c, hca_qpc& q, packet& p, bool again, ps& t);
  void refuse_repetition(receive_qp& c, const hca_qpc& q, const packet& p, std::uint8_t syndrome, ps t);
  // Executes an atomic and answers it.
  task<> atomic(receive_qp& c, hca_qpc& q, packet& p, ps& t);
  // Answers an atomic from its result.
  void repeat_atomic(receive_qp& c, const hca_qpc& q, const executed_fetch& e);
  // Returns the executed READ or atomic that this request repeats; null = none is kept.
  static const executed_fetch* repeated_by(const receive_qp& c, const hca_qpc& q, const packet_header& h);

 private:
  static void remember(receive_qp& c, const hca_qpc& q, const executed_fetch& e);
  process answer_owed(receive_qp& c);
  [[nodiscard]] static bool may_answer(const receive_qp& c);
  [[nodiscard]] static processing_steps::step step_of(const receive_qp& c);
  void forget_owed(receive_qp& c);
  static void read_ended(receive_qp& c, const read_job& job);
  process read_response(receive_qp& c, read_job job, std::uint64_t ticket, ps t);
  // Returns whether the NAK of this response is sent: no earlier response of its READ was refused.
  bool tells_refusal(receive_qp& c, const read_job& job, std::uint64_t ticket, ps t);
  // Fetches the bytes of one response; page_fault: the wait for a page was given up.
  task<verdict> fetch_response(receive_qp& c, memory_range range, packet& p, ps& t);

  memory_access& memory_;
  page_faults& faults_;
  packet_engine& engine_;
  processing_steps& steps_;
  receive_errors& errors_;
  response_sender& responses_;
  responder_counters& counters_;
};

}  // namespace hcasim
