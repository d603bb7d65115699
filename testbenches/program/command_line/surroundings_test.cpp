// Signals, limits, closed files, removed folders. Every command ends with status 0, with status 2 and the cause, or with a
// signal's status, and leaves nothing unfinished.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <regex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/selftest/selftest_program.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

class surroundings : public selftest_program {
 protected:
  // The script knows the program as $H.
  static outcome shell(const std::string& script) {
    file("/tmp/hcasim_script_" + std::to_string(::getpid()), fmt::format("H={}\n{}\n", places::selftest, script));
    const outcome o = run_program("sh", "/tmp/hcasim_script_" + std::to_string(::getpid()));
    fs::remove("/tmp/hcasim_script_" + std::to_string(::getpid()));
    return o;
  }
  static void ends(const std::string& script, int status, const std::string& words) {
    const outcome o = shell(script);
    EXPECT_EQ(o.status, status) << script << "\n" << o.text;
    EXPECT_NE(o.text.find(words), std::string::npos) << script << "\n" << o.text;
  }
  // A mount namespace of its own, where that is allowed.
  static bool may_mount() { return shell("unshare -m sh -c 'mount -t tmpfs none /mnt' 2> /dev/null").status == 0; }
  static void study() {
    file("s.yaml", "base: {testbench: count_ticks}\naxes: {n: {knob: seed, values: [1, 2]}}\nmetrics: {t: {figure: ticks}}\n");
  }
  // Expects that no unfinished output is there.
  void nothing_unfinished(const std::string& what) const {
    for (const std::string& name : files()) {
      EXPECT_EQ(name.find(".partial"), std::string::npos) << name << " is left by " << what;
      EXPECT_EQ(name.find(".gone"), std::string::npos) << name << " is left by " << what;
    }
  }
};

// A run ends in order only while it simulates. This one has simulated, and hangs.
TEST_F(surroundings, every_signal_that_ends_a_run_leaves_nothing_and_is_named) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGVTALRM, SIGUSR1, SIGUSR2, SIGXCPU}) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (const int s : {SIGINT, SIGQUIT}) std::signal(s, SIG_DFL);
      std::freopen("said.txt", "w", stderr);
      std::freopen("printed.txt", "w", stdout);
      ::execl(places::selftest, "hcasim", "run", "count_ticks", "-o", "deep/er/out", "--hang", "true", nullptr);
      ::_exit(99);
    }
    for (int i = 0; i < 6000 && content("printed.txt") != "hangs\n"; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    fs::remove("printed.txt");
    signal_process(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    EXPECT_EQ(content("said.txt"), fmt::format("hcasim: ended by SIG{} ({}); nothing is left of the run\n",
                                               sigabbrev_np(signal), sigdescr_np(signal)));
    EXPECT_EQ(files(), std::vector<std::string>{"said.txt"}) << signal;
  }
}

TEST_F(surroundings, a_signal_that_is_ignored_does_not_end_a_run) {
  ends(
      "trap '' HUP INT; $H run count_ticks -o out --hang true > /dev/null 2>&1 & p=$!\n"
      "while ! test -e .out.partial/resolved.yaml; do sleep 0.01; done\n"
      "kill -HUP $p; kill -INT $p; sleep 0.1; kill -0 $p && echo it goes on; kill -TERM $p; wait $p",
      143, "it goes on\n");
}

TEST_F(surroundings, a_sweep_ends_in_order_at_any_signal) {
  file("s.yaml",
       "base: {testbench: count_ticks, parameters: {hang: true}}\naxes: {n: {knob: seed, values: [1, 2]}}\n"
       "metrics: {t: {figure: ticks}}\n");
  ends(
      "$H sweep s.yaml -o out > /dev/null & p=$!; while ! test -e out/point-1.running; do sleep 0.01; done\n"
      "kill -HUP $p; wait $p",
      129, "interrupted; 'hcasim sweep s.yaml -o out --resume' goes on\n");
  EXPECT_FALSE(fs::exists("out/point-1.running"));
}

