// An item from `a` goes out at `x` five cycles later, with its complement. An item from `b` goes out at `y` in the same cycle,
// or when `y` is ready.
module relay (
    input logic clk,
    input logic rst,
    input logic a_valid,
    output logic a_ready,
    input logic [7:0] a_data,
    output logic x_valid,
    input logic x_ready,
    output logic [15:0] x_data,
    input logic b_valid,
    output logic b_ready,
    input logic [7:0] b_data,
    output logic y_valid,
    input logic y_ready,
    output logic [7:0] y_data,
    output logic idle
);
  logic [4:0] on_its_way;
  logic [7:0] data[5];
  logic [7:0] waiting[8];
  logic [2:0] head, tail;
  logic [3:0] count, under_way;
  logic b_stored;
  assign a_ready = under_way != 4'd8;
  assign x_valid = count != '0;
  assign x_data = {~waiting[head], waiting[head]};
  always_ff @(posedge clk) begin
    if (rst) begin
      on_its_way <= '0;
      head <= '0;
      tail <= '0;
      count <= '0;
      under_way <= '0;
    end else begin
      on_its_way <= {on_its_way[3:0], a_valid && a_ready};
      data[0] <= a_data;
      for (int i = 1; i < 5; i++) data[i] <= data[i-1];
      if (on_its_way[4]) begin
        waiting[tail] <= data[4];
        tail <= tail + 1'b1;
      end
      if (x_valid && x_ready) head <= head + 1'b1;
      count <= count + 4'(on_its_way[4]) - 4'(x_valid && x_ready);
      under_way <= under_way + 4'(a_valid && a_ready) - 4'(x_valid && x_ready);
    end
  end
  assign b_ready = !b_stored;
  fall_through #(
      .DEPTH(2),
      .BITS(8)
  ) u_y (
      .clk(clk),
      .rst_n(!rst),
      .put(b_valid && b_ready),
      .put_data(b_data),
      .out_valid(y_valid),
      .out_ready(y_ready),
      .out_data(y_data),
      .stored(b_stored)
  );
  assign idle = on_its_way == '0 && count == '0 && !b_stored;
endmodule
