// Memory behind AXI4: INCR bursts, one write and one read at a time. `fault` selects a violation to be detected.
module axi_ram #(
    parameter int ADDRESS_BITS = 16,
    parameter int DATA_BITS = 64,
    parameter int ID_BITS = 4,
    localparam int STRB = DATA_BITS / 8,
    localparam int WORD_BITS = ADDRESS_BITS - $clog2(STRB)
) (
    input logic aclk,
    input logic aresetn,
    // 1 no B, 2 RLAST early, 3 another RID, 4 B before the last beat, 5 EXOKAY, 6 BVALID falls, 7 RDATA changes
    input logic [2:0] fault,

    input  logic awvalid,
    output logic awready,
    input  logic [ID_BITS-1:0] awid,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [ADDRESS_BITS-1:0] awaddr,
    input  logic [7:0] awlen,
    input  logic [2:0] awsize,
    input  logic [1:0] awburst,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic wvalid,
    output logic wready,
    input  logic [DATA_BITS-1:0] wdata,
    input  logic [STRB-1:0] wstrb,
    input  logic wlast,
    output logic bvalid,
    input  logic bready,
    output logic [ID_BITS-1:0] bid,
    output logic [1:0] bresp,

    input  logic arvalid,
    output logic arready,
    input  logic [ID_BITS-1:0] arid,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [ADDRESS_BITS-1:0] araddr,
    input  logic [7:0] arlen,
    input  logic [2:0] arsize,
    input  logic [1:0] arburst,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic rvalid,
    input  logic rready,
    output logic [ID_BITS-1:0] rid,
    output logic [DATA_BITS-1:0] rdata,
    output logic [1:0] rresp,
    output logic rlast
);
  logic [DATA_BITS-1:0] words[1 << WORD_BITS];

  // Reads at the very top of the memory are refused, and so are writes.
  localparam logic [WORD_BITS-1:0] TOP = '1;

  logic writing, answering, odd;
  logic [WORD_BITS-1:0] write_at;
  assign awready = !writing && !answering;
  assign wready = writing;
  assign bvalid = (answering && fault != 3'd1 && !(fault == 3'd6 && odd)) || (fault == 3'd4 && writing);
  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      writing <= 1'b0;
      answering <= 1'b0;
      odd <= 1'b0;
    end else begin
      odd <= (answering && !(bvalid && bready) && !odd) || (reading && !(rready && rvalid) && !odd);
      if (awvalid && awready) begin
        writing <= 1'b1;
        write_at <= awaddr[ADDRESS_BITS-1:$clog2(STRB)];
        bid <= awid;
        bresp <= fault == 3'd5 ? 2'd1 : 2'd0;
      end
      if (wvalid && wready) begin
        for (int i = 0; i < STRB; i++) if (wstrb[i]) words[write_at][8*i+:8] <= wdata[8*i+:8];
        write_at <= write_at + 1'b1;
        if (write_at == TOP) bresp <= 2'd2;
        if (wlast) begin
          writing <= 1'b0;
          answering <= 1'b1;
        end
      end
      if (bvalid && bready) answering <= 1'b0;
    end
  end

  logic reading;
  logic [WORD_BITS-1:0] read_at;
  logic [7:0] left;
  logic [ID_BITS-1:0] read_id;
  assign arready = !reading;
  assign rvalid = reading;
  assign rid = read_id ^ ID_BITS'(fault == 3'd3);
  assign rdata = words[read_at] ^ DATA_BITS'(fault == 3'd7 && odd);
  assign rresp = read_at == TOP ? 2'd3 : 2'd0;
  assign rlast = left == '0 || (fault == 3'd2 && left == 8'd1);
  always_ff @(posedge aclk) begin
    if (!aresetn) reading <= 1'b0;
    else if (arvalid && arready) begin
      reading <= 1'b1;
      read_at <= araddr[ADDRESS_BITS-1:$clog2(STRB)];
      left <= arlen;
      read_id <= arid;
    end else if (rvalid && rready) begin
      read_at <= read_at + 1'b1;
      left <= left - 1'b1;
      if (left == '0) reading <= 1'b0;
    end
  end
endmodule