// The hard limit kills; a second before it the run is told.
TEST_F(surroundings, a_limit_of_processor_time_is_named) {
  if (!std::getenv("HCASIM_FULL")) GTEST_SKIP() << "takes a second of processor time; HCASIM_FULL=1 runs it";
  const outcome o = shell("ulimit -t 2; $H run count_ticks -o out --ticks 10000000 --waves fst");
  EXPECT_EQ(o.status, 152) << o.text;
  EXPECT_NE(o.text.find("failed: stopped by SIGXCPU (CPU time limit exceeded) at "), std::string::npos) << o.text;
  EXPECT_TRUE(fs::exists("out/result.json"));
}

TEST_F(surroundings, a_limit_of_file_sizes_is_named) {
  for (const char* more : {"--ticks 100000", "--ticks 1000000 --waves fst", "--ticks 100000 --spans --no-trace",
                           "--no-trace --ticks 1000000 --set statistics.interval=10ns"}) {
    const outcome o = shell(fmt::format("ulimit -f 20; $H run count_ticks -o out {}", more));
    if (o.status == 0 && std::string_view(more).find("--spans") != std::string::npos) {  // no requests, no spans
      fs::remove_all("out");
      continue;
    }
    EXPECT_EQ(o.status, 2) << more << o.text;
    EXPECT_NE(o.text.find(": File too large; raise the limit of file sizes (ulimit -f)\n"), std::string::npos) << o.text;
    EXPECT_TRUE(files().empty()) << more;
  }
}

// A process that could not be started has the number -1, and a signal to -1 ends every process of the machine.
TEST(signals, go_to_processes_that_were_started) {
  EXPECT_FALSE(signal_process(-1, 0));
  EXPECT_FALSE(signal_process(0, 0));
  EXPECT_FALSE(signal_process(1, 0));
  EXPECT_FALSE(signal_group(-1, 0));
  EXPECT_FALSE(signal_group(1, 0));
  EXPECT_TRUE(signal_process(::getpid(), 0));
  std::vector<std::string> others;
  for (const char* folder : {"models", "testbenches", "tlm"}) {
    for (const auto& e : fs::recursive_directory_iterator(fs::path(places::source) / folder)) {
      const std::string file = e.path().string();
      const bool code = file.ends_with(".cpp") || file.ends_with(".h");
      // Programs under test are alone with their preload library, which stands for the C library's kill().
      const bool of_programs =
          file.find("verbs_programs/testing/") != std::string::npos || file.find("/preload/") != std::string::npos;
      if (!code || of_programs || file.ends_with("tlm/base/send_signal.h")) continue;
      static const std::regex call(std::string("[^_a-z]ki") + "ll(pg)?\\([^)]");  // this line is none
      const std::string text = file_content(e.path());
      if (std::regex_search(text, call)) others.push_back(file);
    }
  }
  EXPECT_EQ(others, (std::vector<std::string>{}));
}

TEST_F(surroundings, output_that_cannot_be_written_is_an_error) {
  ASSERT_EQ(hcasim("run count_ticks -o ok").status, 0);
  study();
  ASSERT_EQ(hcasim("sweep s.yaml -o study").status, 0);
  for (const char* command :
       {"list", "params", "version", "man", "--help", "completion bash", "diff ok ok", "report study",
        "trace ok/waves.vcd x.vcd --json --force", "run count_ticks -o x --force", "sweep s.yaml --dry-run",
        "run count_ticks -o x --force --json", "sweep s.yaml -o study --resume"}) {
    const std::string told = "hcasim: not all of standard output could be written: ";
    ends(fmt::format("$H {} > /dev/full", command), 2, told + "No space left on device; make room, or choose another place\n");
    ends(fmt::format("$H {} >&-", command), 2, told + "Bad file descriptor; send it to where it is read\n");
    ends(fmt::format("($H {} 3>&1 >&4 2>&3; echo $?) 4>&1 | true; exit 0", command), 0, "");
  }
  const outcome gone = shell("mkfifo p; (exec 3<p; exec 3<&-) & exec 4>p; wait; $H man >&4");
  EXPECT_EQ(gone.status, 2);
  EXPECT_EQ(gone.text, "") << "a reader that has seen enough";
}

