// A manager of rings as in open NICs. A request for a slot of a queue is answered with its address; a commit publishes the slot
// and rings. Software's side is AXI-Lite, 16 bytes for each queue: control (log2 of the size, enabled), tail, base.
module queue_manager #(
    parameter int QUEUES_LOG = 3,
    parameter int TAG_WIDTH = 8
) (
    input wire clk,
    input wire rst,
    input wire [QUEUES_LOG-1:0] s_axis_enqueue_req_queue,
    input wire [TAG_WIDTH-1:0] s_axis_enqueue_req_tag,
    input wire s_axis_enqueue_req_valid,
    output wire s_axis_enqueue_req_ready,
    output reg [QUEUES_LOG-1:0] m_axis_enqueue_resp_queue,
    output reg [15:0] m_axis_enqueue_resp_ptr,
    output reg [31:0] m_axis_enqueue_resp_addr,
    output reg [TAG_WIDTH-1:0] m_axis_enqueue_resp_tag,
    output reg m_axis_enqueue_resp_full,
    output reg m_axis_enqueue_resp_error,
    output reg m_axis_enqueue_resp_valid,
    input wire m_axis_enqueue_resp_ready,
    input wire [QUEUES_LOG-1:0] s_axis_enqueue_commit_queue,
    input wire s_axis_enqueue_commit_valid,
    output wire s_axis_enqueue_commit_ready,
    output reg [QUEUES_LOG-1:0] m_axis_doorbell_queue,
    output reg m_axis_doorbell_valid,
    input wire [QUEUES_LOG+3:0] s_axil_awaddr,
    input wire s_axil_awvalid,
    output wire s_axil_awready,
    input wire [31:0] s_axil_wdata,
    input wire [3:0] s_axil_wstrb,
    input wire s_axil_wvalid,
    output wire s_axil_wready,
    output wire [1:0] s_axil_bresp,
    output reg s_axil_bvalid,
    input wire s_axil_bready,
    input wire [QUEUES_LOG+3:0] s_axil_araddr,
    input wire s_axil_arvalid,
    output wire s_axil_arready,
    output reg [31:0] s_axil_rdata,
    output wire [1:0] s_axil_rresp,
    output reg s_axil_rvalid,
    input wire s_axil_rready,
    input wire enable
);
  localparam int N = 1 << QUEUES_LOG;
  reg [N-1:0] on;
  reg [3:0] size_log[N];
  reg [15:0] reserved[N], head[N], tail[N];
  reg [31:0] base[N];

  wire [QUEUES_LOG-1:0] q = s_axis_enqueue_req_queue;
  wire [15:0] used = reserved[q] - tail[q];
  wire full = used == (16'd1 << size_log[q]);
  wire [15:0] slot = reserved[q] & ((16'd1 << size_log[q]) - 16'd1);
  assign s_axis_enqueue_req_ready = enable && (!m_axis_enqueue_resp_valid || m_axis_enqueue_resp_ready);
  wire asks = s_axis_enqueue_req_valid && s_axis_enqueue_req_ready;
  assign s_axis_enqueue_commit_ready = 1'b1;

  wire writes = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  assign s_axil_awready = writes;
  assign s_axil_wready = writes;
  assign s_axil_bresp = 2'd0;
  assign s_axil_rresp = 2'd0;
  wire reads = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_arready = reads;
  wire [QUEUES_LOG-1:0] w_q = s_axil_awaddr[QUEUES_LOG+3:4];
  wire [QUEUES_LOG-1:0] r_q = s_axil_araddr[QUEUES_LOG+3:4];

  always @(posedge clk) begin
    if (m_axis_enqueue_resp_ready) m_axis_enqueue_resp_valid <= 1'b0;
    m_axis_doorbell_valid <= 1'b0;
    if (asks) begin
      m_axis_enqueue_resp_valid <= 1'b1;
      m_axis_enqueue_resp_queue <= q;
      m_axis_enqueue_resp_tag <= s_axis_enqueue_req_tag;
      m_axis_enqueue_resp_ptr <= reserved[q];
      m_axis_enqueue_resp_addr <= base[q] + {12'd0, slot, 4'd0};
      m_axis_enqueue_resp_full <= on[q] && full;
      m_axis_enqueue_resp_error <= !on[q];
      if (on[q] && !full) reserved[q] <= reserved[q] + 16'd1;
    end
    if (s_axis_enqueue_commit_valid) begin
      head[s_axis_enqueue_commit_queue] <= head[s_axis_enqueue_commit_queue] + 16'd1;
      m_axis_doorbell_valid <= 1'b1;
      m_axis_doorbell_queue <= s_axis_enqueue_commit_queue;
    end
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (writes) begin
      s_axil_bvalid <= 1'b1;
      case (s_axil_awaddr[3:2])
        2'd0: begin
          on[w_q] <= s_axil_wdata[31];
          size_log[w_q] <= s_axil_wdata[3:0];
        end
        2'd1: tail[w_q] <= s_axil_wdata[15:0];
        2'd2: base[w_q] <= s_axil_wdata;
        default: ;
      endcase
    end
    if (reads) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr[3:2])
        2'd0: s_axil_rdata <= {on[r_q], 27'd0, size_log[r_q]};
        2'd1: s_axil_rdata <= {16'd0, tail[r_q]};
        2'd2: s_axil_rdata <= base[r_q];
        default: s_axil_rdata <= {16'd0, head[r_q]};
      endcase
    end
    if (rst) begin
      m_axis_enqueue_resp_valid <= 1'b0;
      m_axis_doorbell_valid <= 1'b0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
      on <= '0;
      for (int i = 0; i < N; i = i + 1) begin
        reserved[i] <= '0;
        head[i] <= '0;
        tail[i] <= '0;
        base[i] <= '0;
        size_log[i] <= '0;
      end
    end
  end
endmodule
