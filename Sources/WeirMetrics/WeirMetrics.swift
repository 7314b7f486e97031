// WeirMetrics
