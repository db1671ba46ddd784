"""Small traces for people and tests: a simulated CUDA program, its nsys-like export, and the truth about its gaps.

operations     what a host thread of a simulated program can do
run            what a profiler recorded of a simulated program
simulator      programs on a machine in, a recorded run out
truth          why each device was idle in a run, from what was simulated
nsys_export    a run as an SQLite file that looks like an Nsight Systems export
trace          a run as the columns that `advisor.analyze` reads, without a file
programs       the sample programs
write_samples  the committed samples and their README
"""
