// Programs that cannot be run, or do what they should not: each gets a clear message or an errno value, and the simulator goes
// on.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "testbenches/verbs_programs/channel/channel.h"
#include "testbenches/verbs_programs/testing/run_programs.h"
#include "tlm/base/send_signal.h"

namespace hcasim::applications {
namespace {

namespace fs = std::filesystem;

class misuse : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = obstacle("ibv_devices"); !why.empty()) GTEST_SKIP() << why;
    if (!fs::exists(program_)) GTEST_SKIP() << "the program of these tests was not built: libibverbs-dev is missing";
  }
  outcome run(const std::string& words, const std::string& options = "") {
    return exec(folder_ / "out", "-- " + words, options);
  }
  outcome run_own(const std::string& what) { return run(program_ + " " + what); }
  std::string copy(const char* of, mode_t mode) {
    std::string to = folder_ / "program";
    fs::copy_file(of, to);
    ::chmod(to.c_str(), mode);
    return to;
  }
  std::string printed(int program) { return file_content(folder_ / fmt::format("out/program{}.txt", program)); }
  [[nodiscard]] double figure_of(const char* name) const { return figure(folder_ / "out", name); }

  scratch folder_;
  std::string program_ = fs::path(places::program).parent_path() / "hcasim_misuse";
  std::string connections_ = fs::path(places::program).parent_path() / "hcasim_connections";
};

#define EXPECT_SAYS(outcome, wanted, words)                     \
  do {                                                          \
    const auto o = outcome;                                     \
    EXPECT_EQ(o.status, wanted) << o.text;                      \
    EXPECT_NE(o.text.find(words), std::string::npos) << o.text; \
  } while (false)

