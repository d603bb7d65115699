// A DMA engine of one's own: copies memory by an AXI4 master, told by registers behind AXI-Lite. Read a piece, write it, until
// all is moved; then a word at `done` says so, which may be memory or the window of interrupts.
//
//   0x00 from   0x08 to   0x10 done (0: none); 64 bits each, from and to multiples of 16
//   0x18 bytes, a multiple of 16; writing it starts the copy
//   0x1c state: bit 0 busy, bit 1 the last copy met an error
// The word is 1, or 3 after an error.
module my_dma #(
    parameter int BEATS = 16  // of a piece
) (
    input logic clk,
    input logic rst_n,

    output logic awvalid,
    input  logic awready,
    output logic [63:0] awaddr,
    output logic [7:0] awlen,
    output logic [2:0] awsize,
    output logic [1:0] awburst,
    output logic wvalid,
    input  logic wready,
    output logic [127:0] wdata,
    output logic [15:0] wstrb,
    output logic wlast,
    input  logic bvalid,
    output logic bready,
    input  logic [1:0] bresp,
    output logic arvalid,
    input  logic arready,
    output logic [63:0] araddr,
    output logic [7:0] arlen,
    output logic [2:0] arsize,
    output logic [1:0] arburst,
    input  logic rvalid,
    output logic rready,
    input  logic [127:0] rdata,
    input  logic [1:0] rresp,
    input  logic rlast,

    input  logic reg_awvalid,
    output logic reg_awready,
    input  logic [15:0] reg_awaddr,
    input  logic reg_wvalid,
    output logic reg_wready,
    input  logic [31:0] reg_wdata,
    input  logic [3:0] reg_wstrb,
    output logic reg_bvalid,
    input  logic reg_bready,
    output logic [1:0] reg_bresp,
    input  logic reg_arvalid,
    output logic reg_arready,
    input  logic [15:0] reg_araddr,
    output logic reg_rvalid,
    input  logic reg_rready,
    output logic [31:0] reg_rdata,
    output logic [1:0] reg_rresp,

    output logic idle
);
  localparam int AB = $clog2(BEATS);
  typedef enum logic [2:0] {
    IDLE,
    ASK,
    READ,
    WRITE,
    ANSWER,
    TELL,
    TOLD
  } state_t;
  state_t state;
  logic [31:0] registers[8];
  logic [63:0] from, to, done;
  logic [31:0] left;
  logic failed, address_out, data_out;
  logic [AB:0] beats;  // of this piece
  logic [AB-1:0] at;
  logic [127:0] piece[BEATS];
  assign done = {registers[5], registers[4]};

  // A piece ends where a page of the source or of the target ends.
  logic [31:0] room;
  always_comb begin
    room = 32'(BEATS * 16);
    if (left < room) room = left;
    if (32'd4096 - 32'(from[11:0]) < room) room = 32'd4096 - 32'(from[11:0]);
    if (32'd4096 - 32'(to[11:0]) < room) room = 32'd4096 - 32'(to[11:0]);
  end

  // ---- registers: a write when address and data are there, one access at a time
  logic write, start;
  logic [2:0] number;
  assign write = reg_awvalid && reg_wvalid && !reg_bvalid;
  assign reg_awready = write;
  assign reg_wready = write;
  assign number = reg_awaddr[4:2];
  assign start = write && reg_awaddr == 16'h18 && state == IDLE && reg_wdata[3:0] == '0 && reg_wdata != '0;
  assign reg_arready = !reg_rvalid;
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      reg_bvalid <= 1'b0;
      reg_rvalid <= 1'b0;
      for (int i = 0; i < 8; i++) registers[i] <= '0;
    end else begin
      if (reg_bready) reg_bvalid <= 1'b0;
      if (reg_rready) reg_rvalid <= 1'b0;
      if (write) begin
        reg_bvalid <= 1'b1;
        // Nothing changes under a copy; a length that is none is refused.
        reg_bresp <= reg_awaddr >= 16'h1c || state != IDLE || (reg_awaddr == 16'h18 && !start) ? 2'd2 : 2'd0;
        if (reg_awaddr < 16'h1c && state == IDLE)
          for (int i = 0; i < 4; i++) if (reg_wstrb[i]) registers[number][8*i+:8] <= reg_wdata[8*i+:8];
      end
      if (reg_arvalid && reg_arready) begin
        reg_rvalid <= 1'b1;
        reg_rresp <= reg_araddr >= 16'h20 ? 2'd2 : 2'd0;
        reg_rdata <= reg_araddr[15:2] == 14'd7 ? {30'd0, failed, state != IDLE} : registers[reg_araddr[4:2]];
      end
    end
  end

  // ---- the copy
  assign arvalid = state == ASK && beats != '0;
  assign araddr = from;
  assign arlen = 8'(beats) - 8'd1;
  assign arsize = 3'd4;
  assign arburst = 2'd1;
  assign rready = state == READ;
  logic tells;
  assign tells = state == TELL && done != '0;
  assign awvalid = (state == WRITE || tells) && !address_out;
  assign awaddr = state == TELL ? done : to;
  assign awlen = state == TELL ? 8'd0 : 8'(beats) - 8'd1;
  assign awsize = state == TELL ? 3'd2 : 3'd4;
  assign awburst = 2'd1;
  assign wvalid = (state == WRITE || tells) && !data_out;
  assign wdata = state == TELL ? {4{30'd0, failed, 1'b1}} : piece[at];
  assign wstrb = state == TELL ? 16'hf << done[3:0] : '1;
  assign wlast = state == TELL || (AB + 1)'(at) + 1'b1 == beats;
  assign bready = state == ANSWER || state == TOLD;
  logic sent;
  assign sent = (address_out || awready) && (data_out || (wready && wlast));

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      state <= IDLE;
      failed <= 1'b0;
      address_out <= 1'b0;
      data_out <= 1'b0;
    end else begin
      case (state)
        IDLE:
        if (start) begin
          from <= {registers[1], registers[0]};
          to <= {registers[3], registers[2]};
          left <= reg_wdata;
          failed <= registers[0][3:0] != '0 || registers[2][3:0] != '0;
          state <= registers[0][3:0] != '0 || registers[2][3:0] != '0 ? TELL : ASK;
          beats <= '0;
        end
        ASK:
        if (beats == '0) beats <= (AB + 1)'(room >> 4);
        else if (arready) begin
          state <= READ;
          at <= '0;
        end
        READ:
        if (rvalid) begin
          piece[at] <= rdata;
          at <= rlast ? '0 : at + 1'b1;
          if (rresp != '0) failed <= 1'b1;
          if (rlast) state <= failed || rresp != '0 ? TELL : WRITE;
        end
        WRITE: begin
          if (awready) address_out <= 1'b1;
          if (wready && wvalid) begin
            at <= at + 1'b1;
            data_out <= wlast;
          end
          if (sent) begin
            state <= ANSWER;
            address_out <= 1'b0;
            data_out <= 1'b0;
          end
        end
        ANSWER:
        if (bvalid) begin
          from <= from + 64'(beats) * 64'd16;
          to <= to + 64'(beats) * 64'd16;
          left <= left - 32'(beats) * 32'd16;
          beats <= '0;
          if (bresp != '0) failed <= 1'b1;
          state <= bresp != '0 || left == 32'(beats) * 32'd16 ? TELL : ASK;
        end
        TELL: begin
          if (done == '0) state <= IDLE;
          else begin
            if (awready) address_out <= 1'b1;
            if (wready) data_out <= 1'b1;
            if (sent) begin
              state <= TOLD;
              address_out <= 1'b0;
              data_out <= 1'b0;
            end
          end
        end
        default: if (bvalid) state <= IDLE;
      endcase
    end
  end

  assign idle = state == IDLE && !reg_bvalid && !reg_rvalid;
endmodule
