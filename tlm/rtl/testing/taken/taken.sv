// RTL with constructs unsupported by Verilator, in the accepted form (docs/verilator.md). Interfaces stand behind a module with
// plain ports. Also a packed structure and a packed array as ports, a covergroup left out, delays, DPI, a cover property.
package taken_pkg;
  typedef struct packed {
    logic [7:0]  tag;
    logic [31:0] value;
  } beat_t;
endpackage

interface beat_if;
  logic valid, ready;
  taken_pkg::beat_t beat;
  modport sink(input valid, input beat, output ready);
  modport source(output valid, output beat, input ready);
endinterface

module taken_adder (
    input logic clk,
    input logic rst_n,
    input logic [31:0] step[4],
    beat_if.sink in,
    beat_if.source out
);
  import "DPI-C" function int taken_add(input int a, input int b);

  assign in.ready = !out.valid || out.ready;
  always_ff @(posedge clk) begin
    if (!rst_n) out.valid <= #1 1'b0;
    else if (in.ready) begin
      out.valid <= #1 in.valid;
      out.beat.tag <= #1 in.beat.tag;
      out.beat.value <= #1 taken_add(in.beat.value, step[in.beat.tag[1:0]]);
    end
  end

  c_large : cover property (@(posedge clk) in.valid && in.ready && in.beat.value >= 32'd1000);
  c_never : cover property (@(posedge clk) in.valid && in.ready && in.beat.value == 32'hffffffff);
`ifndef VERILATOR
  covergroup values @(posedge clk);
    coverpoint in.beat.value {bins small = {[0 : 999]}; bins large = {[1000 : 32'hffffffff]};}
  endgroup
  values v = new;
`endif
endmodule

// The module around it: a port for each signal, packed.
module taken (
    input logic clk,
    input logic rst_n,
    input logic [3:0][31:0] step,
    input logic in_valid,
    output logic in_ready,
    input taken_pkg::beat_t in_beat,
    output logic out_valid,
    input logic out_ready,
    output taken_pkg::beat_t out_beat
);
  beat_if in (), out ();
  logic [31:0] steps[4];
  assign in.valid = in_valid;
  assign in.beat = in_beat;
  assign in_ready = in.ready;
  assign out_valid = out.valid;
  assign out_beat = out.beat;
  assign out.ready = out_ready;
  always_comb for (int i = 0; i < 4; i++) steps[i] = step[i];
  taken_adder u_adder (
      .clk(clk),
      .rst_n(rst_n),
      .step(steps),
      .in(in),
      .out(out)
  );
endmodule
