// Names of hosts: nodeN is a host of the simulation in every name of a program, and the name of a program's own host.
#include <netdb.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"

// NOLINTBEGIN(readability-identifier-naming): the C library's own names

namespace hcasim::preload {
namespace {

class known_name {
 public:
  explicit known_name(const char* name) : said_(name) {
    constexpr std::size_t prefix = 4;
    if (!name || std::strncmp(name, "node", prefix) != 0 || name[prefix] < '0' || name[prefix] > '9' || !mine()) return;
    char* end = nullptr;
    const unsigned long node = std::strtoul(name + prefix, &end, 10);
    if (*end != 0 || node >= setting("HCASIM_NODES", 0)) return;
    std::snprintf(address_, sizeof address_, "127.0.0.%lu", setting("HCASIM_FIRST_HOST", 1) + node);
    said_ = address_;
  }
  [[nodiscard]] const char* get() const { return said_; }

 private:
  const char* said_;
  char address_[32] = {};
};

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC int uname(utsname* to) {
  const int status = HCASIM_REAL(uname)(to);
  if (status == 0 && mine()) std::snprintf(to->nodename, sizeof to->nodename, "node%u", own_node());
  return status;
}
HCASIM_PUBLIC int gethostname(char* to, size_t bytes) {
  utsname system;
  if (uname(&system) != 0) return -1;
  const std::size_t length = std::strlen(system.nodename) + 1;
  std::memcpy(to, system.nodename, length < bytes ? length : bytes);
  if (length <= bytes) return 0;
  errno = ENAMETOOLONG;
  return -1;
}
HCASIM_PUBLIC int __gethostname_chk(char* to, size_t bytes, size_t) {
  return gethostname(to, bytes);
}

HCASIM_PUBLIC int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** out) {
  return HCASIM_REAL(getaddrinfo)(known_name(name).get(), service, hints, out);
}
HCASIM_PUBLIC hostent* gethostbyname(const char* name) {
  return HCASIM_REAL(gethostbyname)(known_name(name).get());
}
HCASIM_PUBLIC hostent* gethostbyname2(const char* name, int family) {
  return HCASIM_REAL(gethostbyname2)(known_name(name).get(), family);
}
HCASIM_PUBLIC int gethostbyname_r(const char* name, hostent* to, char* memory, size_t bytes, hostent** out, int* error) {
  return HCASIM_REAL(gethostbyname_r)(known_name(name).get(), to, memory, bytes, out, error);
}
// NOLINTEND(readability-identifier-naming)