// A file of the run could get the number of a closed standard file, and printed text would go into the file.
TEST_F(surroundings, closed_standard_files_take_no_output) {
  ASSERT_EQ(hcasim("run count_ticks -o ok --json").status, 0);
  for (const char* closed : {"<&-", "2>&-", "<&- 2>&-", ">&-", "<&- >&- 2>&-"}) {
    const outcome o = shell(fmt::format("$H run count_ticks -o out --force --waves fst --json {}", closed));
    const bool output_closed = std::string_view(closed).find(" >&-") != std::string_view::npos || closed[0] == '>';
    EXPECT_EQ(o.status, output_closed ? 2 : 0) << closed << o.text;
    EXPECT_EQ(content("out/result.json"), content("ok/result.json")) << closed;
    EXPECT_EQ(content("out/resolved.yaml"), content("ok/resolved.yaml")) << closed;
  }
}

TEST_F(surroundings, a_working_folder_that_was_removed_is_named) {
  for (const char* command : {"run count_ticks -o x", "run x.yaml", "sweep s.yaml -o x", "report x", "diff a b",
                              "trace a.vcd b.vcd", "run count_ticks --what-if -o x", "new-unit key_check"}) {
    ends(fmt::format("mkdir gone; cd gone; rmdir ../gone; $H {}", command), 2,
         "; the working folder has been removed: change to one that exists\n");
    EXPECT_TRUE(files().empty()) << command;
  }
  EXPECT_EQ(shell("mkdir gone; cd gone; rmdir ../gone; $H list").status, 0) << "which needs none";
}

TEST_F(surroundings, names_as_long_as_file_systems_allow) {
  for (const std::size_t length : {240U, 250U, 255U}) {
    const std::string name(length, 'a');
    EXPECT_EQ(hcasim("run count_ticks -o " + name).status, 0) << length;
    EXPECT_EQ(hcasim("run count_ticks -o " + name + " --force").status, 0) << length;
    EXPECT_EQ(hcasim(fmt::format("trace {}/waves.vcd {}.vcd", name, name.substr(4))).status, 0) << length;
    EXPECT_EQ(hcasim(fmt::format("report {0} --html {1}", name, name.substr(1))).status, 2) << "no statistics over time";
    fs::remove_all(name);
    fs::remove(name.substr(4) + ".vcd");
  }
  EXPECT_TRUE(files().empty());
  const std::string long_name(256, 'a');
  refused("run count_ticks -o " + long_name,
          fmt::format("cannot write '{}/{}': File name too long; choose a shorter name", folder().string(), long_name));
}

// A run that was ended between moving the earlier result away and the new one into its place.
TEST_F(surroundings, a_result_that_was_being_replaced_is_recovered) {
  ASSERT_EQ(hcasim("run count_ticks -o out").status, 0);
  fs::rename("out", ".out.old");
  ends("$H run count_ticks -o out --ticks 20", 2, "already holds a result; add --force to replace it");
  EXPECT_EQ(files(), std::vector<std::string>{"out"});
}

// Files of the user that appear during a run are never replaced by its result.
TEST_F(surroundings, files_that_appear_during_a_run_stay) {
  for (const char* make : {"mkdir out; echo mine > out/mine", "echo mine > out"}) {
    ends(fmt::format("$H run count_ticks -o out --ticks 2000000 --no-trace & p=$!\n"
                     "while ! test -e .out.partial/resolved.yaml; do sleep 0.01; done; {}; wait $p",
                     make),
         2, "/out' ");
    EXPECT_EQ(content(fs::is_directory("out") ? "out/mine" : "out"), "mine\n");
    EXPECT_FALSE(fs::exists(".out.partial"));
    fs::remove_all("out");
  }
}

TEST_F(surroundings, an_earlier_result_that_could_not_be_removed_is_no_obstacle) {
  ASSERT_EQ(hcasim("run count_ticks -o out").status, 0);
  fs::copy("out", ".out.old", fs::copy_options::recursive);
  EXPECT_EQ(hcasim("run count_ticks -o out --force").status, 0);
  EXPECT_EQ(files(), std::vector<std::string>{"out"});
}

