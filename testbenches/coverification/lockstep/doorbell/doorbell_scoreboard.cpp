#include "testbenches/coverification/lockstep/doorbell/doorbell_scoreboard.h"

#include <algorithm>
#include <cstring>

#include "firmware/abi/wqe.h"

namespace hcasim::lockstep {
namespace {

int ahead(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b));
}
std::byte wqe_byte(std::uint32_t qpn, std::uint32_t value, std::size_t at) {
  return static_cast<std::byte>(qpn * 7 + value * 13 + at);
}
bool of_qp(bell kind) {
  return kind == bell::send || kind == bell::receive;
}
template <class T>
void keep(std::deque<T>& d, const T& newest) {
  d.push_back(newest);
  if (d.size() > 4096) d.pop_front();  // more than are ever on their way
}

}  // namespace

std::vector<std::byte> wqe_of(const write_fields& f) {
  std::vector<std::byte> w(f.bytes);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = wqe_byte(f.number, f.value, i);
  hca_wqe_control c{};
  std::memcpy(&c, w.data(), sizeof c);
  c.blocks = f.blocks;
  c.index = static_cast<std::uint16_t>(f.value - f.blocks);
  c.qpn = f.number;
  std::memcpy(w.data(), &c, sizeof c);
  return w;
}

bool doorbell_scoreboard::written(std::uint64_t number, bell kind, const write_fields& f, std::uint64_t place) {
  queue_state& q = queues_[key(kind, f.number)];
  if (of_qp(kind) && !q.written) q.newest_written = first_of(f.number);
  const bool newest = !of_qp(kind) || ahead(f.value, q.newest_written) > 0;
  if (newest) q.newest_written = f.value;
  q.written = true;
  q.armed |= f.number >> 24 != 0;
  ++q.causes[f.value];
  q.open.push_back({number, f.value});
  leaving_.written(key(kind, f.number), number, f.value, !newest);
  queue_of_[number] = key(kind, f.number);
  keep(q.recent, {f.value, place, !newest});
  return newest;
}

void doorbell_scoreboard::decided(std::uint64_t number, bell kind, std::uint32_t of, leaving_scoreboard::fate what) {
  leaving_.decided(key(kind, of), number, what);
  if (what != leaving_scoreboard::fate::dropped) return;
  const auto queue = queue_of_.find(number);
  if (queue == queue_of_.end()) return;  // answered by a later doorbell
  for (waiting& w : queues_[queue->second].open) w.dropped |= w.number == number;
}

void doorbell_scoreboard::told(std::uint32_t qpn, const hca_qp_record& record, bool failed, std::uint64_t taken) {
  sent_.push_back({qpn, record, failed});
  if (failed) return;
  leaving_.told(key(bell::send, qpn), record.sq_pi);
  leaving_.told(key(bell::receive, qpn), record.rq_pi);
  keep(qps_[qpn].samples, {record, taken});
  ++queues_[key(bell::send, qpn)].causes[record.sq_pi & 0xffff];
  ++queues_[key(bell::receive, qpn)].causes[record.rq_pi & 0xffff];
}

void doorbell_scoreboard::records_taken(std::uint64_t n, std::uint64_t doorbells) {
  for (; records_taken_ < n && !sent_.empty(); ++records_taken_) {
    const record_sent s = sent_.front();
    sent_.pop_front();
    if (s.failed) continue;
    due_.push_back({key(bell::send, s.qpn), s.record.sq_pi & 0xffff, doorbells + on_way});
    due_.push_back({key(bell::receive, s.qpn), s.record.rq_pi & 0xffff, doorbells + on_way});
  }
}

std::string doorbell_scoreboard::overdue(std::uint64_t by) const {
  for (const due_index& d : due_) {
    if (d.at >= by) break;
    const queue_state& q = queues_.at(d.queue);
    if (!q.any_passed || ahead(q.passed, d.index) < 0)
      return "a record of QP " + std::to_string(d.queue & 0xffffff) + " told of " + std::to_string(d.index) +
             ", which is not rung";
  }
  return {};
}

