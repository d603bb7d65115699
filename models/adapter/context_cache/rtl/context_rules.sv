// The fate of a request that is looked up, by the state of its entry: it is answered, or it waits.
module context_rules (
    input logic [1:0] op,
    input logic again,  // it has waited before
    input logic beyond,  // the end of the area

    // Its entry.
    input logic hit,
    input logic fetching,
    input logic pinned,
    input logic dirty,
    input logic drop_there,  // a request drops it
    input logic write_there,  // it is on its way to memory

    // Room for it.
    input logic any_fetch,
    input logic room,
    input logic evict_dirty,  // what is there must be written first
    input logic any_write,
    input logic settled,  // nothing is under way

    output logic answers,
    output logic hits,
    output logic fetches,
    output logic evicts,
    output logic defers,  // the read, until a write buffer is free
    output logic forgets,
    output logic drop_writes,
    output logic clears,
    output logic no_fetch,  // that is what it waits for
    output logic [3:0] waits
);
  always_comb begin
    answers = 1'b0;
    hits = 1'b0;
    fetches = 1'b0;
    evicts = 1'b0;
    defers = 1'b0;
    forgets = 1'b0;
    drop_writes = 1'b0;
    clears = 1'b0;
    no_fetch = 1'b0;
    waits = context_pkg::NOTHING;
    if (op == context_pkg::FETCH) begin
      if (beyond) answers = 1'b1;
      else if (drop_there) waits = context_pkg::FOR_DROP;
      else if (hit && fetching) waits = context_pkg::FOR_FETCH;
      else if (hit) begin
        hits = 1'b1;
        if (again) waits = context_pkg::ANSWER;
        else answers = 1'b1;
      end else if (write_there) waits = context_pkg::FOR_WRITE;
      else if (!any_fetch) begin
        waits = context_pkg::STALLED;
        no_fetch = 1'b1;
      end else if (!room) waits = context_pkg::STALLED;
      else begin
        fetches = 1'b1;
        evicts = evict_dirty && any_write;
        defers = evict_dirty && !any_write;
        waits = context_pkg::FOR_FETCH;
      end
    end else if (op == context_pkg::DROP) begin
      if (drop_there) waits = context_pkg::FOR_DROP;
      else if (write_there) waits = context_pkg::FOR_WRITE;
      else if (!hit) answers = 1'b1;
      else if (fetching || pinned) waits = context_pkg::DROPPING;
      else if (dirty) begin
        waits = context_pkg::DROPPING;
        drop_writes = 1'b1;
      end else begin
        answers = 1'b1;
        forgets = 1'b1;
      end
    end else if (settled) begin
      answers = 1'b1;
      clears = 1'b1;
    end else waits = context_pkg::AREA;
  end
endmodule