// With any number of descriptors the command ends well, or is refused with the cause.
TEST_F(surroundings, too_few_descriptors_are_named) {
  ASSERT_EQ(hcasim("run count_ticks -o ok").status, 0);
  study();
  const auto before = files();
  for (const char* command :
       {"run count_ticks -o x --waves fst --packets ib --spans", "run count_ticks -o x --what-if --no-trace",
        "sweep s.yaml -o x -j 1", "trace ok/waves.vcd x.fst"}) {
    bool done = false;
    unsigned refusals = 0;
    for (unsigned n = 4; n < 24 && !done; ++n) {
      const outcome o = shell(fmt::format("ulimit -n {}; exec $H {}", n, command));
      if (o.status == 127) continue;  // too few for the program's own libraries
      done = o.status == 0;
      EXPECT_TRUE(done || o.status == 2) << n << " " << command << "\n" << o.text;
      EXPECT_EQ(done, o.text.find("Too many open files; ") == std::string::npos) << n << " " << command << "\n" << o.text;
      refusals += o.status == 2;
      for (const char* made : {"x", "x.fst"}) fs::remove_all(done ? made : "none");
      EXPECT_EQ(files(), before) << n << " " << command;
    }
    EXPECT_TRUE(done) << command;
    EXPECT_GT(refusals, 0U) << command;
  }
}

TEST_F(surroundings, too_little_memory_is_named) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer takes all addresses";
#endif
  ASSERT_EQ(hcasim("run count_ticks -o ok").status, 0);
  const auto before = files();
  for (const char* command : {"run count_ticks -o x --ticks 30000", "trace ok/waves.vcd x.vcd"}) {
    unsigned refusals = 0;
    for (unsigned mib = 16; mib <= 160; mib += 16) {
      const outcome o = shell(fmt::format("ulimit -v {}; exec $H {}", mib * 1024, command));
      if (o.status == 127) continue;
      EXPECT_TRUE(o.status == 0 || o.status == 2) << mib << " " << command << " status " << o.status << "\n" << o.text;
      EXPECT_EQ(o.status == 2, o.text.find("emory") != std::string::npos) << mib << " " << command << "\n" << o.text;
      refusals += o.status == 2;
      for (const char* made : {"x", "x.vcd"}) fs::remove_all(o.status == 0 ? made : "none");
      EXPECT_EQ(files(), before) << mib << " " << command;
    }
    EXPECT_GT(refusals, 0U) << command;
  }
}

TEST_F(surroundings, too_small_a_stack_is_named) {
  ends("ulimit -s 100; $H run count_ticks -o x", 2,
       "the stack is limited to 100 KiB; raise the limit to 128 KiB or more (ulimit -s)\n");
  EXPECT_EQ(shell("ulimit -s 128; $H run count_ticks -o x --what-if").status, 0);
}

TEST_F(surroundings, too_few_processes_are_named) {
  const bool root = ::geteuid() == 0;
  const std::string as_user =
      root ? "exec setpriv --reuid 61234 --regid 61234 --clear-groups prlimit --nproc=1 $H " : "ulimit -u 1; exec $H ";
  fs::permissions(folder(), fs::perms::all);
  study();
  if (root && shell("setpriv --reuid 61234 --regid 61234 --clear-groups env $H version").status != 0)
    GTEST_SKIP() << "another user may not run the program here";
  const auto before = files();
  for (const char* command : {"run count_ticks -o x", "sweep s.yaml -o x"}) {
    ends(as_user + command, 2,
         ": Resource temporarily unavailable; raise the limit of processes (ulimit -u) or of memory (ulimit -v)\n");
    EXPECT_EQ(files(), before);
  }
  EXPECT_EQ(shell(as_user + "list").status, 0) << "which needs none";
}

TEST_F(surroundings, a_full_and_a_read_only_disk_are_named) {
  if (!may_mount()) GTEST_SKIP() << "mounting takes a privilege";
  study();
  for (const char* command :
       {"run count_ticks -o /mnt/out --ticks 100000", "run count_ticks -o /mnt/out --ticks 1000000 --waves fst",
        "run count_ticks -o /mnt/out --ticks 100000 --no-trace --set statistics.interval=10ns", "sweep s.yaml -o /mnt/out"}) {
    const outcome o =
        shell(fmt::format("unshare -m sh -c 'mount -t tmpfs -o size=48k none /mnt; {} {}; s=$?; ls -A /mnt; exit $s'",
                          places::selftest, command));
    EXPECT_EQ(o.status, 2) << command << o.text;
    EXPECT_TRUE(o.text.find("No space left on device") != std::string::npos ||
                o.text.find("database or disk is full") != std::string::npos)
        << o.text;
    EXPECT_EQ(std::count(o.text.begin(), o.text.end(), '\n'), 1) << "nothing is left on the disk\n" << o.text;
    ends(fmt::format("unshare -m sh -c 'mount -t tmpfs -o ro none /mnt; {} {}'", places::selftest, command), 2,
         "Read-only file system");
  }
}

