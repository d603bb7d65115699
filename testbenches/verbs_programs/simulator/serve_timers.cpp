// Requests about timers that are files.
#include <algorithm>

#include "testbenches/verbs_programs/simulator/handler.h"
#include "testbenches/verbs_programs/simulator/tokens.h"

namespace hcasim::applications {
namespace {

ps as_time(std::uint64_t t) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 60;
  return ps(static_cast<std::int64_t>(std::min(t, longest)));
}

int open_timer(caller& k, const channel::open_timer&, channel::made& out) {
  std::vector<descriptor> with = k.descriptors(1);
  if (with.size() != 1) return EINVAL;
  client& p = k.who;
  const auto unused = std::find_if(p.timers.begin(), p.timers.end(), [](const timer_file& t) { return !t.is_open(); });
  timer_file& t = unused == p.timers.end() ? p.timers.emplace_back() : *unused;
  t.open(count_in(std::move(with[0]), p.sleeping));
  out.object = p.timer_files.add(&t);
  return 0;
}

int close_timer(caller& k, const channel::close_timer& in, channel::nothing&) {
  timer_file* const t = k.who.timer_files.find(in.timer);
  if (!t) return EINVAL;
  k.who.timer_files.remove(in.timer);
  t->close();
  return 0;
}

int set_timer(caller& k, const channel::set_timer& in, channel::set_timer::answer& out) {
  timer_file* const t = k.who.timer_files.find(in.timer);
  if (!t) return EINVAL;
  k.c.sync();
  out = {static_cast<std::uint64_t>(t->left().count()), static_cast<std::uint64_t>(t->interval().count())};
  if (in.changes) t->set(as_time(in.first), as_time(in.interval));
  return 0;
}

int read_timer(caller& k, const channel::read_timer& in, channel::read_timer::answer& out) {
  timer_file* const t = k.who.timer_files.find(in.timer);
  if (!t) return EINVAL;
  k.c.sync();
  out.expired = t->take();
  return 0;
}

}  // namespace

void add_timer_requests(handler_table& t) {
  add<channel::open_timer, open_timer>(t);
  add<channel::close_timer, close_timer>(t);
  add<channel::set_timer, set_timer>(t);
  add<channel::read_timer, read_timer>(t);
}

}  // namespace hcasim::applications
