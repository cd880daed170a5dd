#!/usr/bin/python3
import sys

from smpmake.cli import main

sys.exit(main())
