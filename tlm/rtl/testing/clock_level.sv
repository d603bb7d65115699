// A register written at the falling edge, with the input of the rising edge.
module clock_level (
    input logic clk,
    input logic rst,
    input logic in_valid,
    output logic in_ready,
    input logic [7:0] in_data,
    output logic out_valid,
    input logic out_ready,
    output logic [7:0] out_data
);
  logic held;
  logic [7:0] data;
  assign in_ready = !held;
  assign out_valid = held;
  always_ff @(posedge clk) begin
    if (rst) held <= 1'b0;
    else if (held) held <= !out_ready;
    else if (in_valid) begin
      held <= 1'b1;
      data <= in_data;
    end
  end
  always_ff @(negedge clk) out_data <= data;
endmodule