std::string doorbell_scoreboard::never_passed() const {
  return overdue(~std::uint64_t{0});
}

bool doorbell_scoreboard::on_its_way(const queue_state& q, const rung& r) const {
  const auto write = std::find_if(q.recent.rbegin(), q.recent.rend(), [&](const auto& w) { return w.value == r.value; });
  if (write == q.recent.rend()) return false;
  if (write->late) return true;
  const auto known = qps_.find(r.number);
  return known != qps_.end() && std::any_of(known->second.samples.begin(), known->second.samples.end(), [&](const sample& s) {
           const std::uint32_t index = r.kind == bell::send ? s.record.sq_pi : s.record.rq_pi;
           return q.passed == (index & 0xffff) && write->place >= s.taken;
         });
}

std::string doorbell_scoreboard::wrong_with(const queue_state& q, const rung& r) const {
  if (of_qp(r.kind)) {
    if (q.written ? ahead(r.value, q.newest_written) > 0 : r.value != first_of(r.number)) return "ahead of software";
    if (q.any_passed && ahead(r.value, q.passed) < 0 && !on_its_way(q, r)) return "after " + std::to_string(q.passed);
  } else {
    if (q.armed && r.number >> 24 == 0 && r.value == q.newest_written) return "and its arming is lost";
    if (!q.written || static_cast<std::int32_t>(r.value - q.newest_written) > 0) return "which was never written";
  }
  if (r.wqe.empty()) return {};
  write_fields f;
  f.number = r.number;
  f.value = r.value;
  f.bytes = static_cast<std::uint32_t>(r.wqe.size());
  f.blocks = static_cast<std::uint8_t>(r.wqe.size() / HCA_WQE_BLOCK);
  return r.wqe == wqe_of(f) ? "" : "with another WQE";
}

const doorbell_scoreboard::verdict& doorbell_scoreboard::passed(const rung& r) {
  static constexpr const char* names[] = {"sq", "rq", "cq", "eq"};
  queue_state& q = queues_[key(r.kind, r.number)];
  verdict_.problem.clear();
  verdict_.answered.clear();
  verdict_.place = q.open.empty() ? 0 : q.open.front().number;
  if (const std::string wrong = wrong_with(q, r); !wrong.empty()) {
    verdict_.problem = std::string(names[static_cast<std::size_t>(r.kind)]) + " " + std::to_string(r.number & 0xffffff) +
                       " is rung with " + std::to_string(r.value) + ", " + wrong;
    return verdict_;
  }
  if (const std::string lost = leaving_.passed(key(r.kind, r.number), r.value); !lost.empty()) {
    verdict_.problem = std::string(names[static_cast<std::size_t>(r.kind)]) + " " + std::to_string(r.number & 0xffffff) +
                       " is rung with " + std::to_string(r.value) + ", " + lost;
    return verdict_;
  }
  if (--q.causes[r.value] < 0) {
    verdict_.problem = std::string(names[static_cast<std::size_t>(r.kind)]) + " " + std::to_string(r.number & 0xffffff) +
                       " is rung with " + std::to_string(r.value) + " more often than it was written";
    return verdict_;
  }
  if (!q.any_passed || !of_qp(r.kind) || ahead(r.value, q.passed) > 0) q.passed = r.value;
  q.any_passed = true;
  verdict_.problem = overdue(++rings_);
  while (!due_.empty() && due_.front().at < rings_) due_.pop_front();
  if (r.number >> 24 != 0) q.armed = false;
  while (!q.open.empty() && (of_qp(r.kind) ? ahead(r.value, q.open.front().value) >= 0
                                           : static_cast<std::int32_t>(r.value - q.open.front().value) >= 0)) {
    verdict_.answered.push_back({q.open.front().number, q.open.front().dropped});
    queue_of_.erase(q.open.front().number);
    q.open.pop_front();
  }
  return verdict_;
}

}  // namespace hcasim::lockstep
