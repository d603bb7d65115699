#include "testbenches/traffic/replay/trace_reader.h"

#include <array>

#include "models/system/limits.h"

namespace hcasim::replay {

using namespace verbs;  // NOLINT(google-build-using-namespace): verbs

namespace {

constexpr std::string_view magic = "hcasim traffic";
constexpr std::uint64_t version = 2;  // 1 has no ports, service levels and GRHs

struct opcode_word {
  std::string_view name;
  ibv_wr_opcode opcode;
};
constexpr std::array<opcode_word, 11> opcode_words{{{"write", IBV_WR_RDMA_WRITE},
                                                    {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
                                                    {"read", IBV_WR_RDMA_READ},
                                                    {"send", IBV_WR_SEND},
                                                    {"send_imm", IBV_WR_SEND_WITH_IMM},
                                                    {"send_invalidate", IBV_WR_SEND_WITH_INV},
                                                    {"cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
                                                    {"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD},
                                                    {"bind", IBV_WR_BIND_MW},
                                                    {"register", IBV_WR_REG_MR},
                                                    {"invalidate", IBV_WR_LOCAL_INV}}};

}  // namespace

std::uint32_t trace_reader::head() {
  if (!next()) fail_at(1, "the file is empty", "name a file of --record-traffic");
  if (!text_.starts_with(magic))
    fail(fmt::format("this is no recorded traffic: the line 'hcasim traffic {}' is missing", version),
         "name a file of --record-traffic");
  words_.rest.remove_prefix(magic.size());
  const std::string_view v = words_.take();
  if (v != "1" && v != fmt::format("{}", version))
    fail(fmt::format("version '{}' is unknown, and this program reads versions 1 to {}", v, version),
         "record with this program, or replay with the program that recorded");
  if (!next()) fail_at(2, "the file is cut off");
  key("nodes");
  out_.nodes = small(most_nodes);
  if (out_.nodes == 0) fail("a record without nodes has nothing to replay", "record a run with adapters");
  line_ends();
  return out_.nodes;
}

// Reads "3+4096" of a region, "k3+4096" of a key.
trace_place trace_reader::place(std::string_view word) {
  if (word == "?") {
    fail("the record does not know the memory of this request",
         "record a run whose requests name regions, or windows and fast registrations over them");
  }
  trace_place p;
  p.keyed = word.starts_with('k');
  if (p.keyed) word.remove_prefix(1);
  const std::size_t plus = word.find('+');
  if (plus == std::string_view::npos) fail(fmt::format("'{}' is no place such as 3+4096", word));
  p.of = static_cast<std::uint32_t>(number_in(word.substr(0, plus), most_objects));
  p.offset = number_in(word.substr(plus + 1), std::numeric_limits<std::int64_t>::max());
  return p;
}

// Reads "64@3+4096", or "64@-" of inline data.
trace_piece trace_reader::piece(std::string_view word) {
  trace_piece p;
  const std::size_t at = word.find('@');
  if (at == std::string_view::npos) fail(fmt::format("'{}' is no piece of memory such as 64@3+4096", word));
  p.length = static_cast<std::uint32_t>(number_in(word.substr(0, at), std::uint64_t{1} << 31));
  if (word.substr(at + 1) != "-") p.at = place(word.substr(at + 1));
  return p;
}

void trace_reader::pieces(trace_step& s) {
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

void trace_reader::post_flags(trace_step& s) {
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

void trace_reader::post(trace_step& s) {
  s.object = named("qp");
  const std::string_view word = words_.take();
  const opcode_word* known = nullptr;
  for (const opcode_word& o : opcode_words) {
    if (o.name == word) known = &o;
  }
  if (!known) fail(word.empty() ? std::string("the line is cut off") : fmt::format("there is no operation '{}'", word));
  s.opcode = known->opcode;
  post_flags(s);
  pieces(s);
  const bool names_key = makes_key(s.opcode) || s.opcode == IBV_WR_LOCAL_INV || s.opcode == IBV_WR_SEND_WITH_INV;
  for (std::string_view next = words_.take(); !next.empty(); next = words_.take()) {
    if (next == "to") {
      target(s, names_key);
    } else if (next == "srq") {
      const std::string_view srq = words_.take();
      if (srq == "?") fail("the record does not know the SRQ of this request", "record a run from its begin");
      s.shared = static_cast<std::uint32_t>(number_in(srq, most_objects));
    } else if (!reads_way(next, s.way)) {
      fail(fmt::format("'{}' stands where 'to' is expected", next));
    }
  }
  if (names_key && !s.remote.keyed) fail("the line is cut off: the key is missing");
}

// Reads "to 3+4096", or "to qp 7" and "to group 1" of a datagram. A request that makes a key has "to key 2 RIGHTS", an end has
// "to key 2".
void trace_reader::target(trace_step& s, bool names_key) {
  const std::string_view word = words_.take();
  if (word == "group") {
    s.remote = {.of = small(), .group = true};
  } else if (word == "qp") {
    const std::string_view qp = words_.take();
    if (qp == "?") fail("the datagram goes to no QP of the record", "record a run whose datagrams have a receiver");
    s.remote.of = static_cast<std::uint32_t>(number_in(qp, most_objects));
  } else if (word == "key" && names_key) {
    const std::string_view number = words_.take();
    if (number == "?")
      fail("the record does not know this key", "record a run that ends keys of windows or fast registrations");
    s.remote = {.of = static_cast<std::uint32_t>(number_in(number, most_objects)), .keyed = true};
    if (makes_key(s.opcode)) s.access = small(0xffff);
  } else if (names_key) {
    fail(fmt::format("'{}' stands where 'key' is expected", word));
  } else if (word != "-") {
    s.remote = place(word);
  }
}

void trace_reader::receive(trace_step& s) {
  const std::string_view queue = words_.take();
  if (queue != "qp" && queue != "shared") fail(fmt::format("'{}' stands where 'qp' or 'shared' is expected", queue));
  s.to_shared = queue == "shared";
  s.object = small();
  post_flags(s);
  pieces(s);
}

void trace_reader::done(trace_step& s) {
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

bool trace_reader::event_line(std::string_view word) {
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

void trace_reader::last_line() {
  if (in_.eof()) fail("the file is cut off in its last line");
  if (const std::uint64_t said = number(); said != events_)
    fail(fmt::format("the record has {} events, and {} stand here: lines are missing", said, events_));
  out_.end = ps(static_cast<std::int64_t>(number()));
  line_ends();
}

trace trace_reader::whole() {
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
      const bool local = s.kind == step_kind::post && (s.opcode == IBV_WR_REG_MR || s.opcode == IBV_WR_LOCAL_INV);
      if (local && out_.keys[s.remote.of].kind == key_kind::fast) out_.qps[s.object].privileged = true;
      if (s.kind == step_kind::done && s.events) out_.queues[s.object].events = true;
    }
  }
  return std::move(out_);
}

std::uint32_t read_nodes(std::istream& in, const std::string& name) {
  return trace_reader(in, name).head();
}

trace read_trace(std::istream& in, const std::string& name) {
  return trace_reader(in, name).whole();
}

}  // namespace hcasim::replay
