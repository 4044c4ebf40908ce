"""HolisticTraceAnalysis on one trace: read it, and its idle and temporal breakdowns. Prints processor seconds and the greatest memory in MB."""

import logging
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis

began = time.process_time()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
analysis.get_temporal_breakdown(visualize=False)
analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
usage = resource.getrusage(resource.RUSAGE_SELF)
print(f"{time.process_time() - began:.3f} {usage.ru_maxrss / 1024:.0f}")
