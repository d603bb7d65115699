#include "tlm/rtl/fst_waves.h"

#include <verilated.h>
#include <verilated_vcd_c.h>

#include "tlm/rtl/fst_stream.h"

namespace hcasim::rtl {
namespace {

class fst_waves_file final : public VerilatedVcdFile {
 public:
  bool open(const std::string& name) override { return to_.open(name); }
  void close() override { to_.close(); }
  ssize_t write(const char* text, ssize_t bytes) override {
    to_.write({text, static_cast<std::size_t>(bytes)});
    return bytes;
  }

 private:
  fst_stream to_;
};

}  // namespace

std::unique_ptr<VerilatedVcdFile> fst_waves() {
  return std::make_unique<fst_waves_file>();
}

}  // namespace hcasim::rtl
