// The real program on machines that give little: descriptors, memory, stack, processes, a file system without /proc.
#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class machine : public test_in_own_folder {
 protected:
  // The script knows the program as $H.
  static outcome shell(const std::string& script) {
    std::ofstream("script") << fmt::format("H={}\n{}\n", places::program, script);
    return run_program("timeout 100 sh", "script");
  }
  // Returns whether the command ran; otherwise expects a refusal with the cause, and nothing left behind.
  static bool done_or_refused(const std::string& limit, const std::string& command, const std::string& cause) {
    const outcome o = shell(fmt::format("{}; exec $H {}", limit, command));
    if (o.status == 127) return false;  // too little for the libraries of the program
    EXPECT_TRUE(o.status == 0 || o.status == 2) << limit << " " << command << ": status " << o.status << "\n" << o.text;
    EXPECT_TRUE(o.status == 0 || o.text.find(cause) != std::string::npos) << limit << " " << command << "\n" << o.text;
    EXPECT_EQ(fs::exists("x"), o.status == 0) << limit << " " << command;
    EXPECT_FALSE(fs::exists(".x.partial")) << limit << " " << command;
    fs::remove_all("x");
    return o.status == 0;
  }
};

TEST_F(machine, too_few_descriptors) {
  for (const char* command : {"run ping -o x --packets roce --spans --waves fst", "run ping -o x --no-trace --what-if walkers",
                              "run lockstep -o x --no-trace --requests 20", "exec -o x --no-trace -- true"}) {
    bool done = false;
    for (unsigned n = 5; n < 20 && !done; ++n) {
      done = done_or_refused(fmt::format("ulimit -n {}", n), command, "Too many open files");
    }
    EXPECT_TRUE(done) << command;
  }
}

TEST_F(machine, too_little_memory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer takes all addresses";
#endif
  constexpr unsigned loads = 50;  // MiB; with less the libraries of the program find no room
  unsigned refused = 0;
  for (const char* command :
       {"run ping -o x", "run message_rate -o x --messages 500 --waves fst", "exec -o x --no-trace -- true"}) {
    for (unsigned mib = loads; mib < 800; mib += mib / 2) {
      if (!done_or_refused(fmt::format("ulimit -v {}", mib * 1024), command, "emory")) ++refused;
    }
  }
  EXPECT_GT(refused, 3U);
}

TEST_F(machine, without_proc) {
  if (shell("unshare -m sh -c 'mount -t tmpfs none /proc' 2> /dev/null").status != 0)
    GTEST_SKIP() << "mounting takes a privilege";
  std::ofstream("all") << fmt::format(
      "mount -t tmpfs none /proc; H={}\n$H run ping -o x --no-trace --what-if walkers > said && "
      "$H new-unit --kind key_check my_check > said && echo done\n"
      "$H exec -o y -- true\n",
      places::program);
  const outcome o = shell("unshare -m sh all");
  EXPECT_EQ(o.status, 2) << o.text;
  EXPECT_EQ(o.text.substr(0, 5), "done\n") << o.text;
  EXPECT_NE(o.text.find("programs cannot be run: /proc is not mounted"), std::string::npos) << o.text;
}

}  // namespace
}  // namespace hcasim
