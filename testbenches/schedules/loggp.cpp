#include "testbenches/schedules/loggp.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <tuple>

namespace hcasim::schedules {
namespace {

class loggp_run {
 public:
  loggp_run(const schedule& s, const loggp& p) : s_(s), p_(p) {
    for (std::uint32_t r = 0; r < s.ranks.size(); ++r) {
      ranks_.emplace_back(s.ranks[r]);
      for (std::uint32_t i = 0; i < ranks_[r].waits.size(); ++i) {
        if (ranks_[r].waits[i] == 0) ready(r, i, ps(0));
      }
    }
  }

  ps run() {
    while (!events_.empty()) {
      const event e = events_.top();
      events_.pop();
      begin(e);
    }
    return end_;
  }

 private:
  struct rank {
    explicit rank(const rank_schedule& r) : followers(r), waits(followers.waits()) {}
    order followers;
    std::vector<std::uint32_t> waits;
    std::map<std::uint16_t, ps> thread_free;
    ps leaves{0};   // the adapter may send the next message
    ps arrives{0};  // the adapter may receive the next one
  };
  struct event {
    ps at;
    std::uint64_t number;  // events of one time in the order in which they came to be
    std::uint32_t rank;
    std::uint32_t operation;
    bool operator<(const event& o) const { return std::tie(at, number) > std::tie(o.at, o.number); }
  };
  // Messages from one rank to another with one tag: arrivals without a receive, and receives without an arrival.
  struct channel {
    std::deque<ps> arrived;
    std::deque<std::pair<std::uint32_t, ps>> waiting;
  };

  void ready(std::uint32_t r, std::uint32_t i, ps at) { events_.push({at, number_++, r, i}); }

  void begin(const event& e) {
    rank& r = ranks_[e.rank];
    const operation& o = s_.ranks[e.rank].operations[e.operation];
    ps& thread = r.thread_free[o.cpu];
    switch (o.what) {
      case action::calculate: {
        const ps begin = std::max(e.at, thread);
        thread = begin + o.time;
        return done(e, begin, thread);
      }
      case action::send: {
        const ps begin = std::max({e.at, thread, o.time});
        thread = begin + p_.o_send + bytes_at(p_.byte_o_send, o);
        const ps leaves = std::max(thread, r.leaves);
        r.leaves = leaves + std::max(p_.gap, bytes_at(p_.byte_gap, o));
        arrive(e.rank, o, leaves + p_.latency + bytes_at(p_.byte_gap, o));
        return done(e, begin, thread);
      }
      case action::receive:
        followers(e, e.at, true);
        channel& c = channels_[{o.peer, e.rank, o.tag}];
        if (c.arrived.empty()) {
          c.waiting.emplace_back(e.operation, e.at);
        } else {
          const ps arrived = c.arrived.front();
          c.arrived.pop_front();
          take(e.rank, e.operation, std::max(arrived, e.at));
        }
    }
  }
  void arrive(std::uint32_t from, const operation& o, ps at) {
    rank& to = ranks_[o.peer];
    at = std::max(at, to.arrives);
    to.arrives = at + std::max(p_.gap, bytes_at(p_.byte_gap, o));
    channel& c = channels_[{from, o.peer, o.tag}];
    if (c.waiting.empty()) return c.arrived.push_back(at);
    const auto [operation, posted] = c.waiting.front();
    c.waiting.pop_front();
    take(o.peer, operation, std::max(at, posted));
  }
  void take(std::uint32_t r, std::uint32_t i, ps at) {
    const operation& o = s_.ranks[r].operations[i];
    ps& thread = ranks_[r].thread_free[o.cpu];
    thread = std::max(at, thread) + p_.o_receive + bytes_at(p_.byte_o_receive, o);
    done({at, 0, r, i}, at, thread);
  }
  void done(const event& e, ps begun, ps at) {
    end_ = std::max(end_, at);
    if (s_.ranks[e.rank].operations[e.operation].what != action::receive) followers(e, begun, true);
    followers(e, at, false);
  }
  void followers(const event& e, ps at, bool begun) {
    rank& r = ranks_[e.rank];
    for (const order::follower& f : r.followers.followers(e.operation)) {
      if (f.begun == begun && --r.waits[f.operation] == 0) ready(e.rank, f.operation, at);
    }
  }
  [[nodiscard]] static ps bytes_at(double each, const operation& o) {
    return ps(static_cast<std::int64_t>(each * static_cast<double>(o.bytes == 0 ? 0 : o.bytes - 1)));
  }

  const schedule& s_;
  const loggp& p_;
  std::vector<rank> ranks_;
  std::priority_queue<event> events_;
  std::uint64_t number_ = 0;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, channel> channels_;
  ps end_{0};
};

}  // namespace

ps completion_time(const schedule& s, const loggp& p) {
  return loggp_run(s, p).run();
}

}  // namespace hcasim::schedules
