// WeirExporterTests
