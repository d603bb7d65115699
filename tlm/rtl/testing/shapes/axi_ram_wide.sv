// A RAM behind AXI4 as libraries have it: every kind and width of burst, ignored attributes, one exclusive access watched.
module axi_ram_wide #(
    parameter int DATA_WIDTH = 32,
    parameter int ADDR_WIDTH = 14,
    parameter int ID_WIDTH = 4,
    parameter int STRB_WIDTH = DATA_WIDTH / 8
) (
    input wire clk,
    input wire rst,
    input wire [ID_WIDTH-1:0] s_axi_awid,
    input wire [ADDR_WIDTH-1:0] s_axi_awaddr,
    input wire [7:0] s_axi_awlen,
    input wire [2:0] s_axi_awsize,
    input wire [1:0] s_axi_awburst,
    input wire s_axi_awlock,
    input wire [3:0] s_axi_awcache,
    input wire [2:0] s_axi_awprot,
    input wire s_axi_awvalid,
    output wire s_axi_awready,
    input wire [DATA_WIDTH-1:0] s_axi_wdata,
    input wire [STRB_WIDTH-1:0] s_axi_wstrb,
    input wire s_axi_wlast,
    input wire s_axi_wvalid,
    output wire s_axi_wready,
    output wire [ID_WIDTH-1:0] s_axi_bid,
    output wire [1:0] s_axi_bresp,
    output wire s_axi_bvalid,
    input wire s_axi_bready,
    input wire [ID_WIDTH-1:0] s_axi_arid,
    input wire [ADDR_WIDTH-1:0] s_axi_araddr,
    input wire [7:0] s_axi_arlen,
    input wire [2:0] s_axi_arsize,
    input wire [1:0] s_axi_arburst,
    input wire s_axi_arlock,
    input wire [3:0] s_axi_arcache,
    input wire [2:0] s_axi_arprot,
    input wire s_axi_arvalid,
    output wire s_axi_arready,
    output wire [ID_WIDTH-1:0] s_axi_rid,
    output wire [DATA_WIDTH-1:0] s_axi_rdata,
    output wire [1:0] s_axi_rresp,
    output wire s_axi_rlast,
    output wire s_axi_rvalid,
    input wire s_axi_rready
);
  localparam int LANES = $clog2(STRB_WIDTH);
  localparam int WORDS = 1 << (ADDR_WIDTH - LANES);
  reg [DATA_WIDTH-1:0] mem[WORDS];

  function automatic [ADDR_WIDTH-1:0] following(input [ADDR_WIDTH-1:0] at, input [2:0] size, input [7:0] len, input [1:0] burst);
    reg [ADDR_WIDTH-1:0] mask, next;
    next = (at >> size << size) + (ADDR_WIDTH'(1) << size);
    mask = ((ADDR_WIDTH'(len) + ADDR_WIDTH'(1)) << size) - ADDR_WIDTH'(1);
    case (burst)
      2'd0: following = at;
      2'd2: following = (at & ~mask) | (next & mask);
      default: following = next;
    endcase
  endfunction

  reg [1:0] w_state;  // 0 = waits, 1: takes beats, 2: answers
  reg [ID_WIDTH-1:0] w_id;
  reg [ADDR_WIDTH-1:0] w_addr;
  reg [7:0] w_len;
  reg [2:0] w_size;
  reg [1:0] w_burst;
  reg w_lock, w_do;
  // The watched access.
  reg x_on;
  reg [ID_WIDTH-1:0] x_id;
  reg [ADDR_WIDTH-1:0] x_addr;
  wire x_hit = x_on && x_id == s_axi_awid && x_addr == s_axi_awaddr;

  assign s_axi_awready = w_state == 2'd0;
  assign s_axi_wready = w_state == 2'd1;
  assign s_axi_bvalid = w_state == 2'd2;
  assign s_axi_bid = w_id;
  assign s_axi_bresp = {1'b0, w_lock && w_do};

  reg r_on;
  reg [ID_WIDTH-1:0] r_id;
  reg [ADDR_WIDTH-1:0] r_addr;
  reg [7:0] r_len, r_left;
  reg [2:0] r_size;
  reg [1:0] r_burst;
  reg r_lock;
  // A waiting beat must not change with a write beside it.
  reg [DATA_WIDTH-1:0] r_data;
  reg r_have, r_last;
  wire r_fetch = r_on && (!r_have || s_axi_rready);
  assign s_axi_arready = !r_on && !r_have;
  assign s_axi_rvalid = r_have;
  assign s_axi_rid = r_id;
  assign s_axi_rdata = r_data;
  assign s_axi_rresp = {1'b0, r_lock};
  assign s_axi_rlast = r_last;

  always @(posedge clk) begin
    if (s_axi_awvalid && s_axi_awready) begin
      w_state <= 2'd1;
      w_id <= s_axi_awid;
      w_addr <= s_axi_awaddr;
      w_len <= s_axi_awlen;
      w_size <= s_axi_awsize;
      w_burst <= s_axi_awburst;
      w_lock <= s_axi_awlock;
      w_do <= !s_axi_awlock || x_hit;
    end
    if (s_axi_wvalid && s_axi_wready) begin
      for (int i = 0; i < STRB_WIDTH; i = i + 1)
      if (s_axi_wstrb[i] && w_do) mem[w_addr[ADDR_WIDTH-1:LANES]][8*i+:8] <= s_axi_wdata[8*i+:8];
      w_addr <= following(w_addr, w_size, w_len, w_burst);
      if (w_do && x_on && (w_addr >> 7) == (x_addr >> 7)) x_on <= 1'b0;
      if (s_axi_wlast) w_state <= 2'd2;
    end
    if (s_axi_bvalid && s_axi_bready) w_state <= 2'd0;
    if (s_axi_arvalid && s_axi_arready) begin
      r_on <= 1'b1;
      r_id <= s_axi_arid;
      r_addr <= s_axi_araddr;
      r_len <= s_axi_arlen;
      r_left <= s_axi_arlen;
      r_size <= s_axi_arsize;
      r_burst <= s_axi_arburst;
      r_lock <= s_axi_arlock;
      if (s_axi_arlock) begin
        x_on <= 1'b1;
        x_id <= s_axi_arid;
        x_addr <= s_axi_araddr;
      end
    end
    if (s_axi_rready) r_have <= 1'b0;
    if (r_fetch) begin
      r_data <= mem[r_addr[ADDR_WIDTH-1:LANES]];
      r_have <= 1'b1;
      r_last <= r_left == 8'd0;
      r_addr <= following(r_addr, r_size, r_len, r_burst);
      r_left <= r_left - 8'd1;
      if (r_left == 8'd0) r_on <= 1'b0;
    end
    if (rst) begin
      w_state <= 2'd0;
      r_on <= 1'b0;
      r_have <= 1'b0;
      x_on <= 1'b0;
    end
  end
endmodule
