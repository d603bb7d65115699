#include "testbenches/program/selftest/loopback_slurm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "testbenches/program/testing/run_program.h"
#include "tlm/base/send_signal.h"

namespace hcasim::selftest {
namespace {

namespace fs = std::filesystem;

class free_port {
 public:
  free_port() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&a), size) != 0) throw std::runtime_error("no free port on the loopback");
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size);
    number = ::ntohs(a.sin_port);
  }
  ~free_port() { ::close(fd_); }
  free_port(const free_port&) = delete;
  free_port& operator=(const free_port&) = delete;
  int number;

 private:
  int fd_;
};

}  // namespace

loopback_slurm::loopback_slurm(fs::path folder) : folder_(std::move(folder)) {
  fs::create_directories(folder_ / "state");
  fs::create_directories(folder_ / "spool");
  // The daemons refuse a folder that others may write.
  fs::permissions(folder_, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_exec);
  const std::string f = folder_.string();
  {
    std::ofstream key(folder_ / "munge.key", std::ios::binary);
    std::random_device random;
    for (int i = 0; i < 256; ++i) key.put(static_cast<char>(random()));
  }
  fs::permissions(folder_ / "munge.key", fs::perms::owner_read);
  std::string conf;
  {
    const free_port controller;
    const free_port node;
    const char* user = ::getpwuid(::geteuid())->pw_name;
    // A task that is requeued waits until the credential of its first life has expired.
    conf = fmt::format(
        "ClusterName=loopback\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\nSlurmUser={}\nSlurmdUser={}"
        "\n"
        "AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={}/munge.sock,cred_expire=10\n"
        "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n"
        "JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n"
        "StateSaveLocation={}/state\nSlurmdSpoolDir={}/spool\nSlurmctldPidFile={}/slurmctld.pid\nSlurmdPidFile={}/slurmd.pid\n"
        "SchedulerType=sched/builtin\nSchedulerParameters=batch_sched_delay=0,sched_interval=1\n"
        "SelectType=select/"
        "cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\nMessageTimeout=2\nKillWait=2\nMinJobAge=300\n"
        "NodeName=localhost NodeHostname=localhost NodeAddr=127.0.0.1 CPUs={} State=UNKNOWN\n"
        "PartitionName=loop Nodes=localhost Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4\n",
        controller.number, node.number, user, user, f, f, f, f, f, std::max(1U, std::thread::hardware_concurrency()));
  }
  std::ofstream(folder_ / "slurm.conf") << conf;
  // Nothing here uses cgroups. Unless it is told of a version, slurmd looks for a mounted one, and does not start without.
  std::ofstream(folder_ / "cgroup.conf") << "CgroupPlugin=cgroup/v1\n";
  ::setenv("SLURM_CONF", (folder_ / "slurm.conf").c_str(), 1);
  start({"munged", "--foreground", "--key-file=" + f + "/munge.key", "--socket=" + f + "/munge.sock",
         "--pid-file=" + f + "/munged.pid", "--log-file=" + f + "/munged.log", "--seed-file=" + f + "/munge.seed"});
  for (int i = 0; i < 100 && !fs::exists(folder_ / "munge.sock"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  start({"slurmctld", "-D", "-f", f + "/slurm.conf"});
  start({"slurmd", "-D", "-N", "localhost", "-f", f + "/slurm.conf"});
  outcome state;
  for (int i = 0; i < 300; ++i) {
    state = run_program("sinfo", "-h -o %T");
    if (state.text == "idle\n") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::string logs = state.text;
  for (const char* daemon : {"munged", "slurmctld", "slurmd"}) logs += file_content(folder_ / (std::string(daemon) + ".out"));
  end();
  throw std::runtime_error("Slurm does not come up (slurm-wlm and munge are in scripts/packages.txt): " + logs);
}

loopback_slurm::~loopback_slurm() {
  end();
}

void loopback_slurm::start(const std::vector<std::string>& arguments) {
  const std::string out = (folder_ / (arguments[0] + ".out")).string();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::setsid();
    const int fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, STDOUT_FILENO);
    ::dup2(fd, STDERR_FILENO);
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));  // NOLINT(*-const-cast): execvp's type
    argv.push_back(nullptr);
    ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);  // daemons are not in everybody's
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  daemons_.push_back(pid);
}

void loopback_slurm::end() noexcept {
  static_cast<void>(
      std::system("scancel --state=RUNNING,PENDING >/dev/null 2>&1; "
                  "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                  "test -z \"$(squeue -h 2>/dev/null)\" && break; sleep 0.2; done"));
  std::reverse(daemons_.begin(), daemons_.end());
  for (const pid_t daemon : daemons_) {
    signal_process(daemon, SIGTERM);
    for (int i = 0; i < 100 && ::waitpid(daemon, nullptr, WNOHANG) == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (i == 98) signal_process(daemon, SIGKILL);
    }
  }
  daemons_.clear();
}

}  // namespace hcasim::selftest
