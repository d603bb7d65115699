// A master behind AXI4: reads a burst, writes it elsewhere, and reports the end. `fault` selects a violation to be detected.
module axi_copy #(
    parameter int ADDRESS_BITS = 16,
    parameter int DATA_BITS = 64,
    parameter int ID_BITS = 2,
    localparam int STRB = DATA_BITS / 8,
    localparam int LB = $clog2(STRB)
) (
    input logic aclk,
    input logic aresetn,
    // 1 WLAST early, 2 FIXED, 3 AWVALID falls, 4 ARADDR changes, 5 a strobe too many, 6 R never taken, 7 beats of 128 bytes
    input logic [2:0] fault,

    input  logic cmd_valid,
    output logic cmd_ready,
    input  logic [2*ADDRESS_BITS+11:0] cmd_data,  // W before AW, size, beats - 1, to, from; in the same byte lanes
    output logic done_valid,
    input  logic done_ready,
    output logic [3:0] done_data,  // responses of the last beat that was read and of the write

    output logic awvalid,
    input  logic awready,
    output logic [ID_BITS-1:0] awid,
    output logic [ADDRESS_BITS-1:0] awaddr,
    output logic [7:0] awlen,
    output logic [2:0] awsize,
    output logic [1:0] awburst,
    output logic wvalid,
    input  logic wready,
    output logic [DATA_BITS-1:0] wdata,
    output logic [STRB-1:0] wstrb,
    output logic wlast,
    input  logic bvalid,
    output logic bready,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [ID_BITS-1:0] bid,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic [1:0] bresp,
    output logic arvalid,
    input  logic arready,
    output logic [ID_BITS-1:0] arid,
    output logic [ADDRESS_BITS-1:0] araddr,
    output logic [7:0] arlen,
    output logic [2:0] arsize,
    output logic [1:0] arburst,
    input  logic rvalid,
    output logic rready,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [ID_BITS-1:0] rid,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic [DATA_BITS-1:0] rdata,
    input  logic [1:0] rresp,
    input  logic rlast
);
  typedef enum logic [2:0] {
    IDLE,
    ASK,
    READ,
    WRITE,
    WAIT,
    DONE
  } state_t;
  state_t state;
  logic w_first, address_out, odd;
  logic [2:0] size;
  logic [7:0] last, at;
  logic [ADDRESS_BITS-1:0] to, from;
  logic [DATA_BITS-1:0] beats[256];
  logic [1:0] read_response, write_response;
  logic [ID_BITS-1:0] id;

  assign cmd_ready = state == IDLE;
  assign arvalid = state == ASK;
  assign araddr = from ^ ADDRESS_BITS'(fault == 3'd4 && odd);
  assign arlen = last;
  assign arsize = fault == 3'd7 ? 3'd7 : size;
  assign arburst = fault == 3'd2 ? 2'd3 : 2'd1;
  assign arid = id;
  assign rready = state == READ && fault != 3'd6;

  logic data_out;  // every beat of the write is out
  assign awvalid = state == WRITE && !address_out && (!w_first || data_out) && !(fault == 3'd3 && odd);
  assign awaddr = to;
  assign awlen = last;
  assign awsize = size;
  assign awburst = 2'd1;
  assign awid = id;
  assign wvalid = state == WRITE && !data_out && (w_first || address_out);
  assign wdata = beats[at];
  assign wlast = at == last || (fault == 3'd1 && at + 8'd1 == last);
  assign bready = state == WAIT;
  assign done_valid = state == DONE;
  assign done_data = {read_response, write_response};

  // The lanes of a beat; the first one may be unaligned.
  logic [ADDRESS_BITS-1:0] first;
  logic [LB-1:0] low, high;
  always_comb begin
    first = to >> size << size;
    first = first + (ADDRESS_BITS'(at) << size);
    high = first[LB-1:0] + LB'((8'd1 << size) - 8'd1);
    low = at == '0 ? to[LB-1:0] : first[LB-1:0];
    for (int i = 0; i < STRB; i++) wstrb[i] = LB'(i) >= low && LB'(i) <= high;
    if (fault == 3'd5 && size != 3'(LB)) wstrb = '1;
  end

  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      state <= IDLE;
      odd <= 1'b0;
      id <= '0;
    end else begin
      odd <= ((arvalid && !arready) || (state == WRITE && !address_out && !awready)) && !odd;
      case (state)
        IDLE:
        if (cmd_valid) begin
          {w_first, size, last, to, from} <= cmd_data;
          state <= ASK;
        end
        ASK:
        if (arready) begin
          state <= READ;
          at <= '0;
        end
        READ:
        if (rvalid && rready) begin
          beats[at] <= rdata;
          read_response <= rresp;
          at <= rlast ? '0 : at + 8'd1;
          address_out <= 1'b0;
          data_out <= 1'b0;
          if (rlast) state <= WRITE;
        end
        WRITE: begin
          if (awvalid && awready) address_out <= 1'b1;
          if (wvalid && wready) begin
            at <= at + 8'd1;
            if (at == last) data_out <= 1'b1;
          end
          if ((address_out || (awvalid && awready)) && (data_out || (wvalid && wready && at == last))) state <= WAIT;
        end
        WAIT:
        if (bvalid) begin
          write_response <= bresp;
          state <= DONE;
        end
        default:
        if (done_ready) begin
          state <= IDLE;
          id <= id + 1'b1;
        end
      endcase
    end
  end
endmodule
