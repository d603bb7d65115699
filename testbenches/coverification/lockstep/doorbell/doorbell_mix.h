// The shares of software's writes in the doorbell unit's streams.
#pragma once

namespace hcasim::lockstep {

// Kinds of software's writes, as shares of all; the rest rings CQs.
struct mix {
  double bad, broken, blueflame, send, receive, event;
};

namespace mixes {
inline constexpr mix usual{0.02, 0.02, 0.08, 0.38, 0.25, 0.05};
inline constexpr mix sends{0.01, 0.02, 0.1, 0.8, 0.03, 0.01};
inline constexpr mix receives{0.01, 0.02, 0.02, 0.05, 0.85, 0.01};
inline constexpr mix completions{0.01, 0.02, 0.02, 0.1, 0.05, 0.3};
inline constexpr mix wqes{0.02, 0.05, 0.7, 0.15, 0.03, 0.01};
inline constexpr mix lost{0.02, 0.15, 0.3, 0.25, 0.2, 0.01};    // each broken write has the QP's record read
inline constexpr mix aside{0.1, 0.03, 0.02, 0.08, 0.08, 0.25};  // rings queues whose doorbells wait aside or did
inline constexpr mix of_one_qp{0.01, 0.08, 0.06, 0.3, 0.54, 0};
// A flood of QPs alone fills the table of dropped QPs: CQs and EQs aside stop software before.
inline constexpr mix of_qps{0, 0, 0, 0.29, 0.71, 0};
// Without queues: a doorbell may wait aside through a whole flood on one side alone, and is then late by the flood's length.
inline constexpr mix without_queues{0.02, 0.03, 0.1, 0.5, 0.35, 0};

}  // namespace mixes

}  // namespace hcasim::lockstep