TEST_F(misuse, a_program_that_does_not_exist) {
  EXPECT_SAYS(run("no_such_program"), 2, "there is no program 'no_such_program' in PATH");
  EXPECT_SAYS(run("./no_such_program"), 2, "No such file");
  EXPECT_SAYS(run("/usr"), 2, "is not a file");
  EXPECT_SAYS(run("/etc/passwd"), 2, "may not be executed");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(misuse, a_program_that_the_library_cannot_reach) {
  EXPECT_SAYS(run(copy("/bin/true", 04755)), 2, "set-user-ID");
  EXPECT_SAYS(run(fs::path(places::program).parent_path() / "hcasim_static"), 2, "linked statically");
}

TEST_F(misuse, bad_words_for_a_program_are_refused) {
  EXPECT_SAYS(exec(folder_ / "out", ""), 2, "there is no program");
  EXPECT_SAYS(exec(folder_ / "out", "--"), 2, "no command follows");
  EXPECT_SAYS(run_program(places::program, "run applications --no-trace --param program0.run=\"a 'b\""), 2, "is not closed");
  EXPECT_SAYS(run("true", "--param program0.start=soon"), 2, "first_idle");
  EXPECT_SAYS(run("true", "--set nodes=300 --param program0.node=254"), 2, "node 254 has no address");
  EXPECT_SAYS(run("true", "--param device_name=a/b"), 2, "device_name: 'a/b' is no name of a device");
}

TEST_F(misuse, the_status_of_a_program_is_the_runs) {
  EXPECT_EQ(run("true").status, 0);
  EXPECT_SAYS(run("sh -c 'exit 3'"), 1, "ended with status 3, not with 0");
  EXPECT_EQ(run("sh -c 'exit 3'", "--param program0.expect=3").status, 0);
  EXPECT_SAYS(run("sh -c 'kill -SEGV $$'"), 1, "ended with status 139 (signal 11, Segmentation fault), not with 0");
  EXPECT_SAYS(run("sh -c 'exit 255'"), 1, "ended with status 255, not with 0");
  EXPECT_SAYS(run("sh -c 'exit 139'"), 1, "ended with status 139, not with 0");
}

TEST_F(misuse, a_program_that_is_stopped) {
  EXPECT_SAYS(run("sh -c 'kill -STOP $$'"), 1, "program0 (sh) was stopped by a signal and did not go on for 10 s");
}

TEST_F(misuse, a_library_of_another_version) {
  EXPECT_SAYS(run_own("version"), 1, fmt::format("speaks version {} of the channel", channel::version + 1));
}

TEST_F(misuse, wild_handles_and_addresses) {
  EXPECT_EQ(run_own("wild").status, 0) << printed(0);
}

TEST_F(misuse, a_program_that_leaves_everything_behind) {
  EXPECT_EQ(run_own("leave").status, 0) << printed(0);
}

TEST_F(misuse, a_program_without_memory) {
  EXPECT_EQ(run_own("memory").status, 0) << printed(0);
}

TEST_F(misuse, memory_that_is_unmapped_while_it_is_registered) {
  EXPECT_EQ(run_own("unmap").status, 0) << printed(0);
}

// Shared memory that the program has made read-only cannot be written.
TEST_F(misuse, data_that_is_lost_fails_the_run) {
  const std::string objects = fs::path(places::program).parent_path() / "hcasim_objects";
  if (!fs::exists(objects)) GTEST_SKIP();
  EXPECT_SAYS(run(objects + " protected_shared"), 1, "program0: the adapter did not reach the mapped page at 0x");
}

TEST_F(misuse, a_fork_in_the_middle) {
  EXPECT_EQ(run_own("fork").status, 0) << printed(0);
  EXPECT_EQ(printed(0), "child\nparent\n");
  EXPECT_EQ(figure_of("unknown_waits"), 0);
}

TEST_F(misuse, a_pipeline_of_a_shell) {
  EXPECT_EQ(run("bash -c 'ibv_devinfo | head -1; echo done'").status, 0);
  EXPECT_EQ(printed(0), "hca_id:\thcasim0\ndone\n");
}

TEST_F(misuse, timers_that_are_files) {
  ASSERT_EQ(run_own("timers").status, 0) << printed(0);
  EXPECT_EQ(printed(0), "first after 250000 us\nthen 3 times\n");
  EXPECT_EQ(figure_of("unknown_waits"), 0);
}

TEST_F(misuse, timers_that_signal) {
  ASSERT_EQ(run_own("signals").status, 0) << printed(0);
  const std::string first = printed(0);
  EXPECT_EQ(first.find("first after 250000 us\nfourth after 34"), 0U) << first;
  EXPECT_EQ(figure_of("unknown_waits"), 0);
  ASSERT_EQ(run_own("signals").status, 0);
  EXPECT_EQ(printed(0), first);
}

// 30 ms of looks at the clock and 50 ms of sleep: the same in every run.
TEST_F(misuse, clocks_of_processor_time) {
  ASSERT_EQ(run_own("clocks").status, 0) << printed(0);
  const std::string first = printed(0);
  EXPECT_EQ(first,
            "times: 8 elapsed, 3 user, 0 system\nstat: 3, self: 3\nprocess: 30000 us, 30000 us, 30000 us\nthread: 30000 us\n"
            "children: 20000 us, 2 ticks\nup: 1000.10 s, 1000 s, 1000 s\nalarm: 9999000 us\n");
  EXPECT_EQ(figure_of("machine_clocks"), 0);
  ASSERT_EQ(run_own("clocks").status, 0);
  EXPECT_EQ(printed(0), first);
}

TEST_F(misuse, calls_with_a_limit_end_at_it) {
  ASSERT_EQ(run_own("limits").status, 0) << printed(0);
  EXPECT_EQ(printed(0).find("wrong"), std::string::npos) << printed(0);
  EXPECT_NE(printed(0).find("cnd_timedwait: 5 ms"), std::string::npos) << printed(0);
  EXPECT_EQ(figure_of("unknown_waits"), 0);
}

TEST_F(misuse, clocks_of_the_machine_are_counted) {
  EXPECT_EQ(run_own("machine_clocks").status, 0) << printed(0);
  EXPECT_EQ(figure_of("machine_clocks"), 3);
}

// A wait for a file lock that another process holds is an unknown sleep.
TEST_F(misuse, an_unknown_sleep_is_named) {
  const std::string lock = folder_ / "lock";
  EXPECT_SAYS(run(fmt::format("sh -c 'flock {0} sleep 0.5 & sleep 0.1; flock {0} true; wait'", lock)), 0, "flock");
  EXPECT_GT(figure_of("unknown_waits"), 0);
}

TEST_F(misuse, a_run_that_waits_for_ever_shows_what_its_programs_said) {
  const auto begun = std::chrono::steady_clock::now();
  const outcome o =
      run("sh -c 'echo so far; mkfifo " + folder_ / "fifo" + "; exec 3<>" + folder_ / "fifo" + "; read word <&3'");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.text.find("nothing has come from outside for 10 s; "), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("waits for descriptors (1); program0 said 'so far' last (program0.txt)"), std::string::npos) << o.text;
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_LT(took, std::chrono::seconds(18)) << "the message says 10 s";
}

