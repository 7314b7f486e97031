// WeirExporter
