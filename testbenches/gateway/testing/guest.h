// A Linux guest with soft-RoCE in QEMU, without any right or device of the machine. Its Ethernet is the gateway's socket. A
// second network card carries the programs' TCP; it reaches only the loopback addresses named here.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace hcasim::gateway::testing {

struct guest_network {
  std::string loopback;           // 127.x.y: .1 is the simulated node, .2 the guest
  unsigned guest_port = 47911;    // frames, at .2
  unsigned gateway_port = 47912;  // at .1, too
  unsigned tcp_port = 18515;      // port of the programs
};

class guest {
 public:
  static constexpr const char* address = "192.168.77.2";
  static constexpr const char* node_address = "192.168.77.1";  // address in frames
  static constexpr const char* node_tcp = "10.0.2.100";        // address for connections of the guest's programs

  // `folder`: with kernel and initramfs, as guest/make_guest has made it.
  guest(const std::string& folder, const guest_network& n);
  ~guest();
  guest(const guest&) = delete;
  guest& operator=(const guest&) = delete;

  // Returns the console's text from the last call until `mark`, which is left out; none = it did not come in time.
  std::optional<std::string> until(const std::string& mark, std::chrono::seconds most);
  // Runs `line` in the guest's shell; returns its output. None = it did not end in time.
  std::optional<std::string> run(const std::string& line, std::chrono::seconds most);
  // Returns the number of frames to the guest lost for want of room in its socket: the guest is slower than the wire.
  [[nodiscard]] std::uint64_t dropped() const;
  // Returns the whole console, for messages.
  [[nodiscard]] const std::string& console() const { return console_; }

 private:
  guest_network network_;
  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string console_;
  std::size_t read_ = 0;
  int runs_ = 0;
};

}  // namespace hcasim::gateway::testing
