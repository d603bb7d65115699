// Requests of a context cache, and the events that they wait for.
package context_pkg;
  localparam logic [1:0] FETCH = 2'd0;
  localparam logic [1:0] DROP = 2'd1;

  // The wait of a tag.
  localparam logic [3:0] NOTHING = 4'd0;
  localparam logic [3:0] FOR_FETCH = 4'd1;
  localparam logic [3:0] FOR_DROP = 4'd2;
  localparam logic [3:0] FOR_WRITE = 4'd3;
  localparam logic [3:0] STALLED = 4'd4;
  localparam logic [3:0] RETRY = 4'd5;
  localparam logic [3:0] ANSWER = 4'd6;
  localparam logic [3:0] DROPPING = 4'd7;  // until its entry has come, has been given back, and has been written
  localparam logic [3:0] AREA = 4'd8;
endpackage
