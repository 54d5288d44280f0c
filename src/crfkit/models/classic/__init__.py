"""Models that papers compare with: decided by votes, codes or averages, or fed by kernels."""
