// A master behind AXI4 without logic: items on `cmd` (write, then the address channel) and `beat` go out unchanged. Responses
// come back on `got` and `done`.
module axi_pass (
    input  logic aclk,
    input  logic aresetn,
    input  logic cmd_valid,
    output logic cmd_ready,
    input  logic [40:0] cmd_data,   // qos, cache, lock, burst, size, len, addr, id, write
    input  logic beat_valid,
    output logic beat_ready,
    input  logic [72:0] beat_data,  // last, strb, data
    output logic got_valid,
    input  logic got_ready,
    output logic [68:0] got_data,
    output logic done_valid,
    input  logic done_ready,
    output logic [3:0] done_data,

    output logic awvalid,
    input  logic awready,
    output logic [39:0] aw,
    output logic wvalid,
    input  logic wready,
    output logic [72:0] w,
    input  logic bvalid,
    output logic bready,
    input  logic [3:0] b,
    output logic arvalid,
    input  logic arready,
    output logic [39:0] ar,
    input  logic rvalid,
    output logic rready,
    input  logic [68:0] r
);
  // A register in between: valid does not depend on ready.
  logic full;
  logic [40:0] held;
  assign cmd_ready = !full || (held[0] ? awready : arready);
  assign awvalid = full && held[0];
  assign arvalid = full && !held[0];
  assign aw = held[40:1];
  assign ar = held[40:1];
  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      full <= 1'b0;
      held <= '0;
    end else if (cmd_ready) begin
      full <= cmd_valid;
      held <= cmd_data;
    end
  end
  assign wvalid = beat_valid;
  assign beat_ready = wready;
  assign w = beat_data;
  assign got_valid = rvalid;
  assign rready = got_ready;
  assign got_data = r;
  assign done_valid = bvalid;
  assign bready = done_ready;
  assign done_data = b;
endmodule
