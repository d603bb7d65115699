// fall_through with two inputs: items of one cycle leave in the order first, second. DEPTH is a power of two.
module fall_through_two #(
    parameter int DEPTH = 8,
    parameter int BITS = 8
) (
    input logic clk,
    input logic rst_n,
    input logic put_first,
    input logic [BITS-1:0] first_data,
    input logic put_second,
    input logic [BITS-1:0] second_data,
    output logic out_valid,
    input logic out_ready,
    output logic [BITS-1:0] out_data,
    output logic stored  // something is kept for a later cycle
);
  localparam int AW = $clog2(DEPTH);
  logic [BITS-1:0] items[DEPTH];
  logic [AW-1:0] head, tail, tail_after;
  logic [AW:0] count;
  logic keep_first, keep_second, take;

  assign stored = count != '0;
  assign out_valid = stored || put_first || put_second;
  assign out_data = stored ? items[head] : put_first ? first_data : second_data;
  assign take = stored && out_ready;
  assign keep_first = put_first && (stored || !out_ready);
  assign keep_second = put_second && (stored || put_first || !out_ready);
  assign tail_after = tail + AW'(keep_first);

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      head <= '0;
      tail <= '0;
      count <= '0;
    end else begin
      tail <= tail_after + AW'(keep_second);
      head <= head + AW'(take);
      count <= count + (AW + 1)'(keep_first) + (AW + 1)'(keep_second) - (AW + 1)'(take);
    end
  end
  always_ff @(posedge clk) begin
    if (keep_first) items[tail] <= first_data;
    if (keep_second) items[tail_after] <= second_data;
  end
endmodule
