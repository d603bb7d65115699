// Memory behind AXI-Lite, 32 bits wide; address and data of a write come in any order.
module axi_lite_ram (
    input logic aclk,
    input logic aresetn,
    input logic awvalid,
    output logic awready,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [11:0] awaddr,
    input logic [2:0] awprot,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic wvalid,
    output logic wready,
    input logic [31:0] wdata,
    input logic [3:0] wstrb,
    output logic bvalid,
    input logic bready,
    output logic [1:0] bresp,
    input logic arvalid,
    output logic arready,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [11:0] araddr,
    input logic [2:0] arprot,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic rvalid,
    input logic rready,
    output logic [31:0] rdata,
    output logic [1:0] rresp
);
  logic [31:0] words[1024];
  logic both;
  assign both = awvalid && wvalid && (!bvalid || bready);
  assign awready = both;
  assign wready = both;
  assign arready = !rvalid || rready;
  assign bresp = 2'd0;
  assign rresp = 2'd0;
  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      bvalid <= 1'b0;
      rvalid <= 1'b0;
    end else begin
      bvalid <= both || (bvalid && !bready);
      rvalid <= (arvalid && arready) || (rvalid && !rready);
    end
    if (both) for (int i = 0; i < 4; i++) if (wstrb[i]) words[awaddr[11:2]][8*i+:8] <= wdata[8*i+:8];
    if (arvalid && arready) rdata <= words[araddr[11:2]];
  end
endmodule
