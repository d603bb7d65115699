#include "testbenches/program/recording/stream_recorder.h"

namespace hcasim {

stream_recorder_factory& program_stream_recorder() {
  static stream_recorder_factory factory = nullptr;
  return factory;
}

}  // namespace hcasim
