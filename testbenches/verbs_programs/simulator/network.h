// The simulated network as the connection manager sees it.
#pragma once

#include <list>

#include "models/system/system.h"
#include "testbenches/verbs_programs/connection_manager/network.h"

namespace hcasim::applications {

class system_network final : public cm::network {
 public:
  explicit system_network(system& s) : system_(s) {}

  [[nodiscard]] std::uint32_t nodes() const override { return static_cast<std::uint32_t>(system_.nodes()); }
  [[nodiscard]] cm::port port_of(std::uint32_t node) const override;
  void later(ps delay, std::function<void()> what) override;

 private:
  struct due {
    system_network& of;
    std::function<void()> what;
    std::list<due>::iterator place{};
  };

  system& system_;
  std::list<due> waiting_;
};

}  // namespace hcasim::applications
