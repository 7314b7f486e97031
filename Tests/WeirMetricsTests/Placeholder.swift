// WeirMetricsTests
