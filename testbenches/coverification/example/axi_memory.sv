// A small AXI4 memory in the style of the many that one finds: INCR bursts, all signals of the bus, most of them unused. Reads
// and writes go on beside each other; the next write's address is taken while the last one waits to be acknowledged.
module axi_memory #(
    parameter int C_AXI_ADDR_WIDTH = 16,
    parameter int C_AXI_DATA_WIDTH = 32,
    parameter int C_AXI_ID_WIDTH = 2
) (
    input wire S_AXI_ACLK,
    input wire S_AXI_ARESETN,

    input  wire [  C_AXI_ID_WIDTH-1:0] S_AXI_AWID,
    input  wire [C_AXI_ADDR_WIDTH-1:0] S_AXI_AWADDR,
    input  wire [                 7:0] S_AXI_AWLEN,
    input  wire [                 2:0] S_AXI_AWSIZE,
    input  wire [                 1:0] S_AXI_AWBURST,
    input  wire [                 2:0] S_AXI_AWPROT,
    input  wire [                 3:0] S_AXI_AWCACHE,
    input  wire                        S_AXI_AWVALID,
    output wire                        S_AXI_AWREADY,

    input  wire [  C_AXI_DATA_WIDTH-1:0] S_AXI_WDATA,
    input  wire [C_AXI_DATA_WIDTH/8-1:0] S_AXI_WSTRB,
    input  wire                          S_AXI_WLAST,
    input  wire                          S_AXI_WVALID,
    output wire                          S_AXI_WREADY,

    output wire [C_AXI_ID_WIDTH-1:0] S_AXI_BID,
    output wire [               1:0] S_AXI_BRESP,
    output wire                      S_AXI_BVALID,
    input  wire                      S_AXI_BREADY,

    input  wire [  C_AXI_ID_WIDTH-1:0] S_AXI_ARID,
    input  wire [C_AXI_ADDR_WIDTH-1:0] S_AXI_ARADDR,
    input  wire [                 7:0] S_AXI_ARLEN,
    input  wire [                 2:0] S_AXI_ARSIZE,
    input  wire [                 1:0] S_AXI_ARBURST,
    input  wire [                 2:0] S_AXI_ARPROT,
    input  wire [                 3:0] S_AXI_ARCACHE,
    input  wire                        S_AXI_ARVALID,
    output wire                        S_AXI_ARREADY,

    output wire [  C_AXI_ID_WIDTH-1:0] S_AXI_RID,
    output wire [C_AXI_DATA_WIDTH-1:0] S_AXI_RDATA,
    output wire [                 1:0] S_AXI_RRESP,
    output wire                        S_AXI_RLAST,
    output wire                        S_AXI_RVALID,
    input  wire                        S_AXI_RREADY
);
  localparam int LSB = $clog2(C_AXI_DATA_WIDTH / 8);
  localparam int WORDS = 1 << (C_AXI_ADDR_WIDTH - LSB);
  localparam int AW = C_AXI_ADDR_WIDTH - LSB;

  reg [C_AXI_DATA_WIDTH-1:0] memory[0:WORDS-1];

  // write
  reg axi_awready, axi_bvalid;
  reg [AW-1:0] waddr;
  reg [C_AXI_ID_WIDTH-1:0] wid, bid;
  wire beat = S_AXI_WVALID && S_AXI_WREADY;
  assign S_AXI_AWREADY = axi_awready;
  assign S_AXI_WREADY = !axi_awready && (!axi_bvalid || S_AXI_BREADY || !S_AXI_WLAST);
  assign S_AXI_BVALID = axi_bvalid;
  assign S_AXI_BID = bid;
  assign S_AXI_BRESP = 2'b00;
  always @(posedge S_AXI_ACLK) begin
    if (!S_AXI_ARESETN) begin
      axi_awready <= 1'b1;
      axi_bvalid  <= 1'b0;
    end else begin
      if (S_AXI_AWVALID && axi_awready) axi_awready <= 1'b0;
      else if (beat && S_AXI_WLAST) axi_awready <= 1'b1;
      if (beat && S_AXI_WLAST) axi_bvalid <= 1'b1;
      else if (S_AXI_BREADY) axi_bvalid <= 1'b0;
    end
    if (S_AXI_AWVALID && axi_awready) begin
      waddr <= S_AXI_AWADDR[C_AXI_ADDR_WIDTH-1:LSB];
      wid   <= S_AXI_AWID;
    end else if (beat) begin
      waddr <= waddr + 1'b1;
      if (S_AXI_WLAST) bid <= wid;
    end
  end
  genvar k;
  generate
    for (k = 0; k < C_AXI_DATA_WIDTH / 8; k = k + 1) begin : bytes
      always @(posedge S_AXI_ACLK) if (beat && S_AXI_WSTRB[k]) memory[waddr][8*k+:8] <= S_AXI_WDATA[8*k+:8];
    end
  endgenerate

  // read: one word of memory a cycle into the output register
  reg busy, rvalid, rlast;
  reg [7:0] left;
  reg [AW-1:0] raddr;
  reg [C_AXI_ID_WIDTH-1:0] rid, rid_out;
  reg [C_AXI_DATA_WIDTH-1:0] rdata;
  wire next = busy && (!rvalid || S_AXI_RREADY);
  assign S_AXI_ARREADY = !busy;
  assign S_AXI_RVALID = rvalid;
  assign S_AXI_RID = rid_out;
  assign S_AXI_RDATA = rdata;
  assign S_AXI_RLAST = rlast;
  assign S_AXI_RRESP = 2'b00;
  always @(posedge S_AXI_ACLK) begin
    if (!S_AXI_ARESETN) begin
      busy <= 1'b0;
      rvalid <= 1'b0;
    end else begin
      if (S_AXI_ARVALID && S_AXI_ARREADY) busy <= 1'b1;
      else if (next && left == 8'd0) busy <= 1'b0;
      if (next) rvalid <= 1'b1;
      else if (S_AXI_RREADY) rvalid <= 1'b0;
    end
    if (S_AXI_ARVALID && S_AXI_ARREADY) begin
      raddr <= S_AXI_ARADDR[C_AXI_ADDR_WIDTH-1:LSB];
      left  <= S_AXI_ARLEN;
      rid   <= S_AXI_ARID;
    end else if (next) begin
      raddr <= raddr + 1'b1;
      left  <= left - 8'd1;
    end
    if (next) begin
      rdata <= memory[raddr];
      rlast <= left == 8'd0;
      rid_out <= rid;
    end
  end

  // verilator lint_off UNUSEDSIGNAL
  wire unused = &{S_AXI_AWLEN, S_AXI_AWSIZE, S_AXI_AWBURST, S_AXI_AWPROT, S_AXI_AWCACHE, S_AXI_AWADDR[LSB-1:0], S_AXI_ARSIZE, S_AXI_ARBURST,
                  S_AXI_ARPROT, S_AXI_ARCACHE, S_AXI_ARADDR[LSB-1:0]};
  // verilator lint_on UNUSEDSIGNAL
endmodule