TEST_F(surroundings, without_proc_and_without_temporary_files) {
  if (!may_mount()) GTEST_SKIP() << "mounting takes a privilege";
  ASSERT_EQ(hcasim("run count_ticks -o ok --waves fst").status, 0);
  file("run.sh",
       fmt::format("mkdir -p /mnt; mount -t tmpfs none /mnt; mount -t tmpfs none /proc\ncp -r {0} /mnt/w; cd /mnt/w\n"
                   "mount -t tmpfs -o ro none /tmp\n{1} run count_ticks -o x --waves fst && {1} trace x/waves.fst y.vcd && "
                   "cmp x/waves.fst ok/waves.fst && {1} sweep s.yaml -o z && echo all done\n",
                   folder().string(), places::selftest));
  study();
  ends("unshare -m sh run.sh", 0, "all done\n");
}

TEST_F(surroundings, the_environment_changes_no_byte) {
  ASSERT_EQ(hcasim("run count_ticks -o ok --ticks 100").status, 0);
  for (const char* with :
       {"env -u HOME", "env -u TERM", "env LANG=xx_YY.UTF-8 LC_ALL=tr_TR", "env TMPDIR=/nonexistent", "env -i",
        "env PATH=", "env HOME=/nonexistent HCASIM_PRESETS=/nonexistent:::", "env TZ=Asia/Kathmandu"}) {
    EXPECT_EQ(shell(fmt::format("{} $H run count_ticks -o out --ticks 100 --force", with)).status, 0) << with;
    for (const char* name : {"result.json", "statistics.txt", "resolved.yaml", "waves.vcd"})
      EXPECT_EQ(content(fs::path("out") / name), content(fs::path("ok") / name)) << with << name;
  }
  EXPECT_EQ(shell("umask 077; $H run count_ticks -o closed").status, 0);
  EXPECT_EQ(fs::status("closed").permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
  EXPECT_EQ(hcasim("run count_ticks -o closed --force").status, 0);
}

TEST_F(surroundings, dev_finds_its_tree_through_symbolic_links) {
  fs::create_directories("bin");
  for (const char* tool : {"ninja", "cmake"}) {
    file(fmt::format("bin/{}", tool), fmt::format("#!/bin/sh\necho {} \"$@\"\n", tool));
    fs::permissions(fmt::format("bin/{}", tool), fs::perms::owner_all);
  }
  fs::create_symlink(fs::path(places::source) / "dev", "first");
  fs::create_symlink("first", "a second");
  const std::string line = fmt::format("ninja -C {}/build/release target\n", fs::canonical(places::source).string());
  for (const char* how : {"./first", "'./a second'", "sh -c 'cd bin; ../first \"$@\"' x", "CDPATH=/usr:. bash first"})
    ends(fmt::format("export DEV_SETUP=skip PATH=$PWD/bin:$PATH; {} build target", how), 0, line);
}

// The program alone in another place; its source tree is gone.
TEST_F(surroundings, a_copied_program_says_what_is_not_beside_it) {
  if (!may_mount()) GTEST_SKIP() << "mounting takes a privilege";
  const std::map<std::string, std::string> told{
      {"run count_ticks -o x", ""},
      {"run count_ticks -o x --set preset=connectx3_fdr",
       "is there: run hcasim where it was built or installed, or name one in "
       "HCASIM_PRESETS\n"},
      {"report s", "', which the page is made of: run hcasim where it was built or installed, or use --svg\n"},
      {"report s --svg pictures", ""},
      {"mutate key_check", "mutate: 'key_check' is neither a unit of hcasim with RTL"},
      {"new-unit --kind key_check my_check", "/share/hcasim nor in a build beside the program\n"}};
  study();
  ASSERT_EQ(hcasim("sweep s.yaml -o s").status, 0);
  for (const auto& [command, words] : told) {
    ends(fmt::format("cp $H copied; unshare -m sh -c 'mount -t tmpfs none {}; ./copied {}'", places::source, command),
         words.empty() ? 0 : 2, words);
    fs::remove_all("x");
  }
}

}  // namespace
}  // namespace hcasim
