// A master behind AXI-Lite that copies word by word: of each word the bytes in `keep`.
module axi_lite_copy #(
    parameter int ADDRESS_BITS = 16,
    parameter int DATA_BITS = 64,
    localparam int STRB = DATA_BITS / 8
) (
    input logic aclk,
    input logic aresetn,

    input  logic cmd_valid,
    output logic cmd_ready,
    input  logic [2*ADDRESS_BITS+STRB+7:0] cmd_data,  // keep, words - 1, to, from
    output logic done_valid,
    input  logic done_ready,
    output logic [3:0] done_data,  // responses of the last word, as it was read and written

    output logic awvalid,
    input  logic awready,
    output logic [ADDRESS_BITS-1:0] awaddr,
    output logic wvalid,
    input  logic wready,
    output logic [DATA_BITS-1:0] wdata,
    output logic [STRB-1:0] wstrb,
    input  logic bvalid,
    output logic bready,
    input  logic [1:0] bresp,
    output logic arvalid,
    input  logic arready,
    output logic [ADDRESS_BITS-1:0] araddr,
    input  logic rvalid,
    output logic rready,
    input  logic [DATA_BITS-1:0] rdata,
    input  logic [1:0] rresp
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
  logic address_out, data_out;
  logic [7:0] left;
  logic [ADDRESS_BITS-1:0] to, from;
  logic [STRB-1:0] keep;
  logic [DATA_BITS-1:0] word;
  logic [1:0] read_response, write_response;

  assign cmd_ready = state == IDLE;
  assign arvalid = state == ASK;
  assign araddr = from;
  assign rready = state == READ;
  assign awvalid = state == WRITE && !address_out;
  assign awaddr = to;
  assign wvalid = state == WRITE && !data_out;
  assign wdata = word;
  assign wstrb = keep;
  assign bready = state == WAIT;
  assign done_valid = state == DONE;
  assign done_data = {read_response, write_response};

  always_ff @(posedge aclk) begin
    if (!aresetn) state <= IDLE;
    else
      case (state)
        IDLE:
        if (cmd_valid) begin
          {keep, left, to, from} <= cmd_data;
          state <= ASK;
        end
        ASK: if (arready) state <= READ;
        READ:
        if (rvalid) begin
          word <= rdata;
          read_response <= rresp;
          address_out <= 1'b0;
          data_out <= 1'b0;
          state <= WRITE;
        end
        WRITE: begin
          if (awready) address_out <= 1'b1;
          if (wready) data_out <= 1'b1;
          if ((address_out || awready) && (data_out || wready)) state <= WAIT;
        end
        WAIT:
        if (bvalid) begin
          write_response <= bresp;
          from <= from + ADDRESS_BITS'(STRB);
          to <= to + ADDRESS_BITS'(STRB);
          left <= left - 8'd1;
          state <= left == '0 ? DONE : ASK;
        end
        default: if (done_ready) state <= IDLE;
      endcase
  end
endmodule
