"""Launches with and without launch_pdl on the double of a driver of sm_90; prints what it was told."""

from __future__ import annotations

import json
import sys

from driver_session import DriverDouble, launch

double = DriverDouble(sys.argv[1], "cuda")
double.configure("capability=90 machine_code=refused")
for options in ({}, {"launch_pdl": True}, {"launch_pdl": True}, {"launch_pdl": False}):
    launch(**options)
launch(launch_pdl=True, launch_cooperative_grid=True)
print(json.dumps([call for call in double.calls() if "cuLaunch" in call]))
