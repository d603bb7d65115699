// `--packets FORM`: packets for Wireshark.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/recording/observer.h"
#include "testbenches/program/recording/packets.h"

namespace hcasim {
namespace {

class packet_observer final : public run_observer {
 public:
  [[nodiscard]] int rank() const override { return 10; }

  void declare(CLI::App& options) override {
    options
        .add_option("--packets", forms_, "Record every packet for Wireshark: ib (InfiniBand) or roce (RoCEv2); may be repeated")
        ->type_name("FORM")
        ->check(CLI::IsMember({"ib", "roce"}))
        ->allow_extra_args(false);
  }

  void begin(const observed_run& run) override {
    final_folder_ = run.final_folder;
    for (const std::string& form : forms_) {
      const packet_form f = form == "roce" ? packet_form::roce : packet_form::infiniband;
      const std::string name = fmt::format("packets.{}.pcapng", form);
      recorders_.emplace_back(name, std::make_unique<packet_recorder>(run.folder / name, f, places::version));
    }
  }

  void finish(ps /*end*/) override {
    for (const auto& [name, p] : recorders_) p->finish();
  }

  [[nodiscard]] std::string places() const override {
    std::string text;
    for (const auto& [name, p] : recorders_) {
      text += fmt::format("packets     {} in {}/{}\n", p->packets(), final_folder_.string(), name);
    }
    return text;
  }

 private:
  std::vector<std::string> forms_;
  std::filesystem::path final_folder_;
  std::vector<std::pair<std::string, std::unique_ptr<packet_recorder>>> recorders_;
};

const observer_registration<packet_observer> registers_packets;

}  // namespace
}  // namespace hcasim
