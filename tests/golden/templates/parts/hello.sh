#!/bin/sh
# Read in by `file:`.
echo hello
