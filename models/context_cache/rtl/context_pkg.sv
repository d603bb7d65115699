// What is asked of a context cache, and what a request waits for.
package context_pkg;
  localparam logic [1:0] FETCH = 2'd0;
  localparam logic [1:0] DROP = 2'd1;

  // What a tag waits for.
  localparam logic [3:0] NOTHING = 4'd0;
  localparam logic [3:0] FOR_FETCH = 4'd1;
  localparam logic [3:0] FOR_DROP = 4'd2;
  localparam logic [3:0] FOR_WRITE = 4'd3;
  localparam logic [3:0] STALLED = 4'd4;
  localparam logic [3:0] RETRY = 4'd5;
  localparam logic [3:0] ANSWER = 4'd6;
  localparam logic [3:0] DROP_PINNED = 4'd7;
  localparam logic [3:0] DROP_FETCHING = 4'd8;
  localparam logic [3:0] DROP_WRITING = 4'd9;
  localparam logic [3:0] AREA = 4'd10;
endpackage
