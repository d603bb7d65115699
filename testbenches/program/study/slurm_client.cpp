#include "testbenches/program/study/slurm_client.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"

namespace hcasim {
namespace {

constexpr int no_program = 127;

std::string content(int fd) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(fd, 0, SEEK_END), 0)), 0);
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  ::close(fd);
  return text;
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

std::vector<std::string> split(const std::string& line, char by) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == by) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

program_outcome run_tool(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const int out = ::memfd_create("out", MFD_CLOEXEC);
  const int error = ::memfd_create("error", MFD_CLOEXEC);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, error, STDERR_FILENO);
  // An interrupt at the keyboard is for this program; what it calls comes to its end.
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, argv[0], &files, &how, argv.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  program_outcome o;
  if (failed != 0) {
    o.status = no_program;
  } else {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  o.out = content(out);
  o.error = content(error);
  return o;
}

void slurm_client::require() {
  for (const char* program : {"sbatch", "squeue", "scontrol", "scancel"}) {
    if (run_tool({program, "--version"}).status == no_program) {
      throw input_error(
          fmt::format("there is no Slurm here: '{}' is not found; install its client programs (slurm-client), or leave "
                      "--executor slurm out to run on this machine",
                      program));
    }
  }
}

std::string slurm_client::submit(std::size_t tasks, unsigned at_once, const std::vector<std::string>& options,
                                 const std::string& script, const std::string& log) {
  std::vector<std::string> call{"sbatch"};
  call.insert(call.end(), options.begin(), options.end());
  // The options that the sweep relies on stand behind the user's.
  call.insert(call.end(), {"--parsable", "--job-name=" + name_, "--output=" + log, "--open-mode=append",
                           "--chdir=" + std::filesystem::current_path().string(),
                           fmt::format("--array=0-{}{}", tasks - 1, at_once ? fmt::format("%{}", at_once) : ""), script});
  const program_outcome o = run_tool(call);
  if (o.status != 0) {
    throw input_error(
        fmt::format("Slurm does not take the job: {}; nothing that was finished is lost: mend it (--sbatch hands options to "
                    "sbatch, --points-per-task makes fewer tasks) and go on with --resume",
                    one_line(o.error.empty() ? fmt::format("sbatch ended with status {}", o.status) : o.error)));
  }
  return split(one_line(o.out), ';').front();
}

std::string slurm_client::active(std::map<std::size_t, array_task>& tasks) const {
  const program_outcome o = run_tool({"squeue", "-h", "-r", "--name=" + name_, "-o", "%F|%K|%T|%r"});
  if (o.status != 0) return o.error.empty() ? fmt::format("squeue ended with status {}", o.status) : one_line(o.error);
  tasks.clear();
  for (const std::string& line : split(o.out, '\n')) {
    const auto field = split(line, '|');
    std::size_t task = 0;
    if (field.size() < 4 || field[2] == "COMPLETING") continue;
    const auto [end, error] = std::from_chars(field[1].data(), field[1].data() + field[1].size(), task);
    if (error == std::errc{} && *end == 0) tasks[task] = {field[0], field[2], field[3]};
  }
  return "";
}

std::string slurm_client::end_of(const std::string& job, std::size_t task) {
  const program_outcome o = run_tool({"scontrol", "-o", "show", "job", fmt::format("{}_{}", job, task)});
  std::string state;
  std::string code;
  for (const std::string& word : split(o.out, ' ')) {
    if (word.starts_with("JobState=")) state = word.substr(9);
    if (word.starts_with("ExitCode=")) code = word.substr(9);
  }
  return state.empty() ? "Slurm does not know it any more" : fmt::format("Slurm says {}, exit code {}", state, code);
}

void slurm_client::cancel() const {
  run_tool({"scancel", "--name=" + name_});
}

}  // namespace hcasim