// Ctrl-C ends a run in order, and the programs' output is kept.
TEST_F(misuse, a_run_that_is_interrupted_keeps_what_it_has) {
  const std::string note = folder_ / "begun";
  const pid_t simulator = ::fork();
  if (simulator == 0) {
    const std::string line = fmt::format(
        "exec {} exec -o {} --force --no-trace --param progress=100ms -- sh -c 'echo so far; echo > {}; while :; do :; done' "
        ">{} 2>&1",
        places::program, folder_ / "out", note, folder_ / "said");
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  constexpr int turns = 400;
  constexpr unsigned turn = 50'000;  // us
  const auto says_so = [&] { return file_content(folder_ / "said").find("makes no call: it computes") != std::string::npos; };
  for (int i = 0; i < turns && !(fs::exists(note) && says_so()); ++i) ::usleep(turn);
  ASSERT_TRUE(says_so());
  signal_process(simulator, SIGINT);
  int status = 0;
  ::waitpid(simulator, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  EXPECT_EQ(printed(0), "so far\n");
  EXPECT_NE(file_content(folder_ / "out/result.json").find("stopped by a signal at"), std::string::npos);
}

// A signal that ends the run ends the first program, for whose sleep the second one waits.
TEST_F(misuse, no_program_is_started_after_a_signal_has_ended_the_run) {
  const std::string note = folder_ / "begun";
  const outcome o = run("sh -c 'kill -TERM $PPID; while :; do :; done' -- sh -c 'echo > " + note + "'");
  EXPECT_EQ(o.status, 143) << o.text;
  EXPECT_NE(o.text.find("stopped by a signal at"), std::string::npos) << o.text;
  EXPECT_FALSE(fs::exists(note));
}

// A server that polls without sleep is ready for its client.
TEST_F(misuse, a_program_that_polls_in_vain_lets_the_next_one_start) {
  for (const char* how : {"polls", "polls_beside"}) {
    const std::string note = folder_ / how;
    EXPECT_EQ(run(fmt::format("{0} {1} {2} -- sh -c 'echo > {2}'", program_, how, note)).status, 0) << printed(0);
  }
}

TEST_F(misuse, a_child_that_is_killed) {
  ASSERT_EQ(run_own("killed").status, 0) << printed(0);
  const std::string result = file_content(folder_ / "out/result.json");
  EXPECT_EQ(figure_of("unknown_waits"), 0);
  ASSERT_EQ(run_own("killed").status, 0);
  EXPECT_EQ(file_content(folder_ / "out/result.json"), result);
}

// A child program that the library cannot enter runs outside the simulation, with a message.
TEST_F(misuse, a_child_without_the_library_is_reported) {
  const std::string outside = fs::path(places::program).parent_path() / "hcasim_static";
  const std::string words = outside + " runs outside the simulation, by the machine's clock: it is linked statically";
  EXPECT_SAYS(run(fmt::format("sh -c '{}; true'", outside)), 0, words);
  EXPECT_SAYS(run(fmt::format("env {}", outside)), 0, words);
  for (const char* how : {"", ", close_fds=False"}) {  // by fork, and by posix_spawn
    EXPECT_SAYS(run(fmt::format("/usr/bin/python3 -c 'import subprocess; subprocess.run([\"{}\"]{})'", outside, how)), 0,
                words);
  }
  if (::geteuid() != 0) return;  // only root can make a file of another user
  const std::string other = copy("/bin/true", 0755);
  ASSERT_EQ(::chown(other.c_str(), 65534, 65534), 0);
  ::chmod(other.c_str(), 04755);
  EXPECT_SAYS(run(fmt::format("sh -c '{}; true'", other)), 0,
              other + " runs outside the simulation, by the machine's clock: it is set-user-ID");
}

// A node's name may stand in a word, where it is not replaced.
TEST_F(misuse, a_name_within_a_word) {
  EXPECT_EQ(run("sh -c 'getent ahostsv4 node1 | head -1'", "--set nodes=2").status, 0);
  EXPECT_EQ(printed(0).substr(0, 10), "127.0.0.2 ");
  EXPECT_SAYS(run("sh -c 'getent ahostsv4 node2'", "--set nodes=2"), 1, "ended with status 2");
  if (const std::string why = obstacle("ibv_rc_pingpong"); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(run("ibv_rc_pingpong -- sh -c 'ibv_rc_pingpong node0'").status, 0);
  EXPECT_NE(printed(1).find("8192000 bytes in"), std::string::npos) << printed(1);
}

TEST_F(misuse, raw_packets_on_an_infiniband_link) {
  if (const std::string why = obstacle("raw_ethernet_lat"); !why.empty()) GTEST_SKIP() << why;
  const std::string words = "raw_ethernet_lat --client -B 02:00:00:00:00:01 -E 02:00:00:00:00:02";
  EXPECT_EQ(run(words, "--param program0.expect=1").status, 0);
  EXPECT_NE(printed(0).find("can only run on Ethernet link"), std::string::npos) << printed(0);
}

TEST_F(misuse, a_program_that_is_killed_leaves_its_peer_a_timeout) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const std::string killed = "bash -c 'ib_write_bw -F --run_infinitely -s 65536 & sleep 1; kill -9 $!; wait $!; exit 5'";
  const outcome o = exec(folder_ / "out", fmt::format("-- {} -- ib_write_bw -F --run_infinitely -s 65536 node0", killed),
                         "--param program0.expect=5 --param program1.expect=1 --set link.rate=1Gb/s");
  EXPECT_EQ(o.status, 0) << o.text;
}

// The same holds for a program that makes no call.
TEST_F(misuse, nothing_of_a_run_outlives_the_simulator) {
  const std::string note = folder_ / "number";
  const std::string words = fmt::format("sh -c '(echo > {0}.new; while :; do :; done) & echo $! > {0}; wait'", note);
  const pid_t simulator = ::fork();
  if (simulator == 0) {
    const std::string line =
        fmt::format("exec {} exec -o {} --force --no-trace -- {} >/dev/null 2>&1", places::program, folder_ / "out", words);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  constexpr int turns = 200;
  constexpr unsigned turn = 50'000;  // us
  const auto begun = [&] { return !file_content(note).empty() && fs::exists(note + ".new"); };
  for (int i = 0; i < turns && !begun(); ++i) ::usleep(turn);
  ASSERT_TRUE(begun());
  signal_process(simulator, SIGKILL);
  ::waitpid(simulator, nullptr, 0);
  const pid_t left = std::stoi(file_content(note));
  const auto gone = [&] {
    const std::string state = file_content(fmt::format("/proc/{}/stat", left));
    return state.empty() || state.find(") Z") != std::string::npos;
  };
  for (int i = 0; i < turns && !gone(); ++i) ::usleep(turn);
  EXPECT_TRUE(gone());
}

TEST_F(misuse, threads_that_wait_for_each_other) {
  ASSERT_EQ(run_own("threads").status, 0) << printed(0);
  EXPECT_EQ(printed(0), "turns: 200\n");
  EXPECT_EQ(figure_of("unknown_waits"), 0);
}

TEST_F(misuse, events_without_a_reader) {
  EXPECT_EQ(run_own("closed").status, 0) << printed(0);
}

TEST_F(misuse, a_queue_is_resized) {
  EXPECT_EQ(run_own("resize").status, 0) << printed(0);
}

TEST_F(misuse, completions_say_when) {
  EXPECT_EQ(run_own("stamped").status, 0) << printed(0);
}

// The library steps a thread that may be waiting, and reads of the time-stamp counter come as faults. Neither ends a program
// that blocks signals.
TEST_F(misuse, programs_may_block_all_signals) {
  EXPECT_EQ(run_own("masked").status, 0) << printed(0);
}

// Reads of the library itself must stay when those of the program are replaced.
TEST_F(misuse, threads_read_the_counter_after_their_end) {
  for (const char* how : {"", "env HCASIM_REPLACE_COUNTER_READS=1 "}) {
    EXPECT_EQ(run(how + program_ + " late_reads").status, 0) << how << printed(0);
    EXPECT_EQ(printed(0), "late reads: 12\n") << how;
  }
}

TEST_F(misuse, a_shared_queue_grows) {
  EXPECT_EQ(run_own("grow").status, 0) << printed(0);
}

TEST_F(misuse, a_negative_number_of_segments) {
  EXPECT_EQ(run_own("segments").status, 0) << printed(0);
}

TEST_F(misuse, a_send_queue_is_drained_and_says_so) {
  EXPECT_EQ(run_own("drained").status, 0) << printed(0);
}

TEST_F(misuse, bad_writes_to_the_connection_manager_are_refused) {
  for (const char* what : {"garbage", "wild", "closed"}) EXPECT_EQ(run(connections_ + " " + what).status, 0) << printed(0);
}

TEST_F(misuse, a_program_that_ends_while_it_is_asked_to_connect) {
  EXPECT_EQ(run(connections_ + " dies_when_asked -- " + connections_ + " asks").status, 0) << printed(0) << printed(1);
  EXPECT_EQ(printed(1), "event 8, status 28\n") << "REJ, by its consumer";
}

TEST_F(misuse, a_program_that_ends_while_it_asks_to_connect) {
  EXPECT_EQ(run(connections_ + " is_asked_by_the_dead -- " + connections_ + " asks_and_dies").status, 0) << printed(0);
}

TEST_F(misuse, two_programs_on_one_port) {
  const std::string words = connections_ + " keeps_a_port -- " + connections_ + " wants_a_port";
  EXPECT_EQ(run(words, "--set nodes=1").status, 0);
  EXPECT_EQ(printed(1), "in use\n");
  EXPECT_EQ(run(words).status, 0);
  EXPECT_EQ(printed(1), "free\n") << "each node has ports of its own";
}

TEST_F(misuse, a_handler_of_its_own_for_faults) {
  ASSERT_EQ(run_own("faults").status, 0) << printed(0);
  EXPECT_EQ(printed(0), "faults: 3\n");
  EXPECT_EQ(figure_of("unproven_spins"), 0);
}

// The simulator knows a spawned child before its parent goes on, so every run is the same.
TEST_F(misuse, programs_begin_others) {
  ASSERT_EQ(run_own("spawn").status, 0) << printed(0);
  const std::string first = printed(0);
  EXPECT_EQ(first, "popen: 3 lines\npclose: 0\nspawned: 0\nvfork: 3\nto sh: 7\n");
  EXPECT_EQ(figure_of("unknown_waits"), 0);
  const std::string result = file_content(folder_ / "out/result.json");
  ASSERT_EQ(run_own("spawn").status, 0);
  EXPECT_EQ(printed(0), first);
  EXPECT_EQ(file_content(folder_ / "out/result.json"), result);
}

TEST_F(misuse, threads_end_while_they_are_looked_at) {
  ASSERT_EQ(run_own("ends").status, 0) << printed(0);
  EXPECT_EQ(printed(0), "signalled: 20\n");
}

TEST_F(misuse, computing_takes_no_simulated_time) {
  ASSERT_EQ(run_own("compute").status, 0) << printed(0);
  const std::string first = printed(0);
  EXPECT_EQ(figure_of("unproven_spins"), 0);
  ASSERT_EQ(run_own("compute").status, 0);
  EXPECT_EQ(printed(0), first);
}

class meeting : public misuse, public ::testing::WithParamInterface<const char*> {};

// The other thread goes on while one turns in a loop, even before a QP is connected.
TEST_P(meeting, a_wait_for_memory_ends_when_the_other_has_run) {
  ASSERT_EQ(run_own(std::string("meet ") + GetParam()).status, 0) << printed(0);
  EXPECT_EQ(printed(0), fmt::format("{}: met after {} us\n", GetParam(), std::string(GetParam()) == "computes" ? 0 : 1000));
  EXPECT_EQ(figure_of("unproven_spins"), 0);
  EXPECT_EQ(figure_of("unknown_waits"), 0);
}
INSTANTIATE_TEST_SUITE_P(ways, meeting, ::testing::Values("thread", "thread_clock", "process", "process_clock", "computes"),
                         [](const auto& i) { return std::string(i.param); });

struct loop {
  const char* name;
  bool proven;  // the library proves the wait
};
void PrintTo(const loop& l, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << l.name;
}
class spinning : public misuse, public ::testing::WithParamInterface<loop> {};

// A loop that comes back to the same state waits, and the library proves the wait. A loop that reads the clock needs no proof.
// There is no proof for other loops.
TEST_P(spinning, wait_is_proven_or_counted) {
  ASSERT_EQ(run_own(std::string("spin ") + GetParam().name).status, 0) << printed(0);
  if (GetParam().proven) {
    EXPECT_EQ(figure_of("unproven_spins"), 0);
  } else {
    EXPECT_GT(figure_of("unproven_spins"), 0);
  }
}
// Eight messages of 1024 packets each. A proven wait ends once a message, or twice.
TEST_F(misuse, a_wait_for_a_long_message_is_few_requests) {
  ASSERT_EQ(run_own("spin_long proven").status, 0) << printed(0);
  EXPECT_EQ(figure_of("unproven_spins"), 0);
  EXPECT_LT(figure_of("requests"), 100);
}

// Eight messages of 16 packets each. A loop that counts cannot be proven to wait. Each of its sleeps is a request, and they
// grow while no packet lands.
TEST_F(misuse, a_counting_wait_for_a_long_message_is_few_requests_a_packet) {
  ASSERT_EQ(run_own("spin_long counting").status, 0) << printed(0);
  EXPECT_GT(figure_of("unproven_spins"), 0);
  EXPECT_LT(figure_of("requests"), 8 * 16 * 2);
}

INSTANTIATE_TEST_SUITE_P(loops, spinning,
                         ::testing::Values(loop{"pure", true}, loop{"pause", true}, loop{"stack", true}, loop{"clock", true},
                                           loop{"stamp", true}, loop{"register", false}, loop{"memory", false},
                                           loop{"increment", false}),
                         [](const ::testing::TestParamInfo<loop>& i) { return i.param.name; });

}  // namespace
}  // namespace hcasim::applications
