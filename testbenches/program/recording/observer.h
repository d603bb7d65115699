// An observer of a run: options of its own, files in the folder of the results, a part of result.json, lines on the terminal. A
// file NAME_observer.cpp in this folder registers one, and nothing else is edited:
//
//   class bus_log final : public run_observer { ... };
//   const observer_registration<bus_log> registered;
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tlm/base/kernel.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hcasim {

struct system_config;

struct observed_run {
  std::filesystem::path folder;        // files are written here
  std::filesystem::path final_folder;  // and are found here at the end
  ps from{0};                          // the window that the user chose
  ps until = never;
  const system_config* config;  // null = a machine without nodes
};

class run_observer {
 public:
  run_observer() = default;
  virtual ~run_observer() = default;
  run_observer(const run_observer&) = delete;
  run_observer& operator=(const run_observer&) = delete;

  // Places its lines among those of the others: the smallest first.
  [[nodiscard]] virtual int rank() const = 0;
  // Declares its options of `hcasim run`.
  virtual void declare(CLI::App& options) = 0;
  // Begins, if its options ask for that, before the machine is built. Throws input_error.
  virtual void begin(const observed_run& run) = 0;
  // Notes that a measured part begins.
  virtual void measuring(ps /*from*/) {}
  // Writes the rest; the run has ended. Throws input_error when a file could not be written.
  virtual void finish(ps end) = 0;
  // Adds to result.json.
  virtual void report(nlohmann::ordered_json& /*document*/) const {}
  // Returns a warning for the terminal, or nothing.
  [[nodiscard]] virtual std::string warning() const { return {}; }
  // Returns where its files are, in lines for the terminal, or nothing.
  [[nodiscard]] virtual std::string places() const { return {}; }
};

using observer_list = std::vector<std::unique_ptr<run_observer>>;

class observer_registry {
 public:
  using factory = std::unique_ptr<run_observer> (*)();

  // Returns one of each kind, by rank.
  static observer_list make_all();
  static void add(factory make);
};

template <class T>
class observer_registration {
 public:
  observer_registration() {
    observer_registry::add([]() -> std::unique_ptr<run_observer> { return std::make_unique<T>(); });
  }
};

}  // namespace hcasim
