// Studies as array jobs of a real Slurm, on the loopback: the same rows as from the local pool, whatever is killed on the way.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/selftest/loopback_slurm.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using rows = std::vector<std::vector<std::string>>;

class slurm : public test_in_own_folder {
 protected:
  slurm() {
    std::ofstream("s.yaml")
        << "study: sample\nquestion: What about it?\nbase: {testbench: count_ticks, parameters: {ticks: 2500000}}\n"
           "axes:\n  seed: {knob: seed, range: {from: 1, to: 6, step: 1}}\n"
           "  how: {zip: {parameters.check_fails: ['false', 'true'], link.loss: [0, 0.5]}, labels: [good, bad]}\n"
           "metrics:\n  latency: {figure: latency}\n  ticked: {statistic: node0.key_check.operations}\n";
  }

  static outcome hcasim(const std::string& arguments) { return run_program(places::selftest, arguments); }
  static rows all_rows(const std::string& folder) {
    result_file f = result_file::open(fs::path(folder) / result_file::file_name, false);
    rows out;
    for (const char* sql :
         {"SELECT * FROM points ORDER BY id", "SELECT * FROM statistics ORDER BY unit, name",
          "SELECT * FROM axes ORDER BY position, value_index", "SELECT * FROM metrics", "SELECT * FROM results"}) {
      f.query(sql, [&](const auto& row) { out.push_back(row); });
    }
    return out;
  }
  static pid_t begin(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), places::selftest);
    const pid_t child = ::fork();
    if (child == 0) {
      const int said = ::open("said", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
      ::dup2(said, STDOUT_FILENO);
      ::dup2(said, STDERR_FILENO);
      std::vector<char*> argv;
      for (std::string& a : arguments) argv.push_back(a.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(99);
    }
    return child;
  }
  static int end(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  static std::size_t rows_in(const std::string& folder) {
    try {
      return result_file::open(fs::path(folder) / result_file::file_name, false).finished(false).size();
    } catch (const input_error&) {
      return 0;  // not there yet
    }
  }
  // A task that runs, as JOB_TASK.
  static std::string running_task() {
    for (int i = 0; i < 200; ++i) {
      const std::string line = run_program("squeue", "-h -r --states=RUNNING -o %F_%K").text;
      if (const auto end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return "";
  }
  template <class F>
  static bool comes_true(F condition) {
    for (int i = 0; i < 400; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  static std::vector<std::string> names(const std::string& folder) {
    std::vector<std::string> out;
    for (const auto& e : fs::directory_iterator(folder)) out.push_back(e.path().filename());
    return out;
  }
};

TEST_F(slurm, the_same_rows_although_a_task_is_killed_and_run_again) {
  const selftest::loopback_slurm cluster(folder() / "cluster");
  ASSERT_EQ(hcasim("sweep s.yaml -o here").status, 1) << "every second point fails its check";
  const pid_t child = begin({"sweep", "s.yaml", "-o", "there", "--executor", "slurm", "-j", "2", "--points-per-task", "3",
                             "--sbatch=--requeue", "--sbatch=--partition=loop"});
  EXPECT_TRUE(comes_true([] { return rows_in("there") >= 1; }));
  std::string task;  // a task that has not ended meanwhile
  ASSERT_TRUE(comes_true([&] {
    task = running_task();
    return !task.empty() && run_program("scontrol", "requeue " + task).text.empty();
  }));
  EXPECT_EQ(end(child), 1) << file_content("said");
  EXPECT_NE(file_content("said").find("12 of 12 points, 6 passed"), std::string::npos) << file_content("said");
  EXPECT_NE(run_program("scontrol", "-o show job " + task).text.find("Restarts=1"), std::string::npos) << "Slurm ran it again";
  EXPECT_EQ(all_rows("there"), all_rows("here"));
  EXPECT_EQ(names("there"), std::vector<std::string>{result_file::file_name});
}

TEST_F(slurm, a_task_that_dies_costs_only_the_point_it_was_at) {
  const selftest::loopback_slurm cluster(folder() / "cluster");
  ASSERT_EQ(hcasim("sweep s.yaml -o here").status, 1);
  const pid_t child = begin(
      {"sweep", "s.yaml", "-o", "there", "--executor", "slurm", "-j", "1", "--points-per-task", "12", "--time-limit", "1 min"});
  EXPECT_EQ(end(child), 2);
  EXPECT_EQ(
      file_content("said"),
      "hcasim: --time-limit: '1 min' has the unit 'min', but a time is in ps, ns, us, ms or s; write for example '200 ns'\n");
  const pid_t again = begin(
      {"sweep", "s.yaml", "-o", "there", "--executor", "slurm", "-j", "1", "--points-per-task", "12", "--time-limit", "60 s"});
  ASSERT_TRUE(comes_true([] { return rows_in("there") >= 2; }));
  EXPECT_EQ(run_program("scancel", "--signal=KILL --full " + running_task()).text, "");
  EXPECT_EQ(end(again), 1);
  const std::string said = file_content("said");
  EXPECT_NE(said.find("12 of 12 points, "), std::string::npos) << said;
  EXPECT_NE(said.find("): its task ended early: Slurm says "), std::string::npos) << said;
  rows crashed;
  result_file::open("there/results.sqlite", false)
      .query("SELECT id FROM points WHERE status = 'crashed'", [&](const auto& row) { crashed.push_back(row); });
  EXPECT_EQ(crashed.size(), 1U) << said;
  const outcome retried = hcasim("sweep s.yaml -o there --executor slurm --resume --retry");
  EXPECT_EQ(retried.status, 1) << retried.text;
  EXPECT_EQ(all_rows("there"), all_rows("here"));
}

TEST_F(slurm, the_sweep_may_be_killed_and_the_job_goes_on) {
  const selftest::loopback_slurm cluster(folder() / "cluster");
  const std::vector<std::string> sweep{"sweep", "s.yaml", "-o", "there", "--executor", "slurm", "-j", "1", "--points-per-task",
                                       "12"};
  const pid_t child = begin(sweep);
  ASSERT_TRUE(comes_true([] { return rows_in("there") >= 1; }));
  signal_process(child, SIGKILL);
  EXPECT_EQ(end(child), 128 + SIGKILL);
  const std::size_t before = rows_in("there");
  EXPECT_LT(before, 12U);
  std::vector<std::string> resume = sweep;
  resume.emplace_back("--resume");
  const pid_t resumed = begin(resume);
  ASSERT_TRUE(comes_true([&] { return rows_in("there") > before; }));
  signal_process(resumed, SIGINT);
  EXPECT_EQ(end(resumed), 130);
  EXPECT_NE(file_content("said").find("going on with job 1 of Slurm"), std::string::npos) << file_content("said");
  EXPECT_NE(file_content("said").find("interrupted; 'hcasim sweep s.yaml -o there --resume' goes on"), std::string::npos);
  EXPECT_TRUE(comes_true([] { return run_program("squeue", "-h").text.empty(); })) << "an interrupt cancels the job";
  // The rest without Slurm.
  EXPECT_EQ(hcasim("sweep s.yaml -o there --resume").status, 1);
  EXPECT_EQ(rows_in("there"), 12U);
}

TEST_F(slurm, what_slurm_refuses) {
  auto cluster = std::make_unique<selftest::loopback_slurm>(folder() / "cluster");
  const outcome refused = hcasim("sweep s.yaml -o there --executor slurm --sbatch=--partition=nowhere");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.text.find("hcasim: Slurm does not take the job: sbatch: error: invalid partition specified: nowhere"), 0U)
      << refused.text;
  EXPECT_NE(refused.text.find("nothing that was finished is lost"), std::string::npos);
  // The task itself cannot begin.
  ASSERT_EQ(::setenv("LD_LIBRARY_PATH", "", 1), 0);
  std::ofstream("s2.yaml") << file_content("s.yaml");
  const pid_t child = begin({"sweep", "s2.yaml", "-o", "nodes", "--executor", "slurm", "--sbatch=--hold"});
  ASSERT_TRUE(comes_true([] { return run_program("squeue", "-h").text.find(" PD ") != std::string::npos; }));
  std::ofstream("s2.yaml") << "study: changed\n";
  run_program("scontrol", "release 1");
  EXPECT_EQ(end(child), 2);
  EXPECT_NE(file_content("said").find(
                "ended before their first point: Slurm says FAILED, exit code 2:0; it said: hcasim: s2.yaml:1:1: "
                "base: the study has no base"),
            std::string::npos)
      << file_content("said");
  cluster.reset();
  const outcome silent = hcasim("sweep s.yaml -o silent --executor slurm");
  EXPECT_EQ(silent.status, 2);
  EXPECT_EQ(silent.text.find("hcasim: Slurm does not answer (squeue): "), 0U) << silent.text;
  const outcome alone = hcasim("sweep s.yaml -o silent");  // the sweep that did not begin left no folder
  EXPECT_EQ(alone.status, 1) << "goes on without it: " << alone.text;
}

TEST_F(slurm, no_slurm_is_a_clear_error) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  const outcome none = run_program(places::selftest, "sweep s.yaml -o there --executor slurm");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(
      none.text,
      "hcasim: there is no Slurm here: 'sbatch' is not found; install its client programs (slurm-client), or leave --executor "
      "slurm out to run on this machine\n");
  EXPECT_FALSE(fs::exists("there"));
  EXPECT_EQ(hcasim("sweep s.yaml -o other --sbatch=--requeue").text,
            "hcasim: --sbatch and --points-per-task are about --executor slurm; add it, or leave them out\n");
}

}  // namespace
}  // namespace hcasim
