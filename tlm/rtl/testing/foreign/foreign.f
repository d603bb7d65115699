// Paths in a file list are relative to it.
foreign_fifo.sv
foreign.sv
