#!/bin/sh
# What people type, as one script.
set -e
./configure --disable-silent-rules
make
