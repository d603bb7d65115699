#include "testbenches/traffic/replay/trace.h"

#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace hcasim::replay {
namespace {

using namespace verbs;  // NOLINT(google-build-using-namespace): verbs

constexpr std::string_view magic = "hcasim traffic";
constexpr std::uint64_t version = 1;
constexpr std::uint32_t most_nodes = 64;
constexpr std::uint64_t most_objects = 1 << 24;
constexpr const char* again = "record the run again";

struct opcode_word {
  std::string_view name;
  ibv_wr_opcode opcode;
};
constexpr std::array<opcode_word, 7> opcode_words{{{"write", IBV_WR_RDMA_WRITE},
                                                   {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
                                                   {"read", IBV_WR_RDMA_READ},
                                                   {"send", IBV_WR_SEND},
                                                   {"send_imm", IBV_WR_SEND_WITH_IMM},
                                                   {"cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
                                                   {"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD}}};
constexpr std::array<std::string_view, 4> keyed_words{"bind", "invalidate", "register", "send_invalidate"};

bool names_memory(ibv_wr_opcode o) {
  return o != IBV_WR_SEND && o != IBV_WR_SEND_WITH_IMM;
}

class reader {
 public:
  reader(std::istream& in, const std::string& name) : in_(in), name_(name) { out_.name = name; }

  std::uint32_t head();
  trace whole();

 private:
  struct token_list {
    std::string_view rest;
    std::string_view take() {
      const std::size_t begin = rest.find_first_not_of(' ');
      if (begin == std::string_view::npos) return rest = {};
      const std::size_t end = std::min(rest.find(' ', begin), rest.size());
      const std::string_view word = rest.substr(begin, end - begin);
      rest.remove_prefix(end);
      return word;
    }
  };

  [[noreturn]] void fail(const std::string& fault, std::string_view mend = again) const { fail_at(line_, fault, mend); }
  [[noreturn]] void fail_at(std::uint32_t line, const std::string& fault, std::string_view mend = again) const {
    throw trace_error(fmt::format("{}:{}: {}; {}", name_, line, fault, mend));
  }
  bool next() {
    if (!std::getline(in_, text_)) return false;
    ++line_;
    words_.rest = text_;
    return true;
  }
  void key(std::string_view wanted) {
    if (const std::string_view got = words_.take(); got != wanted)
      fail(got.empty() ? fmt::format("the line is cut off before '{}'", wanted)
                       : fmt::format("'{}' stands where '{}' is expected", got, wanted));
  }
  std::uint64_t number_in(std::string_view word, std::uint64_t most) const {
    std::uint64_t v = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (word.empty()) fail("the line is cut off: a number is missing");
    if (error != std::errc() || end != word.data() + word.size()) fail(fmt::format("'{}' is no number", word));
    if (v > most) fail(fmt::format("{} is out of range; allowed is 0 to {}", v, most));
    return v;
  }
  std::uint64_t number(std::uint64_t most = std::numeric_limits<std::int64_t>::max()) { return number_in(words_.take(), most); }
  std::uint32_t small(std::uint64_t most = most_objects) { return static_cast<std::uint32_t>(number(most)); }
  std::uint32_t named(std::string_view what, std::uint64_t most = most_objects) {
    key(what);
    return small(most);
  }
  std::uint32_t node() { return named("node", out_.nodes - 1); }
  void line_ends() {
    if (const std::string_view more = words_.take(); !more.empty()) fail(fmt::format("'{}' behind the end of the line", more));
  }
  template <class T>
  T& object(std::vector<T>& list, std::vector<bool>& there) {
    const std::uint32_t n = small();
    if (n >= list.size()) list.resize(n + 1);
    if (n >= there.size()) there.resize(n + 1);
    if (there[n]) fail(fmt::format("object {} stands twice", n));
    there[n] = true;
    return list[n];
  }

  bool object_line(std::string_view word);
  void region_line();
  void qp_line();
  bool event_line(std::string_view word);
  void post(trace_step& s);
  void receive(trace_step& s);
  void done(trace_step& s);
  void post_flags(trace_step& s);
  void pieces(trace_step& s);
  trace_piece piece(std::string_view word);
  void region_place(std::string_view word, std::uint32_t& region, std::uint64_t& offset);
  void last_line();
  void check_objects();
  void check_step(const trace_thread& t, const trace_step& s) const;
  void check_post(const trace_thread& t, const trace_step& s) const;
  void check_pieces(const trace_step& s, std::uint32_t at) const;
  [[nodiscard]] bool is_empty(const trace_step& s) const;
  void must_have(bool there, const trace_step& s, std::string_view what, std::uint64_t number) const {
    if (!there) fail_at(s.line, fmt::format("there is no {} {}", what, number));
  }
  static bool has(const std::vector<bool>& there, std::uint64_t n) { return n < there.size() && there[n]; }

  std::istream& in_;
  std::string name_;
  std::string text_;
  std::uint32_t line_ = 0;
  token_list words_;
  trace out_;
  std::uint64_t events_ = 0;
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> completed_;  // by QP, receives or not
  std::vector<bool> has_region_, has_queue_, has_shared_, has_qp_, has_thread_;
};

std::uint32_t reader::head() {
  if (!next()) fail_at(1, "the file is empty", "name a file of --record-traffic");
  if (!text_.starts_with(magic))
    fail("this is no recorded traffic: the line 'hcasim traffic 1' is missing", "name a file of --record-traffic");
  words_.rest.remove_prefix(magic.size());
  const std::string_view v = words_.take();
  if (v != fmt::format("{}", version))
    fail(fmt::format("version '{}' is unknown, and this program reads version {}", v, version),
         "record with this program, or replay with the program that recorded");
  if (!next()) fail_at(2, "the file is cut off");
  key("nodes");
  out_.nodes = small(most_nodes);
  if (out_.nodes == 0) fail("a record without nodes has nothing to replay", "record a run with adapters");
  line_ends();
  return out_.nodes;
}

void reader::region_line() {
  trace_region& r = object(out_.regions, has_region_);
  r.node = node();
  key("bytes");
  r.bytes = number(std::numeric_limits<std::uint64_t>::max());
  r.offset = named("offset", 4095);
  key("memory");
  const std::string_view m = words_.take();
  constexpr std::array<std::string_view, 4> kinds{"host", "on_demand", "gpu", "device"};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (m != kinds[i]) continue;
    if (r.bytes > std::uint64_t{1} << 40)
      fail("the region is the whole address space of a process", "record the program without implicit on-demand regions");
    r.memory = static_cast<traffic::memory_kind>(i);
    return;
  }
  fail(fmt::format("a region of memory '{}' cannot be replayed", m),
       "record a run whose regions are registered by ibv_reg_mr, ibv_reg_dm_mr or ibv_reg_dmabuf_mr");
}

void reader::qp_line() {
  trace_qp& q = object(out_.qps, has_qp_);
  q.node = node();
  key("type");
  const std::string_view type = words_.take();
  if (type == "xrc") fail("a QP of XRC cannot be replayed", "record the program with another transport");
  if (type != "rc" && type != "uc" && type != "ud") fail(fmt::format("'{}' is no type of a QP", type));
  q.type = type == "rc" ? IBV_QPT_RC : type == "uc" ? IBV_QPT_UC : IBV_QPT_UD;
  q.cap.max_send_wr = named("sends");
  q.cap.max_send_sge = small();
  q.cap.max_recv_wr = named("receives");
  q.cap.max_recv_sge = small();
  q.cap.max_inline_data = named("inline");
  q.send_queue = named("queues");
  q.receive_queue = small();
  const auto maybe = [this](std::string_view what) {
    key(what);
    const std::string_view word = words_.take();
    return word == "-" ? nothing : static_cast<std::uint32_t>(number_in(word, most_objects));
  };
  q.shared = maybe("shared");
  q.peer = maybe("peer");
  const std::uint32_t mtu = named("mtu", 4096);
  q.mtu = mtu == 0 ? IBV_MTU_1024 : static_cast<ibv_mtu>(std::bit_width(mtu) - 8);
  if (mtu != 0 && (!std::has_single_bit(mtu) || mtu < 256)) fail(fmt::format("{} is no MTU", mtu));
  q.reads = static_cast<std::uint8_t>(named("reads", 255));
  q.timeout = static_cast<std::uint8_t>(named("timeout", 31));
  q.retry = static_cast<std::uint8_t>(named("retry", 7));
  q.rnr_retry = static_cast<std::uint8_t>(small(7));
  q.rnr_timer = static_cast<std::uint8_t>(small(31));
}

bool reader::object_line(std::string_view word) {
  if (word == "region") {
    region_line();
  } else if (word == "queue") {
    trace_queue& q = object(out_.queues, has_queue_);
    q.node = node();
    q.entries = named("entries", 1 << 22);
  } else if (word == "shared") {
    trace_shared& s = object(out_.shared, has_shared_);
    s.node = node();
    s.receives = named("receives");
    s.segments = small();
  } else if (word == "thread") {
    trace_thread& t = object(out_.threads, has_thread_);
    t.node = node();
  } else if (word == "qp") {
    qp_line();
  } else {
    return false;
  }
  line_ends();
  return true;
}

void reader::region_place(std::string_view word, std::uint32_t& region, std::uint64_t& offset) {
  const std::size_t plus = word.find('+');
  if (word == "?") {
    fail("the record does not know the memory of this request",
         "record a run whose requests name regions, not windows over memory of others");
  }
  if (plus == std::string_view::npos) fail(fmt::format("'{}' is no place such as 3+4096", word));
  region = static_cast<std::uint32_t>(number_in(word.substr(0, plus), most_objects));
  offset = number_in(word.substr(plus + 1), std::numeric_limits<std::int64_t>::max());
}

// Reads "64@3+4096", or "64@-" of inline data.
trace_piece reader::piece(std::string_view word) {
  trace_piece p;
  const std::size_t at = word.find('@');
  if (at == std::string_view::npos) fail(fmt::format("'{}' is no piece of memory such as 64@3+4096", word));
  p.length = static_cast<std::uint32_t>(number_in(word.substr(0, at), std::uint64_t{1} << 31));
  if (word.substr(at + 1) != "-") region_place(word.substr(at + 1), p.region, p.offset);
  return p;
}

void reader::pieces(trace_step& s) {
  std::string_view words = words_.take();
  if (words.empty()) fail("the line is cut off: the memory is missing");
  s.first = static_cast<std::uint32_t>(out_.pieces.size());
  if (words == "-") return;
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    out_.pieces.push_back(piece(words.substr(0, comma)));
    ++s.count;
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
}

void reader::post_flags(trace_step& s) {
  const std::string_view flags = words_.take();
  if (flags.empty()) fail("the line is cut off: the flags are missing");
  for (const char f : flags) {
    switch (f) {
      case 'S':
        s.flags |= IBV_SEND_SIGNALED;
        break;
      case 'F':
        s.flags |= IBV_SEND_FENCE;
        break;
      case 'I':
        s.flags |= IBV_SEND_INLINE;
        break;
      case 'E':
        s.flags |= IBV_SEND_SOLICITED;
        break;
      case 'M':
        s.more = true;
        break;
      case '-':
        break;
      default:
        fail(fmt::format("'{}' is no flag; flags are S, F, I, E, M", f));
    }
  }
}

void reader::post(trace_step& s) {
  s.object = named("qp");
  const std::string_view word = words_.take();
  for (const std::string_view keyed : keyed_words) {
    if (word == keyed)
      fail(fmt::format("the operation '{}' makes or ends a key, and cannot be replayed", word),
           "describe this traffic by flows (docs/traffic.md)");
  }
  const opcode_word* known = nullptr;
  for (const opcode_word& o : opcode_words) {
    if (o.name == word) known = &o;
  }
  if (!known) fail(word.empty() ? std::string("the line is cut off") : fmt::format("there is no operation '{}'", word));
  s.opcode = known->opcode;
  post_flags(s);
  pieces(s);
  const std::string_view to = words_.take();
  if (to.empty()) return;
  if (to != "to") fail(fmt::format("'{}' stands where 'to' is expected", to));
  const std::string_view place = words_.take();
  if (place == "-") return;
  if (place != "qp") return region_place(place, s.remote, s.remote_offset);
  const std::string_view qp = words_.take();
  if (qp == "?") fail("the datagram goes to no QP of the record, or to a group", "record a run without multicast");
  s.remote = static_cast<std::uint32_t>(number_in(qp, most_objects));
}

void reader::receive(trace_step& s) {
  const std::string_view queue = words_.take();
  if (queue != "qp" && queue != "shared") fail(fmt::format("'{}' stands where 'qp' or 'shared' is expected", queue));
  s.to_shared = queue == "shared";
  s.object = small();
  post_flags(s);
  pieces(s);
}

void reader::done(trace_step& s) {
  s.object = named("queue");
  const std::string_view how = words_.take();
  if (how != "events" && how != "polls") fail(fmt::format("'{}' stands where 'polls' or 'events' is expected", how));
  s.events = how == "events";
  s.first = static_cast<std::uint32_t>(out_.completions.size());
  for (std::string_view word = words_.take(); !word.empty(); word = words_.take()) {
    const std::size_t times = word.find('*');
    if (word[0] == 'f')
      fail("a request failed in the recorded run, and a replay does not repeat failures", "record a run without faults");
    if ((word[0] != 's' && word[0] != 'r') || times == std::string_view::npos)
      fail(fmt::format("'{}' is no completion such as s3*1", word));
    trace_completions k{static_cast<std::uint32_t>(number_in(word.substr(1, times - 1), most_objects)), word[0] == 'r',
                        static_cast<std::uint32_t>(number_in(word.substr(times + 1), most_objects))};
    k.so_far = completed_[{k.qp, k.receives}] += k.count;
    out_.completions.push_back(k);
    ++s.count;
  }
  if (s.count == 0) fail("the line is cut off: the completions are missing");
}

bool reader::event_line(std::string_view word) {
  if (word != "post" && word != "receive" && word != "done") return false;
  trace_step s;
  s.kind = word == "post" ? step_kind::post : word == "receive" ? step_kind::receive : step_kind::done;
  s.line = line_;
  const std::uint32_t thread = small();
  s.at = ps(static_cast<std::int64_t>(number()));
  s.gap = ps(static_cast<std::int64_t>(number()));
  if (s.kind == step_kind::post) {
    post(s);
  } else if (s.kind == step_kind::receive) {
    receive(s);
  } else {
    done(s);
  }
  line_ends();
  if (thread >= out_.threads.size()) out_.threads.resize(thread + 1);
  out_.threads[thread].steps.push_back(s);
  ++events_;
  return true;
}

void reader::last_line() {
  if (in_.eof()) fail("the file is cut off in its last line");
  if (const std::uint64_t said = number(); said != events_)
    fail(fmt::format("the record has {} events, and {} stand here: lines are missing", said, events_));
  out_.end = ps(static_cast<std::int64_t>(number()));
  line_ends();
}

trace reader::whole() {
  head();
  bool ended = false;
  while (!ended && next()) {
    const std::string_view word = words_.take();
    if (word == "end") {
      last_line();
      ended = true;
    } else if (!event_line(word) && !object_line(word)) {
      fail(word.empty() ? std::string("the line is empty") : fmt::format("there is no line '{}'", word));
    }
  }
  if (!ended) fail("the file is cut off: its last line is not 'end'");
  if (events_ == 0) fail("nothing was posted in the recorded run", "record a run that posts");
  check_objects();
  for (const trace_thread& t : out_.threads) {
    for (const trace_step& s : t.steps) {
      check_step(t, s);
      if (s.kind == step_kind::post) ++out_.posts;
      if (s.kind == step_kind::done && s.events) out_.queues[s.object].events = true;
    }
  }
  return std::move(out_);
}

void reader::check_objects() {
  for (std::size_t i = 0; i < out_.qps.size(); ++i) {
    if (!has(has_qp_, i)) continue;
    const trace_qp& q = out_.qps[i];
    const auto need = [&](bool there, std::string_view what, std::uint32_t n) {
      if (!there) fail(fmt::format("qp {} has {} {}, and the record has no such object on its node", i, what, n));
    };
    const auto queue_here = [&](std::uint32_t n) { return has(has_queue_, n) && out_.queues[n].node == q.node; };
    need(queue_here(q.send_queue), "queue", q.send_queue);
    need(queue_here(q.receive_queue), "queue", q.receive_queue);
    need(q.shared == nothing || (has(has_shared_, q.shared) && out_.shared[q.shared].node == q.node), "shared", q.shared);
    if (q.type != IBV_QPT_UD)
      need(q.peer != nothing && has(has_qp_, q.peer) && out_.qps[q.peer].type == q.type, "peer", q.peer);
  }
}

void reader::check_pieces(const trace_step& s, std::uint32_t at) const {
  for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
    const trace_piece& p = out_.pieces[i];
    if (p.region == nothing) continue;
    must_have(has(has_region_, p.region) && out_.regions[p.region].node == at, s, fmt::format("node {} region", at), p.region);
    const std::uint64_t bytes = out_.regions[p.region].bytes;
    if (p.offset > bytes || p.length > bytes - p.offset)
      fail_at(s.line, fmt::format("{}+{} with {} bytes lies outside of the region", p.region, p.offset, p.length));
  }
}

bool reader::is_empty(const trace_step& s) const {
  for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
    if (out_.pieces[i].length != 0) return false;
  }
  return true;
}

void reader::check_post(const trace_thread& t, const trace_step& s) const {
  const trace_qp& q = out_.qps[s.object];
  check_pieces(s, t.node);
  if (q.type == IBV_QPT_UD) {
    must_have(has(has_qp_, s.remote) && out_.qps[s.remote].type == IBV_QPT_UD, s, "qp of datagrams", s.remote);
  } else if (names_memory(s.opcode) && (s.remote != nothing || !is_empty(s))) {
    const std::uint32_t node = out_.qps[q.peer].node;
    must_have(has(has_region_, s.remote) && out_.regions[s.remote].node == node, s, fmt::format("node {} region", node),
              s.remote);
    if (s.remote_offset > out_.regions[s.remote].bytes) fail_at(s.line, "the request lies outside of its region");
  }
}

void reader::check_step(const trace_thread& t, const trace_step& s) const {
  const auto thread = static_cast<std::size_t>(&t - out_.threads.data());
  must_have(has(has_thread_, thread), s, "thread", thread);
  if (s.kind == step_kind::done) {
    must_have(has(has_queue_, s.object) && out_.queues[s.object].node == t.node, s, "queue", s.object);
    for (std::uint32_t i = s.first; i < s.first + s.count; ++i)
      must_have(has(has_qp_, out_.completions[i].qp), s, "qp", out_.completions[i].qp);
  } else if (s.kind == step_kind::receive && s.to_shared) {
    must_have(has(has_shared_, s.object) && out_.shared[s.object].node == t.node, s, "shared", s.object);
    check_pieces(s, t.node);
  } else {
    must_have(has(has_qp_, s.object) && out_.qps[s.object].node == t.node, s, "qp", s.object);
    s.kind == step_kind::post ? check_post(t, s) : check_pieces(s, t.node);
  }
}

}  // namespace

std::uint32_t read_nodes(std::istream& in, const std::string& name) {
  return reader(in, name).head();
}

trace read_trace(std::istream& in, const std::string& name) {
  return reader(in, name).whole();
}

}  // namespace hcasim::replay
