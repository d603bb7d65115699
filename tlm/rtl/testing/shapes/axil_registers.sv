// 64 registers behind AXI-Lite with 8 address bits. Register 0: control, an output. Register 1: status, a read-only input.
// Register 2: bits set by events and cleared by writing ones. The upper half does not exist.
module axil_registers (
    input wire clk,
    input wire rst,
    input wire [7:0] s_axil_awaddr,
    input wire [2:0] s_axil_awprot,
    input wire s_axil_awvalid,
    output wire s_axil_awready,
    input wire [31:0] s_axil_wdata,
    input wire [3:0] s_axil_wstrb,
    input wire s_axil_wvalid,
    output wire s_axil_wready,
    output reg [1:0] s_axil_bresp,
    output reg s_axil_bvalid,
    input wire s_axil_bready,
    input wire [7:0] s_axil_araddr,
    input wire [2:0] s_axil_arprot,
    input wire s_axil_arvalid,
    output wire s_axil_arready,
    output reg [31:0] s_axil_rdata,
    output reg [1:0] s_axil_rresp,
    output reg s_axil_rvalid,
    input wire s_axil_rready,
    output wire [31:0] control,
    input wire [31:0] status,
    input wire [7:0] event_in,
    output wire irq
);
  reg [31:0] regs[32];
  reg [7:0] pending, event_before;
  assign control = regs[0];
  assign irq = |pending;

  wire writes = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  assign s_axil_awready = writes;
  assign s_axil_wready = writes;
  wire reads = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_arready = reads;
  wire [5:0] w_at = s_axil_awaddr[7:2];
  wire [5:0] r_at = s_axil_araddr[7:2];
  wire [7:0] cleared = writes && w_at == 6'd2 && s_axil_wstrb[0] ? s_axil_wdata[7:0] : 8'd0;

  always @(posedge clk) begin
    event_before <= event_in;
    pending <= (pending & ~cleared) | (event_in & ~event_before);
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (writes) begin
      s_axil_bvalid <= 1'b1;
      s_axil_bresp <= w_at[5] ? 2'd3 : w_at == 6'd1 ? 2'd2 : 2'd0;
      if (!w_at[5]) for (int i = 0; i < 4; i = i + 1) if (s_axil_wstrb[i]) regs[w_at[4:0]][8*i+:8] <= s_axil_wdata[8*i+:8];
    end
    if (reads) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rresp <= r_at[5] ? 2'd3 : 2'd0;
      s_axil_rdata <= r_at[5] ? 32'd0 : r_at == 6'd1 ? status : r_at == 6'd2 ? {24'd0, pending} : regs[r_at[4:0]];
    end
    if (rst) begin
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
      pending <= '0;
      event_before <= '0;
      for (int i = 0; i < 32; i = i + 1) regs[i] <= '0;
    end
  end
endmodule
