#!/bin/sh
# The load of one contract from every node of a job: sbatch --nodes=3 --ntasks-per-node=1 parts.sh contract.yaml
# All begin a minute from now; the parts lie in the folder that the job was submitted from, and are joined at the end.
#SBATCH --job-name=lynxbench
set -eu
contract=$1
start=@$(($(date +%s) + 60))
srun lynxbench run "$contract" --part auto --start "$start" --out "run-$SLURM_JOB_ID.lynx" --quiet
lynxbench merge "run-$SLURM_JOB_ID".part*.lynx --out "run-$SLURM_JOB_ID.lynx"
lynxbench show "run-$SLURM_JOB_ID.lynx" --claim
