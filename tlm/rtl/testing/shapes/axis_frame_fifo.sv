// A FIFO of frames: a frame leaves only when complete, and never with a last beat marked bad. A frame without room is dropped.
module axis_frame_fifo #(
    parameter int DEPTH = 64,
    parameter int DATA_WIDTH = 32,
    parameter int KEEP_WIDTH = DATA_WIDTH / 8,
    parameter int ID_WIDTH = 4,
    parameter int DEST_WIDTH = 3,
    parameter int USER_WIDTH = 1
) (
    input wire clk,
    input wire rst,
    input wire [DATA_WIDTH-1:0] s_axis_tdata,
    input wire [KEEP_WIDTH-1:0] s_axis_tkeep,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire s_axis_tlast,
    input wire [ID_WIDTH-1:0] s_axis_tid,
    input wire [DEST_WIDTH-1:0] s_axis_tdest,
    input wire [USER_WIDTH-1:0] s_axis_tuser,
    output wire [DATA_WIDTH-1:0] m_axis_tdata,
    output wire [KEEP_WIDTH-1:0] m_axis_tkeep,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire m_axis_tlast,
    output wire [ID_WIDTH-1:0] m_axis_tid,
    output wire [DEST_WIDTH-1:0] m_axis_tdest,
    output wire [USER_WIDTH-1:0] m_axis_tuser,
    output reg [15:0] status_bad_frames,
    output reg [15:0] status_good_frames
);
  localparam int A = $clog2(DEPTH);
  localparam int W = DATA_WIDTH + KEEP_WIDTH + 1 + ID_WIDTH + DEST_WIDTH + USER_WIDTH;
  reg [W-1:0] mem[DEPTH];
  reg [A:0] head, tail, begun;  // begun: where the frame begins that comes in
  reg dropping;
  wire [A:0] used = tail - head;
  wire full = used == (A + 1)'(DEPTH);
  assign s_axis_tready = !full || dropping;
  assign m_axis_tvalid = head != begun;
  assign {m_axis_tuser, m_axis_tdest, m_axis_tid, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = mem[head[A-1:0]];
  wire takes = s_axis_tvalid && s_axis_tready;
  // A frame that fills the whole FIFO can never be complete.
  wire too_long = full && begun == head;

  always @(posedge clk) begin
    if (takes && !dropping) begin
      mem[tail[A-1:0]] <= {s_axis_tuser, s_axis_tdest, s_axis_tid, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
      tail <= tail + 1'b1;
      if (s_axis_tlast) begin
        if (s_axis_tuser[0]) begin
          tail <= begun;
          status_bad_frames <= status_bad_frames + 16'd1;
        end else begin
          begun <= tail + 1'b1;
          status_good_frames <= status_good_frames + 16'd1;
        end
      end
    end
    if (too_long && !dropping) begin
      dropping <= 1'b1;
      tail <= begun;
    end
    if (takes && dropping && s_axis_tlast) begin
      dropping <= 1'b0;
      status_bad_frames <= status_bad_frames + 16'd1;
    end
    if (m_axis_tvalid && m_axis_tready) head <= head + 1'b1;
    if (rst) begin
      head <= '0;
      tail <= '0;
      begun <= '0;
      dropping <= 1'b0;
      status_bad_frames <= '0;
      status_good_frames <= '0;
    end
  end
endmodule
