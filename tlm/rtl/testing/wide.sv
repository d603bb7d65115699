// One register of 2100 bits, as wide as a bundle of an adapter with large pages of state is; `fault` spoils its uppermost bit.
module wide #(
    parameter int WIDTH = 2100
) (
    input logic clk,
    input logic rst,
    input logic fault,
    input logic in_valid,
    output logic in_ready,
    input logic [WIDTH-1:0] in_data,
    output logic out_valid,
    input logic out_ready,
    output logic [WIDTH-101:0] out_low,
    output logic [99:0] out_high
);
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk) begin
    if (rst) out_valid <= 1'b0;
    else if (in_ready) begin
      out_valid <= in_valid;
      {out_high, out_low} <= in_data ^ {fault, {(WIDTH - 1) {1'b0}}};
    end else if (fault) out_high[99] <= !out_high[99];
  end
endmodule
